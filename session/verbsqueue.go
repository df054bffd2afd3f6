package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// QueueRevise changes a waiting prompt: all of the revision or nothing. A changed text
// is by's, and its first author is kept. ErrConflict means that the agent is just
// getting the prompt.
func (b *BackgroundSession) QueueRevise(ctx context.Context, promptID string, r QueueRevision, by event.Actor) error {
	return b.changeQueue(ctx, func(e *engine) (*queue.Save, error) {
		change := queue.Revision{Text: r.Text, Reschedule: r.Reschedule, ScheduledAt: r.ScheduledAt, Position: r.Position, Actor: by.Name, ByID: by.ID}
		if r.Position != nil && *r.Position < 0 {
			return nil, fmt.Errorf("%w: position %d is negative", state.ErrInvalid, *r.Position)
		}
		if r.Text != nil {
			title, err := e.intake.retitled(*r.Text)
			if err != nil {
				return nil, err
			}
			change.Title = &title
		}
		save, err := e.queue.Revise(promptID, change)
		return save, queueError(err)
	})
}

// QueueEdit is QueueRevise with a text.
func (b *BackgroundSession) QueueEdit(ctx context.Context, promptID, text string, by event.Actor) error {
	return b.QueueRevise(ctx, promptID, QueueRevision{Text: &text}, by)
}

// QueueMove is QueueRevise with a position.
func (b *BackgroundSession) QueueMove(ctx context.Context, promptID string, position int, by event.Actor) error {
	return b.QueueRevise(ctx, promptID, QueueRevision{Position: &position}, by)
}

// QueueRemove removes a waiting prompt. It will not run, even if it is resent.
func (b *BackgroundSession) QueueRemove(ctx context.Context, promptID string, by event.Actor) error {
	return b.changeQueue(ctx, func(e *engine) (*queue.Save, error) {
		save, err := e.queue.Remove(promptID, time.Now())
		e.logger.Info("queued prompt removed", "prompt", promptID, "actor", by.ID)
		return save, queueError(err)
	})
}

// QueueClear removes all waiting prompts except one that the agent is just getting.
func (b *BackgroundSession) QueueClear(ctx context.Context, by event.Actor) error {
	return b.changeQueue(ctx, func(e *engine) (*queue.Save, error) {
		save, err := e.queue.Clear(time.Now())
		e.logger.Info("queue cleared", "actor", by.ID)
		return save, queueError(err)
	})
}

// changeQueue changes the queue. If it returns nil the change is on the device;
// otherwise it did not happen.
func (b *BackgroundSession) changeQueue(ctx context.Context, change func(*engine) (*queue.Save, error)) error {
	_, err := askLater(ctx, b.mail, func(e *engine, reply func(struct{}, error)) {
		e.intake.inOrder(func() {
			if e.closing {
				reply(struct{}{}, errEnded)
				return
			}
			save, err := change(e)
			if err != nil {
				reply(struct{}{}, err)
				return
			}
			e.intake.save(save, func(err error) { reply(struct{}{}, err) })
		})
	})
	return err
}

package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/state"
)

// QueueRevise changes a waiting prompt: all of the revision or nothing. ErrConflict
// means that the agent is just getting the prompt.
func (b *BackgroundSession) QueueRevise(ctx context.Context, promptID string, r QueueRevision) error {
	return b.changeQueue(ctx, func(e *engine) error {
		change := queue.Revision{Text: r.Text, Reschedule: r.Reschedule, ScheduledAt: r.ScheduledAt, Position: r.Position}
		if r.Position != nil && *r.Position < 0 {
			return fmt.Errorf("%w: position %d is negative", state.ErrInvalid, *r.Position)
		}
		if r.Text != nil {
			title, err := e.intake.retitled(*r.Text)
			if err != nil {
				return err
			}
			change.Title = &title
		}
		return queueError(e.queue.Revise(promptID, change))
	})
}

// QueueEdit is QueueRevise with a text.
func (b *BackgroundSession) QueueEdit(ctx context.Context, promptID, text string) error {
	return b.QueueRevise(ctx, promptID, QueueRevision{Text: &text})
}

// QueueMove is QueueRevise with a position.
func (b *BackgroundSession) QueueMove(ctx context.Context, promptID string, position int) error {
	return b.QueueRevise(ctx, promptID, QueueRevision{Position: &position})
}

// QueueRemove removes a waiting prompt. It will not run, even if it is resent.
func (b *BackgroundSession) QueueRemove(ctx context.Context, promptID string) error {
	return b.changeQueue(ctx, func(e *engine) error { return queueError(e.queue.Remove(promptID, time.Now())) })
}

// QueueClear removes all waiting prompts except one that the agent is just getting.
func (b *BackgroundSession) QueueClear(ctx context.Context) error {
	return b.changeQueue(ctx, func(e *engine) error {
		_, err := e.queue.Clear(time.Now())
		return queueError(err)
	})
}

// changeQueue changes the queue. If it returns nil the change is on the device;
// otherwise it did not happen.
func (b *BackgroundSession) changeQueue(ctx context.Context, change func(*engine) error) error {
	return tell(ctx, b.mail, func(e *engine) error {
		if e.closing {
			return errEnded
		}
		e.dirty = true
		return change(e)
	})
}

package session

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/queue"
)

// QueueRevision is a change of a waiting prompt. A nil field stays unchanged.
type QueueRevision struct {
	// Text is the new one. A resend of the prompt still compares with the text
	// it first came with.
	Text *string
	// Reschedule makes ScheduledAt the earliest time the prompt is given to the
	// agent; nil means as soon as it is idle.
	Reschedule  bool
	ScheduledAt *time.Time
	// Position is counted from 0; one beyond the end means the end.
	Position *int
}

// QueueRevise changes a waiting prompt: all of the revision, or nothing.
// ErrConflict says that the prompt is being given to the agent.
func (b *BackgroundSession) QueueRevise(ctx context.Context, promptID string, r QueueRevision) error {
	return b.changeQueue(ctx, func(e *engine) error {
		change := queue.Revision{Text: r.Text, Reschedule: r.Reschedule, ScheduledAt: r.ScheduledAt, Position: r.Position}
		if r.Position != nil && *r.Position < 0 {
			return fmt.Errorf("%w: position %d is negative", ErrInvalid, *r.Position)
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

// retitled checks the new text of a waiting prompt and makes its title.
func (i *intake) retitled(text string) (string, error) {
	limit := i.hub.settings().Limits.PromptBytes
	switch {
	case len(text) > limit:
		return "", fmt.Errorf("%w: the prompt has %d bytes, at most %d are accepted", ErrTooLarge, len(text), limit)
	case strings.TrimSpace(text) == "" || !utf8.ValidString(text):
		return "", fmt.Errorf("%w: the prompt is empty or not valid UTF-8", ErrInvalid)
	case i.queueSettings().Untitled:
		return "", nil
	}
	return firstSentence(text), nil
}

// QueueEdit is QueueRevise with a text.
func (b *BackgroundSession) QueueEdit(ctx context.Context, promptID, text string) error {
	return b.QueueRevise(ctx, promptID, QueueRevision{Text: &text})
}

// QueueMove is QueueRevise with a position.
func (b *BackgroundSession) QueueMove(ctx context.Context, promptID string, position int) error {
	return b.QueueRevise(ctx, promptID, QueueRevision{Position: &position})
}

// QueueRemove takes a waiting prompt out. It will not run, also when it is sent
// again.
func (b *BackgroundSession) QueueRemove(ctx context.Context, promptID string) error {
	return b.changeQueue(ctx, func(e *engine) error { return queueError(e.queue.Remove(promptID, time.Now())) })
}

// QueueClear takes all waiting prompts out, but one that is being given to the
// agent.
func (b *BackgroundSession) QueueClear(ctx context.Context) error {
	return b.changeQueue(ctx, func(e *engine) error {
		_, err := e.queue.Clear(time.Now())
		return queueError(err)
	})
}

// changeQueue runs a change of the queue. It is on the device when this returns
// nil, and did not happen otherwise.
func (b *BackgroundSession) changeQueue(ctx context.Context, change func(*engine) error) error {
	return tell(ctx, b, func(e *engine) error {
		if e.closing {
			return errEnded
		}
		e.dirty = true
		return change(e)
	})
}

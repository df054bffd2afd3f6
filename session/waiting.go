package session

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// QueueEdit changes a waiting prompt's text. A resend of the prompt still
// compares with the text it first came with. ErrConflict says that it is being
// given to the agent.
func (b *BackgroundSession) QueueEdit(ctx context.Context, promptID, text string) error {
	return b.changeQueue(ctx, func(e *engine) error {
		limit := e.hub.settings().Limits.PromptBytes
		switch {
		case len(text) > limit:
			return fmt.Errorf("%w: the prompt has %d bytes, at most %d are accepted", ErrTooLarge, len(text), limit)
		case strings.TrimSpace(text) == "" || !utf8.ValidString(text):
			return fmt.Errorf("%w: the prompt is empty or not valid UTF-8", ErrInvalid)
		}
		title := ""
		if !e.queueSettings().Untitled {
			title = firstSentence(text)
		}
		return queueError(e.queue.Edit(promptID, text, title))
	})
}

// QueueMove puts a waiting prompt at position, counted from 0; beyond the end
// means the end.
func (b *BackgroundSession) QueueMove(ctx context.Context, promptID string, position int) error {
	return b.changeQueue(ctx, func(e *engine) error {
		if position < 0 {
			return fmt.Errorf("%w: position %d is negative", ErrInvalid, position)
		}
		return queueError(e.queue.Move(promptID, position))
	})
}

// QueueReschedule changes the earliest time a waiting prompt is given to the
// agent; nil means as soon as it is idle.
func (b *BackgroundSession) QueueReschedule(ctx context.Context, promptID string, at *time.Time) error {
	return b.changeQueue(ctx, func(e *engine) error { return queueError(e.queue.Reschedule(promptID, at)) })
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

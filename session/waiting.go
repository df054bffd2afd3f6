package session

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/session/state"
)

// QueueRevision is a change of a waiting prompt. Nil fields do not change.
type QueueRevision struct {
	// Text is the new text. A resend of the prompt is still compared with the first
	// text.
	Text *string
	// Reschedule sets ScheduledAt, the earliest time at which the agent gets the
	// prompt; nil means as soon as it is idle.
	Reschedule  bool
	ScheduledAt *time.Time
	// Position counts from 0; a position beyond the end means the end.
	Position *int
}

// retitled checks the new text of a waiting prompt and returns its title.
func (i *intake) retitled(text string) (string, error) {
	limit := i.hub.settings().Limits.PromptBytes
	switch {
	case len(text) > limit:
		return "", fmt.Errorf("%w: the prompt has %d bytes, at most %d are accepted", state.ErrTooLarge, len(text), limit)
	case strings.TrimSpace(text) == "" || !utf8.ValidString(text):
		return "", fmt.Errorf("%w: the prompt is empty or not valid UTF-8", state.ErrInvalid)
	case i.queueSettings().Untitled:
		return "", nil
	}
	return state.FirstSentence(text), nil
}

package wire

import (
	"encoding/json"
	"time"

	"github.com/abidehub/abide/session/event"
)

// NewPrompt is a prompt for the agent. PromptID may also be the request's
// Idempotency-Key.
type NewPrompt struct {
	PromptID    string             `json:"prompt_id,omitempty"`
	Text        string             `json:"text"`
	Attachments []event.Attachment `json:"attachments,omitempty"`
	// When is auto (at once if idle, else into the queue; the default), queue, or now: an
	// open turn is cancelled, and the prompt is before all that wait.
	When When `json:"when,omitempty"`
	// ScheduledAt keeps the prompt in the queue until then.
	ScheduledAt *time.Time `json:"scheduled_at,omitempty"`
}

// Fate is the latest outcome of a prompt.
type Fate string

const (
	FateReceived    Fate = "received"    // in the log at Seq, on the device
	FateQueued      Fate = "queued"      // waits at Position
	FateRemoved     Fate = "removed"     // taken out of the queue: it will not run
	FateInterrupted Fate = "interrupted" // in the log at Seq; its turn was cut off
)

// Values lists the set.
func (Fate) Values() []string { return []string{"received", "queued", "removed", "interrupted"} }

// PromptAnswer is the latest outcome of a prompt.
type PromptAnswer struct {
	PromptID string `json:"prompt_id"`
	Outcome  Fate   `json:"outcome"`
	// Seq is the prompt's event, if it is in the log.
	Seq event.Seq `json:"seq,omitempty"`
	// Position counts from 0, while the prompt is queued.
	Position *int `json:"position,omitempty"`
}

// PermissionChoice settles a permission request.
type PermissionChoice struct {
	// OptionID is one of the options the agent offered.
	OptionID string `json:"option_id"`
	// Content is the filled-in form, a JSON object, if the request has one.
	Content json.RawMessage `json:"content,omitempty"`
	// SeenSeq is the last event that the person had seen. The answer is refused
	// with conflict if the tool call changed after it.
	SeenSeq event.Seq `json:"seen_seq,omitempty"`
	// Remember makes a rule from the answer.
	Remember RuleScope `json:"remember,omitempty"`
}

// TokenAnswer answers the permission request in a notification by the token that
// the notification carries.
type TokenAnswer struct {
	Token    string `json:"token"`
	OptionID string `json:"option_id"`
}

// Queue lists the waiting prompts in the order in which the agent gets them.
type Queue struct {
	Queue []QueueItem `json:"queue"`
}

// QueuePatch changes the fields of a waiting prompt that are present.
type QueuePatch struct {
	Text *string `json:"text,omitempty"`
	// Position counts from 0.
	Position *int `json:"position,omitempty"`
	// ScheduledAt is cleared by null (the prompt runs as soon as the agent is idle)
	// and unchanged if absent.
	ScheduledAt OptionalTime `json:"scheduled_at,omitzero"`
}

// OptionalTime is a time that may be absent, null or set. The zero value is absent.
type OptionalTime struct {
	Present bool
	Time    *time.Time // nil is null
}

// MarshalJSON writes null or the time. A field of this type needs omitzero.
func (t OptionalTime) MarshalJSON() ([]byte, error) { return json.Marshal(t.Time) }

// UnmarshalJSON reads null or a time. It is not called for an absent field.
func (t *OptionalTime) UnmarshalJSON(data []byte) error {
	t.Present = true
	if string(data) == "null" {
		return nil
	}
	t.Time = new(time.Time)
	return t.Time.UnmarshalJSON(data)
}

package wire

import (
	"encoding/json"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Observe starts following a session: after AfterSeq of Epoch, or with the newest
// Tail events if AfterSeq is absent. Repeating it for a followed session starts
// over. The answers are events_loaded, state, then events.
type Observe struct {
	RequestID string     `json:"request_id"`
	SessionID string     `json:"session_id"`
	AfterSeq  *event.Seq `json:"after_seq,omitempty"`
	Epoch     string     `json:"epoch,omitempty"`
	// Tail is how many of the newest events to begin with; absent means 50.
	Tail *int `json:"tail,omitempty"`
	// Merge asks for merged runs of chunks while catching up.
	Merge bool `json:"merge,omitempty"`
}

// Unobserve stops following a session.
type Unobserve struct {
	SessionID string `json:"session_id"`
}

// LoadEvents asks for one page and moves no cursor. Exactly one of AfterSeq
// and BeforeSeq is set.
type LoadEvents struct {
	RequestID string     `json:"request_id"`
	SessionID string     `json:"session_id"`
	Epoch     string     `json:"epoch,omitempty"`
	AfterSeq  *event.Seq `json:"after_seq,omitempty"`
	BeforeSeq *event.Seq `json:"before_seq,omitempty"`
	Limit     int        `json:"limit,omitempty"`
	Merge     bool       `json:"merge,omitempty"`
}

// When says how a prompt is handled while the agent is busy.
type When string

const (
	WhenAuto  When = "auto"  // at once when idle, else into the queue
	WhenQueue When = "queue" // always into the queue
	WhenNow   When = "now"   // at once: an open turn is cancelled, and other prompts wait
)

// Values lists the set.
func (When) Values() []string { return []string{"auto", "queue", "now"} }

// Prompt is a prompt for the agent. Repeating a PromptID returns the latest outcome
// and changes nothing.
type Prompt struct {
	RequestID   string             `json:"request_id"`
	SessionID   string             `json:"session_id"`
	PromptID    string             `json:"prompt_id"`
	Text        string             `json:"text"`
	Attachments []event.Attachment `json:"attachments,omitempty"`
	When        When               `json:"when,omitempty"`
	// ScheduledAt keeps the prompt in the queue until then.
	ScheduledAt *time.Time `json:"scheduled_at,omitempty"`
}

// Cancel asks the agent to end its turn.
type Cancel struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
}

// ForceReset ends a turn whose agent does not answer: the agent is stopped.
type ForceReset struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
}

// ResumeTurn resumes an interrupted turn. State follows.
type ResumeTurn struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	Resume
}

// DismissTurn settles an interruption without a resume.
type DismissTurn struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	Dismiss
}

// RestartAgent stops the agent and starts it again. An open turn is interrupted,
// and its prompt is not sent again.
type RestartAgent struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
}

// Authenticate logs the agent in by one of the methods its state names.
type Authenticate struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	MethodID  string `json:"method_id"`
}

// RuleScope is where a permission rule applies.
type RuleScope = state.RuleScope

// PermissionAnswer settles a permission request; the first answer wins.
type PermissionAnswer struct {
	RequestID    string `json:"request_id"`
	SessionID    string `json:"session_id"`
	PermissionID string `json:"permission_id"`
	OptionID     string `json:"option_id"`
	// Content is the filled-in form, a JSON object, if the request has one.
	Content json.RawMessage `json:"content,omitempty"`
	// SeenSeq is the last event that the person had seen. The answer is refused
	// with conflict if the tool call changed after it; without SeenSeq this is not
	// checked.
	SeenSeq event.Seq `json:"seen_seq,omitempty"`
	// Remember makes a rule from the answer. The scope agent needs a credential
	// that may manage every session.
	Remember RuleScope `json:"remember,omitempty"`
}

// QueueEdit changes the text of a waiting prompt.
type QueueEdit struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	PromptID  string `json:"prompt_id"`
	Text      string `json:"text"`
}

// QueueMove puts a waiting prompt at Position, counted from 0.
type QueueMove struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	PromptID  string `json:"prompt_id"`
	Position  int    `json:"position"`
}

// QueueRemove takes a prompt out of the queue.
type QueueRemove struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	PromptID  string `json:"prompt_id"`
}

// QueueClear empties the queue.
type QueueClear struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
}

// SetMode changes the agent's mode.
type SetMode struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	ModeID    string `json:"mode_id"`
}

// SetConfigOption changes one of the agent's options.
type SetConfigOption struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	ConfigID  string `json:"config_id"`
	// Value is a string, or a boolean for options of that type.
	Value any `json:"value"`
}

// Ack reports the last event that the client has applied, and whether a person can
// see it. Presence is derived from this, not from WebSocket pongs.
type Ack struct {
	SessionID string `json:"session_id"`
	// Epoch is the epoch of Seq. An Ack with another epoch than the log's is
	// ignored: the client will be told to start over. Empty, as sent by old
	// clients, means the log's.
	Epoch   string    `json:"epoch,omitempty"`
	Seq     event.Seq `json:"seq"`
	Visible bool      `json:"visible"`
}

// Activity is a person's activity at a screen.
type Activity = state.Activity

// Presence reports the person's activity to the others.
type Presence struct {
	SessionID string   `json:"session_id"`
	Activity  Activity `json:"activity"`
}

// Ping asks for a pong with the same nonce.
type Ping struct {
	Nonce string `json:"nonce"`
}

// ClientMessages returns a new zero message of every kind a client sends.
func ClientMessages() []Message {
	return []Message{
		&Observe{}, &Unobserve{}, &LoadEvents{}, &Prompt{}, &Cancel{}, &ForceReset{}, &ResumeTurn{}, &DismissTurn{}, &RestartAgent{}, &Authenticate{}, &PermissionAnswer{},
		&QueueEdit{}, &QueueMove{}, &QueueRemove{}, &QueueClear{}, &SetMode{}, &SetConfigOption{},
		&Ack{}, &Presence{}, &Ping{},
	}
}

// MessageType implements Message.
func (*Observe) MessageType() string { return "observe" }

// MessageType implements Message.
func (*Unobserve) MessageType() string { return "unobserve" }

// MessageType implements Message.
func (*LoadEvents) MessageType() string { return "load_events" }

// MessageType implements Message.
func (*Prompt) MessageType() string { return "prompt" }

// MessageType implements Message.
func (*Cancel) MessageType() string { return "cancel" }

// MessageType implements Message.
func (*ForceReset) MessageType() string { return "force_reset" }

// MessageType implements Message.
func (*ResumeTurn) MessageType() string { return "resume" }

// MessageType implements Message.
func (*DismissTurn) MessageType() string { return "dismiss" }

// MessageType implements Message.
func (*RestartAgent) MessageType() string { return "restart_agent" }

// MessageType implements Message.
func (*Authenticate) MessageType() string { return "authenticate" }

// MessageType implements Message.
func (*PermissionAnswer) MessageType() string { return "permission_answer" }

// MessageType implements Message.
func (*QueueEdit) MessageType() string { return "queue_edit" }

// MessageType implements Message.
func (*QueueMove) MessageType() string { return "queue_move" }

// MessageType implements Message.
func (*QueueRemove) MessageType() string { return "queue_remove" }

// MessageType implements Message.
func (*QueueClear) MessageType() string { return "queue_clear" }

// MessageType implements Message.
func (*SetMode) MessageType() string { return "set_mode" }

// MessageType implements Message.
func (*SetConfigOption) MessageType() string { return "set_config_option" }

// MessageType implements Message.
func (*Ack) MessageType() string { return "ack" }

// MessageType implements Message.
func (*Presence) MessageType() string { return "presence" }

// MessageType implements Message.
func (*Ping) MessageType() string { return "ping" }

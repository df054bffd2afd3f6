package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Limits are the limits for clients.
type Limits struct {
	MaxFrame int `json:"max_frame"`
	MaxPage  int `json:"max_page"`
	MaxQueue int `json:"max_queue"`
	// MaxAttachment limits one attachment, in bytes.
	MaxAttachment int `json:"max_attachment"`
	// TrashDays is for how long a deleted session can be restored; 0 deletes it at once.
	TrashDays int `json:"trash_days"`
}

// Connected is always the first frame.
type Connected struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	HubID    string `json:"hub_id"`
	ClientID string `json:"client_id"`
	// HeartbeatMS is the maximum silence of a working server.
	HeartbeatMS int64     `json:"heartbeat_ms"`
	Limits      Limits    `json:"limits"`
	Scope       string    `json:"scope"`
	Time        time.Time `json:"time"`
}

// Events carries new events of a followed session: contiguous, ascending.
type Events struct {
	SessionID string        `json:"session_id"`
	Epoch     string        `json:"epoch"`
	FirstSeq  event.Seq     `json:"first_seq"`
	LastSeq   event.Seq     `json:"last_seq"`
	MaxSeq    event.Seq     `json:"max_seq"`
	Events    []event.Event `json:"events"`
}

// Verdict says whether a client's cursor is valid.
type Verdict string

const (
	VerdictOK    Verdict = "ok"
	VerdictReset Verdict = "reset"
)

// Values lists the set.
func (Verdict) Values() []string { return []string{"ok", "reset"} }

// ResetReason says why a cursor is not valid.
type ResetReason string

const (
	ResetEpoch  ResetReason = "epoch"   // another log than the client knew
	ResetAhead  ResetReason = "ahead"   // the cursor is beyond the log
	ResetBefore ResetReason = "min_seq" // the events after the cursor were removed
)

// Values lists the set.
func (ResetReason) Values() []string { return []string{"epoch", "ahead", "min_seq"} }

// EventsLoaded answers observe and load_events, and opens a session's own socket
// (then without a RequestID). On reset the client drops its events of the session
// and starts from these.
type EventsLoaded struct {
	RequestID string      `json:"request_id,omitempty"`
	SessionID string      `json:"session_id"`
	Verdict   Verdict     `json:"verdict"`
	Reason    ResetReason `json:"reason,omitempty"`
	Epoch     string      `json:"epoch"`
	// FirstSeq and LastSeq are those of Events. If Events is empty, LastSeq is the
	// cursor and FirstSeq is LastSeq+1.
	FirstSeq event.Seq `json:"first_seq"`
	LastSeq  event.Seq `json:"last_seq"`
	MinSeq   event.Seq `json:"min_seq"`
	MaxSeq   event.Seq `json:"max_seq"`
	// HasMore means that there are more events in the requested direction: older
	// for tail and before_seq, newer for after_seq.
	HasMore bool `json:"has_more"`
	// Prepend means that the events precede those that the client has.
	Prepend bool          `json:"prepend"`
	Events  []event.Event `json:"events"`
}

// Turn is the current turn, and TurnState the state of the agent's work.
type (
	Turn      = state.Turn
	TurnState = state.TurnState
)

// QueueItem is a prompt waiting for the agent to be free.
type QueueItem struct {
	PromptID    string             `json:"prompt_id"`
	Text        string             `json:"text"`
	Title       string             `json:"title,omitempty"`
	Attachments []event.Attachment `json:"attachments,omitempty"`
	Actor       string             `json:"actor,omitempty"`
	ByID        string             `json:"by_id,omitempty"`
	QueuedAt    time.Time          `json:"queued_at"`
	ScheduledAt *time.Time         `json:"scheduled_at,omitempty"`
	// Author and AuthorID wrote the prompt first, if the actor changed its text.
	Author   string `json:"author,omitempty"`
	AuthorID string `json:"author_id,omitempty"`
}

// Agent is the session's agent with its status, the ways to log in and the content
// that prompts may have.
type (
	Agent              = state.Agent
	AgentStatus        = state.AgentStatus
	AuthMethod         = state.AuthMethod
	PromptCapabilities = state.PromptCapabilities
)

// Observer is one client that follows the session.
type Observer struct {
	ClientID string    `json:"client_id"`
	Actor    string    `json:"actor"`
	Activity Activity  `json:"activity"`
	Seq      event.Seq `json:"seq"`
}

// State is everything about a session of which only the latest value counts. It is
// sent as a whole and has no seq. A client holds it until its cursor reaches AtSeq.
type State struct {
	SessionID          string          `json:"session_id"`
	AtSeq              event.Seq       `json:"at_seq"`
	Turn               Turn            `json:"turn"`
	PendingPermissions []string        `json:"pending_permissions"`
	Mode               *event.Mode     `json:"mode,omitempty"`
	Config             *event.Config   `json:"config,omitempty"`
	Commands           *event.Commands `json:"commands,omitempty"`
	Usage              *event.Usage    `json:"usage,omitempty"`
	Agent              Agent           `json:"agent"`
	// Interruption is the interrupted turn until it is settled.
	Interruption *Interruption `json:"interruption,omitempty"`
	// Paused is the pause of the session until it ends.
	Paused *Paused `json:"paused,omitempty"`
	// Suggestions are the open entries of the agent's plan, in its order, at most 50.
	Suggestions []string `json:"suggestions,omitempty"`
	// Restore is the progress of a segmented restore while it runs.
	Restore   *Restore   `json:"restore,omitempty"`
	Observers []Observer `json:"observers"`
	// Queue is last: see AppendState.
	Queue []QueueItem `json:"queue"`
}

// SessionStatus summarises a session for lists.
type SessionStatus = state.Status

// Lifecycle is how far a session is, in the words of session stores.
type Lifecycle = state.Lifecycle

// SessionInfo is one line of the session list.
type SessionInfo struct {
	state.Info
	// ReadSeq is how far this person has read the session on any screen. It is 0 if
	// they have not, and the session has a last line and was created after their
	// first visit. It is absent in other unread sessions, and in sessions read in
	// another epoch.
	ReadSeq *event.Seq `json:"read_seq,omitempty"`
	// Continue is the command that continues the session in the agent's own terminal; absent
	// if it is not known.
	Continue string `json:"continue,omitempty"`
	// Preview is set in a list of sessions that wait to be resumed, if a snapshot is saved.
	Preview *Preview `json:"preview,omitempty"`
}

// Session means that one line of the session list changed.
type Session struct {
	Session SessionInfo `json:"session"`
}

// SessionGone means that a session was deleted or does not exist: stop asking.
type SessionGone struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
}

// PromptReceived means that the prompt is in the log at Seq, on the device.
type PromptReceived struct {
	RequestID string    `json:"request_id,omitempty"`
	SessionID string    `json:"session_id"`
	PromptID  string    `json:"prompt_id"`
	Seq       event.Seq `json:"seq"`
}

// PromptQueued means that the prompt waits at Position, counted from 0.
type PromptQueued struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	PromptID  string `json:"prompt_id"`
	Position  int    `json:"position"`
}

// PromptRemoved answers the resend of a prompt that a client removed from the
// queue: it will not run.
type PromptRemoved struct {
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id"`
	PromptID  string `json:"prompt_id"`
}

// PromptInterrupted answers the resend of a prompt whose turn a crash interrupted:
// it is in the log at Seq, and is not sent to the agent again automatically.
type PromptInterrupted struct {
	RequestID string    `json:"request_id,omitempty"`
	SessionID string    `json:"session_id"`
	PromptID  string    `json:"prompt_id"`
	Seq       event.Seq `json:"seq"`
}

// PermissionResolved reports to the answerer how the request was settled.
type PermissionResolved struct {
	RequestID    string        `json:"request_id,omitempty"`
	SessionID    string        `json:"session_id"`
	PermissionID string        `json:"permission_id"`
	Outcome      event.Outcome `json:"outcome"`
	OptionID     string        `json:"option_id,omitempty"`
	By           string        `json:"by"`
	ByID         string        `json:"by_id,omitempty"`
}

// Pong answers a ping and has the last seq of each followed session.
type Pong struct {
	Nonce  string               `json:"nonce"`
	Time   time.Time            `json:"time"`
	MaxSeq map[string]event.Seq `json:"max_seq"`
}

// Heartbeat is sent after a silence.
type Heartbeat struct {
	MaxSeq map[string]event.Seq `json:"max_seq"`
}

// Error is the answer to a message that failed.
type Error struct {
	RequestID    string `json:"request_id,omitempty"`
	SessionID    string `json:"session_id,omitempty"`
	Code         Code   `json:"code"`
	Message      string `json:"message"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	// Winner is set with already_resolved.
	Winner *Winner `json:"winner,omitempty"`
	// Needs are the warnings that a resume must confirm.
	Needs []string `json:"needs,omitempty"`
}

// Goodbye precedes a planned close.
type Goodbye struct {
	Reason       string `json:"reason"`
	RetryAfterMS int64  `json:"retry_after_ms"`
}

// Comments has the number of a session's review comments. Followers get it once
// there are any, and with every change. Only the latest counts; the list is a
// separate request.
type Comments struct {
	SessionID string `json:"session_id"`
	Version   int64  `json:"version"`
	Count     int    `json:"count"`
	// Open counts the unresolved ones.
	Open int `json:"open"`
}

// Reading reports that the hub reads a session to learn its state, which it has
// done up to at_seq. Events are sent meanwhile, and verbs wait. The session's first
// state, or an error, ends it. Only the latest counts.
type Reading struct {
	SessionID string    `json:"session_id"`
	AtSeq     event.Seq `json:"at_seq"`
	MaxSeq    event.Seq `json:"max_seq"`
}

// Granted lists the browsers and tokens that were added since the receiving browser
// was, within the last week, and that the owner has not seen (POST /api/devices/seen). A
// token that the command line made for itself is left out, unless an agent had a turn
// then. A browser that may manage the hub gets it once there are any, and with every
// change. Only the latest counts.
type Granted struct {
	Grants []Grant `json:"grants"`
}

// Grant is a paired browser or a token.
type Grant struct {
	ID string `json:"id"`
	// Kind is device or token.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Scope is owner, collaborator or viewer.
	Scope string `json:"scope"`
	// SessionID is the one session it is for; empty means all.
	SessionID string    `json:"session_id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// ServerMessages returns a new zero message of every kind the server sends.
func ServerMessages() []Message {
	return []Message{
		&Connected{}, &Events{}, &EventsLoaded{}, &State{}, &Reading{}, &Session{}, &SessionGone{},
		&PromptReceived{}, &PromptQueued{}, &PromptRemoved{}, &PromptInterrupted{}, &PermissionResolved{},
		&Comments{}, &Granted{}, &Pong{}, &Heartbeat{}, &Error{}, &Goodbye{},
	}
}

// MessageType implements Message.
func (*Connected) MessageType() string { return "connected" }

// MessageType implements Message.
func (*Events) MessageType() string { return "events" }

// MessageType implements Message.
func (*EventsLoaded) MessageType() string { return "events_loaded" }

// MessageType implements Message.
func (*State) MessageType() string { return "state" }

// MessageType implements Message.
func (*Reading) MessageType() string { return "reading" }

// MessageType implements Message.
func (*Session) MessageType() string { return "session" }

// MessageType implements Message.
func (*SessionGone) MessageType() string { return "session_gone" }

// MessageType implements Message.
func (*PromptReceived) MessageType() string { return "prompt_received" }

// MessageType implements Message.
func (*PromptQueued) MessageType() string { return "prompt_queued" }

// MessageType implements Message.
func (*PromptRemoved) MessageType() string { return "prompt_removed" }

// MessageType implements Message.
func (*PromptInterrupted) MessageType() string { return "prompt_interrupted" }

// MessageType implements Message.
func (*PermissionResolved) MessageType() string { return "permission_resolved" }

// MessageType implements Message.
func (*Comments) MessageType() string { return "comments" }

// MessageType implements Message.
func (*Granted) MessageType() string { return "granted" }

// MessageType implements Message.
func (*Pong) MessageType() string { return "pong" }

// MessageType implements Message.
func (*Heartbeat) MessageType() string { return "heartbeat" }

// MessageType implements Message.
func (*Error) MessageType() string { return "error" }

// MessageType implements Message.
func (*Goodbye) MessageType() string { return "goodbye" }

// AppendEvents appends an events frame around a batch of encoded events, without
// decoding it, and returns the extended buffer.
func AppendEvents(dst []byte, sessionID, epoch string, b event.Batch, maxSeq event.Seq) []byte {
	dst = append(dst, `{"type":"events","session_id":"`...)
	dst = append(dst, sessionID...)
	dst = append(dst, `","epoch":"`...)
	dst = append(dst, epoch...)
	dst = appendSeq(append(dst, `","first_seq":`...), b.First)
	dst = appendSeq(append(dst, `,"last_seq":`...), b.Last)
	dst = appendSeq(append(dst, `,"max_seq":`...), maxSeq)
	dst = append(dst, `,"events":[`...)
	dst = append(dst, b.JSON...)
	return append(dst, "]}"...)
}

// EncodeLoaded encodes an events_loaded frame with a batch of encoded events. The
// frame's own Events must be empty.
func EncodeLoaded(m EventsLoaded, b event.Batch) ([]byte, error) {
	m.Events = []event.Event{}
	head, err := Encode(&m)
	if err != nil {
		return nil, err
	}
	// events is the last key: cut its empty array open.
	head = head[:len(head)-len("]}")]
	return append(append(head, b.JSON...), "]}"...), nil
}

// AppendState appends a state to dst, one waiting prompt at a time: they may have many
// MiB, and encoding/json has several copies of what it encodes.
func AppendState(dst []byte, m State) ([]byte, error) {
	items, size := m.Queue, 0
	for _, item := range items {
		size += len(item.Text) + len(item.Text)/8 + 1<<10
	}
	m.Queue = []QueueItem{}
	dst, err := Append(slices.Grow(dst, size), &m)
	if err != nil {
		return nil, err
	}
	to := end{dst[:len(dst)-len("]}")]}
	for n, item := range items {
		if n > 0 {
			to.bytes = append(to.bytes, ',')
		}
		if err := json.NewEncoder(&to).Encode(item); err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.MessageType(), err)
		}
		to.bytes = to.bytes[:len(to.bytes)-1] // without the newline
	}
	return append(to.bytes, "]}"...), nil
}

func appendSeq(dst []byte, seq event.Seq) []byte {
	return strconv.AppendInt(dst, int64(seq), 10)
}

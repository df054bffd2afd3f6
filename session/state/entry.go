package state

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Entry is a payload to be written, with its turn.
type Entry struct {
	Turn    int
	Payload event.Payload
}

// Drafts encodes entries for the log.
func Drafts(list []Entry, now time.Time) ([]event.Draft, error) {
	drafts := make([]event.Draft, 0, len(list))
	for _, n := range list {
		draft, err := event.NewDraft(n.Payload, n.Turn, now)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

// Closings returns the events that end unfinished tool calls and open requests: those
// calls for which which is true, as failed, and all requests, as cancelled by the hub
// with the reason.
func (f *Fold) Closings(which func(ToolCall) bool, reason string) []Entry {
	var list []Entry
	for _, call := range f.Tools.Unfinished() {
		if which(call) {
			list = append(list, Entry{Turn: call.Turn, Payload: event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{
				ToolCallID: call.ID, Status: event.ToolFailed, Synthetic: true,
			}}})
		}
	}
	for _, r := range f.Permissions.Open {
		list = append(list, Entry{Turn: r.Turn, Payload: r.Cancelled(TheHub(), reason)})
	}
	return list
}

// CutOff returns the event for an interruption of the open turn now, with a new id.
func (f *Fold) CutOff(reason event.InterruptReason) event.TurnInterrupted {
	id := make([]byte, 8)
	rand.Read(id)
	return event.TurnInterrupted{
		InterruptionID: "i" + hex.EncodeToString(id), Turn: f.Turn, PromptID: f.PromptID, Reason: reason,
		Phase: f.Phase(), Checkpoint: event.Checkpoint{FromSeq: f.PromptSeq, ToSeq: f.Seq},
	}
}

// Phase is the agent's activity in its turn, derived from its open tool calls.
func (f *Fold) Phase() event.TurnPhase {
	phase := event.PhaseStreaming
	for _, call := range f.Tools.Unfinished() {
		switch {
		case call.Turn != f.Turn:
		case call.Delegates:
			return event.PhaseDelegating
		default:
			phase = event.PhaseTools
		}
	}
	return phase
}

// Placed gives each payload of a recorder's batch its turn. A batch that no session can
// hold, such as a prompt in an open turn, is ErrInvalid.
func (f *Fold) Placed(payloads []event.Payload) ([]Entry, error) {
	turn, open := f.Turn, f.Open
	var batch ToolCalls // the calls of this batch
	list := make([]Entry, 0, len(payloads))
	for _, p := range payloads {
		tools := &f.Tools
		if _, known := batch.turn(ToolCallID(p)); known {
			tools = &batch
		}
		at := tools.turnOf(p, turn, open)
		switch p := p.(type) {
		case event.UserPrompt:
			if open {
				return nil, fmt.Errorf("%w: a turn is open: its turn_end comes before the next user_prompt", ErrInvalid)
			}
			turn, open = turn+1, true
			at = turn
		case event.TurnEnd:
			if !open {
				return nil, fmt.Errorf("%w: no turn is open that a turn_end could end", ErrInvalid)
			}
			open = false
		case event.ToolCall:
			batch.see(0, at, p.ToolCallFields)
		case event.ToolCallUpdate:
			batch.see(0, at, p.ToolCallFields)
		}
		list = append(list, Entry{Turn: at, Payload: p})
	}
	return list, nil
}

// Closed returns the events that end a recording with its open turn and calls.
func (f *Fold) Closed(end event.SessionEnd, reason event.StopReason) []Entry {
	list := f.Closings(func(ToolCall) bool { return true }, string(reason))
	if f.Open {
		list = append(list, Entry{Turn: f.Turn, Payload: event.TurnEnd{PromptID: f.PromptID, StopReason: reason}})
	}
	return append(list, Entry{Turn: f.Turn, Payload: end})
}

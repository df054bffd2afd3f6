package session

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/abidehub/abide/session/event"
)

// codeAuthRequired is the failure code of a turn when the agent requires a login.
const codeAuthRequired = "auth_required"

// Interruption is an interrupted turn that is not settled yet. While there is one,
// the queue is held unless the configuration says continue.
type Interruption struct {
	ID       string
	Turn     int
	PromptID string
	Reason   event.InterruptReason
	Phase    event.TurnPhase
	// AtSeq is the seq of its turn_interrupted event, At its time.
	AtSeq event.Seq
	At    time.Time
	// Checkpoint gives the range of the turn's events.
	Checkpoint event.Checkpoint
	// Held means that prompts wait in the queue until a person decides.
	Held bool
}

// interruptions is the fold's part about interrupted turns.
type interruptions struct {
	// Open is the unsettled interruption; nil if none.
	Open *Interruption `json:"open,omitempty"`
	// Settled is the outcome of the last settled one; nil if none.
	Settled   *event.InterruptionSettled `json:"settled,omitempty"`
	SettledAt time.Time                  `json:"settled_at,omitzero"`
	// Resumes counts the resumes since the last other prompt.
	Resumes int `json:"resumes,omitempty"`
}

func (i *interruptions) open(seq event.Seq, at time.Time, p event.TurnInterrupted) {
	i.Open = &Interruption{
		ID: p.InterruptionID, Turn: p.Turn, PromptID: p.PromptID, Reason: p.Reason, Phase: p.Phase,
		AtSeq: seq, At: at, Checkpoint: p.Checkpoint,
	}
}

func (i *interruptions) settle(at time.Time, p event.InterruptionSettled) {
	i.Settled, i.SettledAt = &p, at
	if i.Open != nil && i.Open.ID == p.InterruptionID {
		i.Open = nil
	}
}

// prompted handles a prompt. It settles an open interruption: the event with the
// outcome follows in the same batch, but a crash may have removed it.
func (i *interruptions) prompted(at time.Time, p event.UserPrompt) {
	i.countResume(p.PromptID)
	if i.Open == nil {
		return
	}
	i.settle(at, event.InterruptionSettled{
		InterruptionID: i.Open.ID, Outcome: event.SettledSuperseded, PromptID: p.PromptID, By: cmp.Or(p.Actor, byHub), ByID: p.ByID,
	})
}

// cutOff returns the event for an interruption of the open turn now.
func (f *fold) cutOff(reason event.InterruptReason) event.TurnInterrupted {
	id := make([]byte, 8)
	rand.Read(id)
	return event.TurnInterrupted{
		InterruptionID: "i" + hex.EncodeToString(id), Turn: f.turn, PromptID: f.promptID, Reason: reason,
		Phase: f.phase(), Checkpoint: event.Checkpoint{FromSeq: f.promptSeq, ToSeq: f.seq},
	}
}

// phase is the agent's activity in its turn, derived from its open tool calls.
func (f *fold) phase() event.TurnPhase {
	phase := event.PhaseStreaming
	for _, call := range f.tools.unfinished() {
		switch {
		case call.turn != f.turn:
		case call.delegates:
			return event.PhaseDelegating
		default:
			phase = event.PhaseTools
		}
	}
	return phase
}

// parentOf returns the tool call that `_meta` names as the parent; empty if none.
func parentOf(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(`"parentTool`)) { // most calls have no parent
		return ""
	}
	var whole struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &whole) != nil {
		return ""
	}
	parent := func(fields map[string]json.RawMessage) (id string) {
		for _, name := range []string{"parentToolUseId", "parentToolCallId"} {
			if json.Unmarshal(fields[name], &id) == nil && id != "" {
				return id
			}
		}
		return ""
	}
	if id := parent(whole.Meta); id != "" {
		return id
	}
	for _, value := range whole.Meta { // agents nest it under their own name
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) == nil {
			if id := parent(inner); id != "" {
				return id
			}
		}
	}
	return ""
}

// supersede returns the event that settles the open interruption because of another
// prompt; empty if there is no interruption.
func (l *foldedLog) supersede(promptID string, by event.Actor) []entry {
	open := l.fold.interruptions.Open
	if open == nil {
		return nil
	}
	return []entry{{l.fold.turn, event.InterruptionSettled{
		InterruptionID: open.ID, Outcome: event.SettledSuperseded, PromptID: promptID, By: cmp.Or(by.Name, byHub), ByID: by.ID,
	}}}
}

// release continues a queue that an interruption holds: a person sent a prompt,
// which is queued after the others.
func (l *foldedLog) release(promptID string, by event.Actor) error {
	list := l.supersede(promptID, by)
	if l.fold.open || len(list) == 0 {
		return nil
	}
	if _, err := l.write(list...); err != nil {
		return l.stuck(err)
	}
	l.dirty = true
	return nil
}

// held reports whether the queue waits for a person's decision about an
// interruption.
func (l *foldedLog) held() bool {
	open := l.fold.interruptions.Open
	return open != nil && (open.Reason == event.CutPaused || !l.queueSettings().ContinueInterrupted)
}

// interruption returns the open interruption for State; nil if none.
func (l *foldedLog) interruption() *Interruption {
	open := l.fold.interruptions.Open
	if open == nil {
		return nil
	}
	told := *open
	told.Held = l.held() && l.queue.Len() > 0
	return &told
}

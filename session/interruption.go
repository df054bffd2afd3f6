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

// codeAuthRequired is the code of a turn's failure when the agent wants a login.
const codeAuthRequired = "auth_required"

// Interruption is a turn that was cut off and not settled yet. While there is
// one, the queue is held unless the configuration says continue.
type Interruption struct {
	ID       string
	Turn     int
	PromptID string
	Reason   event.InterruptReason
	Phase    event.TurnPhase
	// AtSeq is the seq of its turn_interrupted, At its time.
	AtSeq event.Seq
	At    time.Time
	// Checkpoint names the events of the turn.
	Checkpoint event.Checkpoint
	// Held says that prompts wait in the queue until a person decides.
	Held bool
}

// interruptions is the fold's part about turns that were cut off.
type interruptions struct {
	// Open is the interruption that is not settled; nil if there is none.
	Open *Interruption `json:"open,omitempty"`
	// Settled is the outcome of the latest one that is; nil if there is none.
	Settled   *event.InterruptionSettled `json:"settled,omitempty"`
	SettledAt time.Time                  `json:"settled_at,omitzero"`
	// Resumes counts the resumes since the latest prompt that was none.
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

// prompted takes a prompt. It settles an open interruption: the event with the
// outcome comes right after it in the same batch, and a crash may cut that off.
func (i *interruptions) prompted(at time.Time, p event.UserPrompt) {
	i.countResume(p.PromptID)
	if i.Open == nil {
		return
	}
	i.settle(at, event.InterruptionSettled{
		InterruptionID: i.Open.ID, Outcome: event.SettledSuperseded, PromptID: p.PromptID, By: cmp.Or(p.Actor, byHub), ByID: p.ByID,
	})
}

// cutOff is the event that says that the open turn is cut off now.
func (f *fold) cutOff(reason event.InterruptReason) event.TurnInterrupted {
	id := make([]byte, 8)
	rand.Read(id)
	return event.TurnInterrupted{
		InterruptionID: "i" + hex.EncodeToString(id), Turn: f.turn, PromptID: f.promptID, Reason: reason,
		Phase: f.phase(), Checkpoint: event.Checkpoint{FromSeq: f.promptSeq, ToSeq: f.seq},
	}
}

// phase is the agent's activity in its turn, as its open tool calls show.
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

// parentOf is the tool call that an agent names as the parent of another in
// `_meta`; empty when it names none.
func parentOf(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(`"parentTool`)) { // most calls have none
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
	for _, value := range whole.Meta { // agents put it under their own name
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) == nil {
			if id := parent(inner); id != "" {
				return id
			}
		}
	}
	return ""
}

// supersede is the event that settles the open interruption because a prompt
// comes first. It is empty when there is none.
func (j *journal) supersede(promptID string, by event.Actor) []entry {
	open := j.fold.interruptions.Open
	if open == nil {
		return nil
	}
	return []entry{{j.fold.turn, event.InterruptionSettled{
		InterruptionID: open.ID, Outcome: event.SettledSuperseded, PromptID: promptID, By: cmp.Or(by.Name, byHub), ByID: by.ID,
	}}}
}

// release lets a queue go on that is held because of an interruption: a person
// sends a prompt, which goes behind the others.
func (j *journal) release(promptID string, by event.Actor) error {
	list := j.supersede(promptID, by)
	if j.fold.open || len(list) == 0 {
		return nil
	}
	if _, err := j.write(list...); err != nil {
		return j.b.stuck(err)
	}
	j.dirty = true
	return nil
}

// held reports whether the queue waits for a person to decide about an
// interruption.
func (j *journal) held() bool {
	open := j.fold.interruptions.Open
	return open != nil && (open.Reason == event.CutPaused || !j.queueSettings().ContinueInterrupted)
}

// interruption is the open interruption as State tells it; nil if there is none.
func (j *journal) interruption() *Interruption {
	open := j.fold.interruptions.Open
	if open == nil {
		return nil
	}
	told := *open
	told.Held = j.held() && j.queue.Len() > 0
	return &told
}

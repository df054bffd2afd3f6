package state

import (
	"cmp"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// CodeAuthRequired is the failure code of a turn when the agent requires a login.
const CodeAuthRequired = "auth_required"

// ResumePrefix begins the id of a prompt that resumes a turn.
const ResumePrefix = "resume-"

// Interruption is an interrupted turn that is not settled yet. While there is one,
// the queue is held unless the configuration says continue.
type Interruption struct {
	ID       string                `json:"id"`
	Turn     int                   `json:"turn"`
	PromptID string                `json:"prompt_id"`
	Reason   event.InterruptReason `json:"reason"`
	Phase    event.TurnPhase       `json:"phase"`
	// AtSeq is the seq of its turn_interrupted event, At its time.
	AtSeq event.Seq `json:"at_seq"`
	At    time.Time `json:"at"`
	// LastAt is the time of the turn's last event if the hub was away since.
	LastAt time.Time `json:"last_at,omitzero"`
	// Checkpoint gives the range of the turn's events.
	Checkpoint event.Checkpoint `json:"checkpoint"`
	// Held means that prompts wait in the queue until a person decides. The log does
	// not tell.
	Held bool `json:"-"`
}

// Since is when the turn's work stopped: its age counts from there.
func (i *Interruption) Since() time.Time {
	if !i.LastAt.IsZero() && i.LastAt.Before(i.At) {
		return i.LastAt
	}
	return i.At
}

// Interruptions is the fold's part about interrupted turns.
type Interruptions struct {
	// Open is the unsettled interruption; nil if none.
	Open *Interruption `json:"open,omitempty"`
	// Settled is the outcome of the last settled one; nil if none.
	Settled   *event.InterruptionSettled `json:"settled,omitempty"`
	SettledAt time.Time                  `json:"settled_at,omitzero"`
	// Resumes counts the resumes since the last other prompt.
	Resumes int `json:"resumes,omitempty"`
}

func (i *Interruptions) open(seq event.Seq, at time.Time, p event.TurnInterrupted) {
	i.Open = &Interruption{
		ID: p.InterruptionID, Turn: p.Turn, PromptID: p.PromptID, Reason: p.Reason, Phase: p.Phase,
		AtSeq: seq, At: at, Checkpoint: p.Checkpoint,
	}
	if p.LastAt != nil {
		i.Open.LastAt = *p.LastAt
	}
}

func (i *Interruptions) settle(at time.Time, p event.InterruptionSettled) {
	i.Settled, i.SettledAt = &p, at
	if i.Open != nil && i.Open.ID == p.InterruptionID {
		i.Open = nil
	}
}

// prompted handles a prompt. It settles an open interruption: the event with the
// outcome follows in the same batch, but a crash may have removed it.
func (i *Interruptions) prompted(at time.Time, p event.UserPrompt) {
	i.countResume(p.PromptID)
	if i.Open == nil {
		return
	}
	i.settle(at, event.InterruptionSettled{
		InterruptionID: i.Open.ID, Outcome: event.SettledSuperseded, PromptID: p.PromptID, By: cmp.Or(p.Actor, ByHub), ByID: p.ByID,
	})
}

// countResume counts the resumes since the last other prompt.
func (i *Interruptions) countResume(promptID string) {
	if strings.HasPrefix(promptID, ResumePrefix) {
		i.Resumes++
	} else {
		i.Resumes = 0
	}
}

// Interrupts reports whether a turn with this end was interrupted.
func Interrupts(reason event.StopReason) bool {
	switch reason {
	case event.StopInterrupted, event.StopHubRestart, event.StopAgentExit:
		return true
	}
	return false
}

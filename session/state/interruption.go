package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// CodeAuthRequired is the failure code of a turn when the agent requires a login.
const CodeAuthRequired = "auth_required"

// ResumePrefix begins the id of a prompt that resumes a turn.
const ResumePrefix = "resume-"

// Interruption is an interrupted turn. It waits until a person resumes or dismisses
// it, or sends another prompt.
type Interruption struct {
	InterruptionID string                `json:"interruption_id"`
	Turn           int                   `json:"turn"`
	Reason         event.InterruptReason `json:"reason"`
	Phase          event.TurnPhase       `json:"phase"`
	// AtSeq is the seq of its turn_interrupted event, At its time in UTC.
	AtSeq event.Seq `json:"at_seq"`
	At    time.Time `json:"at"`
	// Held means that prompts wait in the queue meanwhile. It is false in a fold: the
	// log does not say.
	Held bool `json:"held"`
}

// OpenInterruption is an interruption with what a resume needs of its turn. While
// there is one, the queue is held unless the configuration says continue.
type OpenInterruption struct {
	Interruption
	PromptID string `json:"prompt_id"`
	// LastAt is the time of the turn's last event if the hub was away since.
	LastAt time.Time `json:"last_at,omitzero"`
	// Checkpoint gives the range of the turn's events.
	Checkpoint event.Checkpoint `json:"checkpoint"`
}

// Shown returns the interruption as clients get it; nil of nil.
func (i *OpenInterruption) Shown() *Interruption {
	if i == nil {
		return nil
	}
	return &i.Interruption
}

// Since is when the turn's work stopped: its age counts from there.
func (i *OpenInterruption) Since() time.Time {
	if !i.LastAt.IsZero() && i.LastAt.Before(i.At) {
		return i.LastAt
	}
	return i.At
}

// Way is a way to resume, with the reason if it is not available.
type Way struct {
	Way       event.ResumeWay `json:"way"`
	Available bool            `json:"available"`
	Why       string          `json:"why,omitempty"`
	// Tokens is about how many tokens the agent would get, in how many Segments.
	Tokens   int `json:"tokens,omitempty"`
	Segments int `json:"segments,omitempty"`
}

// Restore is the progress of sending the session to an agent.
type Restore struct {
	Way event.ResumeWay `json:"way"`
	// Done is the number of segments sent, of Total.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Tokens is the approximate size of all segments. Percent is the part of it
	// that was sent.
	Tokens  int `json:"tokens"`
	Percent int `json:"percent"`
}

// Interruptions is the fold's part about interrupted turns.
type Interruptions struct {
	// Open is the unsettled interruption; nil if none.
	Open *OpenInterruption `json:"open,omitempty"`
	// Settled is the outcome of the last settled one; nil if none.
	Settled   *event.InterruptionSettled `json:"settled,omitempty"`
	SettledAt time.Time                  `json:"settled_at,omitzero"`
	// Resumes counts the resumes since the last other prompt.
	Resumes int `json:"resumes,omitempty"`
	// Counts counts all of the session.
	Counts event.InterruptionCounts `json:"counts,omitzero"`
	// Prompted is the interruption that the latest prompt settled, until its outcome is
	// read; nil if there is none.
	Prompted *OpenInterruption `json:"prompted,omitempty"`
	// Resuming means that the latest turn resumes an interrupted one, and has no end.
	Resuming bool `json:"resuming,omitempty"`
}

func (i *Interruptions) open(seq event.Seq, at time.Time, p event.TurnInterrupted) {
	i.Open = &OpenInterruption{
		Interruption: Interruption{InterruptionID: p.InterruptionID, Turn: p.Turn, Reason: p.Reason, Phase: p.Phase, AtSeq: seq, At: at.UTC()},
		PromptID:     p.PromptID, Checkpoint: p.Checkpoint,
	}
	if p.LastAt != nil {
		i.Open.LastAt = *p.LastAt
	}
	i.Counts.Interrupted = more(i.Counts.Interrupted, p.Phase)
	if i.Resuming && p.Reason != event.CutPaused {
		i.Counts.Failed++
	}
	i.Resuming = false
}

// ended counts a resumed turn that the agent ended.
func (i *Interruptions) ended(reason event.StopReason) {
	if i.Resuming && !Interrupts(reason) && reason != event.StopCancelled {
		i.Counts.Succeeded++
	}
	i.Resuming = false
}

func (i *Interruptions) settle(at time.Time, p event.InterruptionSettled) {
	i.Settled, i.SettledAt = &p, at
	for _, of := range []**OpenInterruption{&i.Open, &i.Prompted} {
		if *of != nil && (*of).InterruptionID == p.InterruptionID {
			i.count(*of, at, p)
			*of = nil
		}
	}
}

// waitsKept limits the times in InterruptionCounts.
const waitsKept = 32

// count counts the outcome of an interruption.
func (i *Interruptions) count(of *OpenInterruption, at time.Time, p event.InterruptionSettled) {
	switch c := &i.Counts; p.Outcome {
	case event.SettledDismissed:
		c.Dismissed++
	case event.SettledSuperseded:
		c.Superseded++
	case event.SettledResumed:
		ways := more(c.Resumed[of.Phase], p.Way)
		if c.Resumed = maps.Clone(c.Resumed); c.Resumed == nil {
			c.Resumed = map[event.TurnPhase]map[event.ResumeWay]int{}
		}
		c.Resumed[of.Phase] = ways
		kept := c.WaitsMS[max(0, len(c.WaitsMS)+1-waitsKept):]
		c.WaitsMS = append(slices.Clone(kept), max(0, at.Sub(of.Since()).Milliseconds()))
	}
}

// more returns the counts with one more for key. It does not change them.
func more[K comparable](counts map[K]int, key K) map[K]int {
	if counts = maps.Clone(counts); counts == nil {
		counts = map[K]int{}
	}
	counts[key]++
	return counts
}

// prompted handles a prompt. It settles an open interruption: the event with the
// outcome follows in the same batch, but a crash may have removed it.
func (i *Interruptions) prompted(at time.Time, p event.UserPrompt) {
	i.countResume(p.PromptID)
	of := i.Open
	i.Open, i.Prompted = nil, of
	i.Resuming = of != nil && p.PromptID == ResumePrefix+of.InterruptionID ||
		i.Settled != nil && i.Settled.Outcome == event.SettledResumed && i.Settled.PromptID == p.PromptID
	if of == nil {
		return
	}
	i.Settled, i.SettledAt = &event.InterruptionSettled{
		InterruptionID: of.InterruptionID, Outcome: event.SettledSuperseded, PromptID: p.PromptID, By: cmp.Or(p.Actor, ByHub), ByID: p.ByID,
	}, at
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

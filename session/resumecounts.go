package session

import (
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// ResumeCounts counts interrupted turns and their outcomes since the hub started.
type ResumeCounts struct {
	Interrupted map[event.TurnPhase]int `json:"interrupted"`
	// Resumed counts by phase, then by way.
	Resumed    map[event.TurnPhase]map[event.ResumeWay]int `json:"resumed"`
	Dismissed  int                                         `json:"dismissed"`
	Superseded int                                         `json:"superseded"`
	// Failed counts resumed turns that were interrupted again.
	Failed int `json:"failed"`
	// MedianMS is the median time from an interruption to its resume, of the last
	// thousand; 0 if there was none.
	MedianMS int64 `json:"median_ms"`
}

// waitsKept limits the times in the median.
const waitsKept = 1000

// resumeNumbers keeps the counts of all sessions.
type resumeNumbers struct {
	mu     sync.Mutex
	counts ResumeCounts    // guarded by mu
	waits  []time.Duration // guarded by mu: from interruption to resume
}

func newResumeNumbers() *resumeNumbers {
	return &resumeNumbers{counts: ResumeCounts{
		Interrupted: map[event.TurnPhase]int{}, Resumed: map[event.TurnPhase]map[event.ResumeWay]int{},
	}}
}

func (n *resumeNumbers) cutOff(p event.TurnInterrupted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts.Interrupted[p.Phase]++
	if strings.HasPrefix(p.PromptID, state.ResumePrefix) {
		n.counts.Failed++
	}
}

// settled counts the outcome of an interruption.
func (n *resumeNumbers) settled(open state.Interruption, p event.InterruptionSettled) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch p.Outcome {
	case event.SettledDismissed:
		n.counts.Dismissed++
	case event.SettledSuperseded:
		n.counts.Superseded++
	case event.SettledResumed:
		if n.counts.Resumed[open.Phase] == nil {
			n.counts.Resumed[open.Phase] = map[event.ResumeWay]int{}
		}
		n.counts.Resumed[open.Phase][p.Way]++
		n.waits = append(n.waits, time.Since(open.At))
		n.waits = n.waits[max(0, len(n.waits)-waitsKept):]
	}
}

// countCut counts the interruptions in a write. before is the interruption that was
// open before it.
func (l *foldedLog) countCut(list []state.Entry, before *state.Interruption) {
	for _, n := range list {
		switch p := n.Payload.(type) {
		case event.TurnInterrupted:
			l.hub.numbers.cutOff(p)
		case event.InterruptionSettled:
			if before != nil {
				l.hub.numbers.settled(*before, p)
			}
		}
	}
}

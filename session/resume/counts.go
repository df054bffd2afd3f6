package resume

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Counts counts interrupted turns and their outcomes since the hub started.
type Counts struct {
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

// Counter counts the interruptions of all sessions. It is safe for concurrent use.
type Counter struct {
	mu     sync.Mutex
	counts Counts          // guarded by mu
	waits  []time.Duration // guarded by mu: from interruption to resume
}

// NewCounter returns a counter at zero.
func NewCounter() *Counter {
	return &Counter{counts: Counts{
		Interrupted: map[event.TurnPhase]int{}, Resumed: map[event.TurnPhase]map[event.ResumeWay]int{},
	}}
}

// Counts returns the counts until now.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	counts.Interrupted = maps.Clone(counts.Interrupted)
	counts.Resumed = map[event.TurnPhase]map[event.ResumeWay]int{}
	for phase, ways := range c.counts.Resumed {
		counts.Resumed[phase] = maps.Clone(ways)
	}
	if len(c.waits) > 0 {
		counts.MedianMS = slices.Sorted(slices.Values(c.waits))[len(c.waits)/2].Milliseconds()
	}
	return counts
}

// CutOff counts an interrupted turn.
func (c *Counter) CutOff(p event.TurnInterrupted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Interrupted[p.Phase]++
	if strings.HasPrefix(p.PromptID, state.ResumePrefix) {
		c.counts.Failed++
	}
}

// Written counts the interruptions in a write and their outcomes. before is the
// interruption that was open before it; nil if there was none.
func (c *Counter) Written(list []state.Entry, before *state.OpenInterruption) {
	for _, n := range list {
		switch p := n.Payload.(type) {
		case event.TurnInterrupted:
			c.CutOff(p)
		case event.InterruptionSettled:
			if before != nil {
				c.settled(*before, p)
			}
		}
	}
}

// settled counts the outcome of an interruption.
func (c *Counter) settled(open state.OpenInterruption, p event.InterruptionSettled) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch p.Outcome {
	case event.SettledDismissed:
		c.counts.Dismissed++
	case event.SettledSuperseded:
		c.counts.Superseded++
	case event.SettledResumed:
		if c.counts.Resumed[open.Phase] == nil {
			c.counts.Resumed[open.Phase] = map[event.ResumeWay]int{}
		}
		c.counts.Resumed[open.Phase][p.Way]++
		c.waits = append(c.waits, time.Since(open.Since()))
		c.waits = c.waits[max(0, len(c.waits)-waitsKept):]
	}
}

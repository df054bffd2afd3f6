package resume

import (
	"iter"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// Counts counts the interrupted turns of sessions and their outcomes.
type Counts struct {
	Interrupted map[event.TurnPhase]int
	// Resumed counts by phase, then by way.
	Resumed    map[event.TurnPhase]map[event.ResumeWay]int
	Dismissed  int
	Superseded int
	// Succeeded counts resumed turns that the agent ended, Failed those that were
	// interrupted again.
	Succeeded int
	Failed    int
	// MedianMS is the median time from the last event of an interrupted turn to its
	// resume; 0 if there was none.
	MedianMS int64
}

// Sum adds up the counts of sessions.
func Sum(sessions iter.Seq[event.InterruptionCounts]) Counts {
	sum := Counts{Interrupted: map[event.TurnPhase]int{}, Resumed: map[event.TurnPhase]map[event.ResumeWay]int{}}
	var waits []int64
	for one := range sessions {
		for phase, n := range one.Interrupted {
			sum.Interrupted[phase] += n
		}
		for phase, ways := range one.Resumed {
			if sum.Resumed[phase] == nil {
				sum.Resumed[phase] = map[event.ResumeWay]int{}
			}
			for way, n := range ways {
				sum.Resumed[phase][way] += n
			}
		}
		sum.Dismissed += one.Dismissed
		sum.Superseded += one.Superseded
		sum.Succeeded += one.Succeeded
		sum.Failed += one.Failed
		waits = append(waits, one.WaitsMS...)
	}
	if len(waits) > 0 {
		slices.Sort(waits)
		sum.MedianMS = waits[len(waits)/2]
	}
	return sum
}

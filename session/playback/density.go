package playback

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// maxBuckets bounds each of the two densities. When one is full, its stretches
	// become twice as long.
	maxBuckets = 512
	// firstBucketMS is how long a stretch of time is at first.
	firstBucketMS = 100
	// Idle is the longest that a gap between two events takes in a player, unless it
	// is told otherwise.
	Idle = 2 * time.Second
)

// ByTime counts the events of each stretch of time.
type ByTime struct {
	BucketMS int64 `json:"bucket_ms"`
	Events   []int `json:"events"`
}

func (d *ByTime) add(atMS int64) {
	if d.BucketMS == 0 {
		d.BucketMS = firstBucketMS
	}
	for atMS/d.BucketMS >= maxBuckets {
		half := make([]int, (len(d.Events)+1)/2)
		for i, n := range d.Events {
			half[i/2] += n
		}
		d.Events, d.BucketMS = half, d.BucketMS*2
	}
	for int64(len(d.Events)) <= atMS/d.BucketMS {
		d.Events = append(d.Events, 0)
	}
	d.Events[atMS/d.BucketMS]++
}

// ByEvent tells when each stretch of events began, as it was and as a player that
// squeezes idle time shows it.
type ByEvent struct {
	BucketEvents int64   `json:"bucket_events"`
	AtMS         []int64 `json:"at_ms"`
	PlayedMS     []int64 `json:"played_ms"`
}

// add takes the nth event, from 0.
func (d *ByEvent) add(nth, atMS, playedMS int64) {
	if d.BucketEvents == 0 {
		d.BucketEvents = 1
	}
	if nth/d.BucketEvents >= maxBuckets {
		for i := 0; 2*i < len(d.AtMS); i++ {
			d.AtMS[i], d.PlayedMS[i] = d.AtMS[2*i], d.PlayedMS[2*i]
		}
		n := (len(d.AtMS) + 1) / 2
		d.AtMS, d.PlayedMS, d.BucketEvents = d.AtMS[:n], d.PlayedMS[:n], d.BucketEvents*2
	}
	for int64(len(d.AtMS)) <= nth/d.BucketEvents {
		d.AtMS, d.PlayedMS = append(d.AtMS, atMS), append(d.PlayedMS, playedMS)
	}
}

// clock is the time of a log, which never goes back and in which idle time is short.
type clock struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"` // the latest time so far
	PlayedMS int64     `json:"played_ms"`
}

func (c *clock) tick(at time.Time) {
	if c.From.IsZero() {
		c.From, c.To = at, at
		return
	}
	if gap := at.Sub(c.To); gap > 0 {
		c.PlayedMS += min(gap, Idle).Milliseconds()
		c.To = at
	}
}

// MarkKind is the kind of a mark on the timeline.
type MarkKind string

// The kinds of marks.
const (
	MarkPrompt       MarkKind = "prompt"
	MarkEdit         MarkKind = "edit"
	MarkCommand      MarkKind = "command"
	MarkQuestion     MarkKind = "question"
	MarkError        MarkKind = "error"
	MarkInterruption MarkKind = "interruption"
)

// Values lists the set.
func (MarkKind) Values() []string {
	return []string{"prompt", "edit", "command", "question", "error", "interruption"}
}

// Mark is an event worth going to.
type Mark struct {
	Seq   event.Seq `json:"seq"`
	Kind  MarkKind  `json:"kind"`
	Turn  int       `json:"turn,omitempty"`
	Label string    `json:"label,omitempty"`
}

const (
	// maxMarks bounds the marks of an overview, and labelRunes each label.
	maxMarks   = 2000
	labelRunes = 80
)

// thin leaves out every second mark of the commonest kind. Prompts go last.
func thin(marks []Mark) []Mark {
	count := map[MarkKind]int{}
	for _, m := range marks {
		count[m.Kind]++
	}
	most := MarkPrompt
	for _, kind := range []MarkKind{MarkEdit, MarkCommand, MarkQuestion, MarkError, MarkInterruption} {
		if n := count[kind]; n > 1 && (most == MarkPrompt || n > count[most]) {
			most = kind
		}
	}
	kept, nth := marks[:0], 0
	for _, m := range marks {
		if m.Kind == most {
			if nth++; nth%2 == 0 {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept
}

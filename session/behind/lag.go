package behind

import (
	"iter"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// Place is how far a session's log was read; zero is not at all.
type Place struct {
	Epoch string
	Seq   event.Seq
}

// End is the end of a session's log.
func End(md journal.Metadata) Place { return Place{md.Epoch, md.MaxSeq} }

// Kind is something that is derived from logs, and how far it is in a session.
type Kind struct {
	Name string
	At   func(id string) Place
}

// Lag is how far a kind is behind the logs: in so many sessions, by so many events together.
type Lag struct {
	Kind     string
	Sessions int
	Events   int64
}

// Lags returns the lag of each kind in all sessions, in their order. It looks at each session once
// and reads no log.
func Lags(all iter.Seq[journal.Metadata], kinds ...Kind) []Lag {
	lags := make([]Lag, len(kinds))
	for i, k := range kinds {
		lags[i].Kind = k.Name
	}
	for md := range all {
		for i, k := range kinds {
			at := k.At(md.SessionID)
			if at.Epoch != md.Epoch {
				at.Seq = 0
			}
			if at.Seq < md.MaxSeq {
				lags[i].Sessions++
				lags[i].Events += int64(md.MaxSeq - max(at.Seq, md.MinSeq-1))
			}
		}
	}
	return lags
}

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// seqAtBytes is how much of a log SeqAt reads at once.
const seqAtBytes = 1 << 20

// SeqAt returns the first visible event at or after a time. It uses the latest time
// so far: if the clock went back, an earlier event may already have reached it. It
// returns false if all events are earlier. It reads the log from its beginning.
func (r *reader) SeqAt(ctx context.Context, at time.Time) (seq event.Seq, found bool, err error) {
	after := event.Seq(r.marks.min.Load()) - 1
	for {
		b, through, err := r.ReadWritten(ctx, after, seqAtBytes)
		if errors.Is(err, journal.ErrRemoved) {
			after = max(after, event.Seq(r.marks.min.Load())-1)
			continue // retention removed events; the first seq only rises
		}
		if err != nil || through == after {
			return 0, false, err
		}
		for g := range b.Headers() {
			e, err := g.Event()
			if err != nil {
				return 0, false, fmt.Errorf("look for %s: %w", at.Format(time.RFC3339), err)
			}
			if !e.Time.Before(at) {
				return e.Seq, true, nil
			}
		}
		after = through
	}
}

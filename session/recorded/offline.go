package recorded

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Offline writes the events of a recorder without a hub, in the same way as a hub. It
// is not safe for concurrent use.
type Offline struct {
	log  journal.Log
	fold state.Fold
}

// StartOffline starts a recording into a new log. A hub that opens the log before the
// recording has ended takes the rest with the RecorderID.
func StartOffline(ctx context.Context, log journal.Log, actor event.Actor) (*Offline, error) {
	r := &Offline{log: log}
	r.fold.Seq = log.Marks().Visible
	return r, r.write(ctx, []state.Entry{{Payload: Note(actor)}})
}

// RecorderID is the id of the recorder in the log.
func (r *Offline) RecorderID() string { return r.fold.Recorder.ID }

// MaxSeq is the last event.
func (r *Offline) MaxSeq() event.Seq { return r.fold.Seq }

// Record writes a batch, all or nothing.
func (r *Offline) Record(ctx context.Context, batch []Event) error {
	payloads, err := Payloads(batch)
	if err != nil {
		return err
	}
	list, err := r.fold.Placed(payloads)
	if err != nil || len(list) == 0 {
		return err
	}
	return r.write(ctx, list)
}

// End closes open calls and turns and ends the session.
func (r *Offline) End(ctx context.Context, reason string, actor event.Actor) error {
	err := r.write(ctx, r.fold.Closed(state.EndOf(reason, actor), event.StopInterrupted))
	if err == nil {
		r.log.UpdateMetadata(func(m *journal.Metadata) { m.Status = string(state.StatusEnded) }) // for the session list
	}
	return err
}

func (r *Offline) write(ctx context.Context, list []state.Entry) error {
	now := time.Now()
	drafts, err := state.Drafts(list, now)
	if err != nil {
		return err
	}
	first, _, err := r.log.Append(ctx, 0, drafts...)
	if err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	for i, n := range list {
		r.fold.Apply(first+event.Seq(i), now, n.Turn, n.Payload)
	}
	return nil
}

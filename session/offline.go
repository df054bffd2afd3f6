package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// OfflineRecording writes the events of a recorder without a hub, in the same way
// as a hub. It is not safe for concurrent use.
type OfflineRecording struct {
	log  journal.Log
	fold state.Fold
}

// RecordOffline starts a recording into a new log.
func RecordOffline(log journal.Log) *OfflineRecording { return &OfflineRecording{log: log} }

// Record writes a batch, all or nothing.
func (r *OfflineRecording) Record(ctx context.Context, batch []Recorded) error {
	payloads, err := payloadsOf(batch)
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
func (r *OfflineRecording) End(ctx context.Context, reason string, actor event.Actor) error {
	err := r.write(ctx, r.fold.Closed(endOf(reason, actor), event.StopInterrupted))
	if err == nil {
		r.log.UpdateMetadata(func(m *journal.Metadata) { m.Status = string(state.StatusEnded) }) // for the session list
	}
	return err
}

func (r *OfflineRecording) write(ctx context.Context, list []state.Entry) error {
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

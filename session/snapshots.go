package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/snapshot"
	"github.com/abidehub/abide/session/state"
)

// Snapshot is what a session is as of one of its events, and how that is stored.
type Snapshot struct {
	state.Snapshot
	snapshot.Stored
}

// Snapshot returns what a session is after all its events. It opens no session. With saved
// it returns the latest saved one instead, without reading the log: state.ErrNotFound if
// none is.
func (m *Manager) Snapshot(ctx context.Context, id string, saved bool) (Snapshot, error) {
	read := m.snapshots.Read
	if saved {
		read = func(_ context.Context, id string) (*state.Snapshot, snapshot.Stored, error) {
			return m.snapshots.Kept(id)
		}
	}
	s, stored, err := read(ctx, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return Snapshot{}, fmt.Errorf("session %s: %w", id, state.ErrNotFound)
	case errors.Is(err, fs.ErrNotExist):
		return Snapshot{}, fmt.Errorf("%w: no snapshot of the session is saved yet: ask without saved", state.ErrNotFound)
	case err != nil:
		return Snapshot{}, err
	}
	return Snapshot{*s, stored}, nil
}

// SnapshotOf returns what a session is after all events of a log of another hub, from its
// stored lines. It saves nothing.
func SnapshotOf(ctx context.Context, log journal.Log, lines func() ([]journal.Part, error)) (Snapshot, error) {
	s, stored, err := snapshot.Of(ctx, lines, log.ID(), log.Epoch(), log.Marks().Visible)
	if err != nil {
		return Snapshot{}, problem.OfLog(err)
	}
	return Snapshot{*s, stored}, nil
}

// SnapshotPreview returns what a list says of a session's saved snapshot. It reports false
// if none is saved.
func (m *Manager) SnapshotPreview(id string) (snapshot.Preview, bool) { return m.snapshots.Preview(id) }

// SnapshotProblem says that a snapshot cannot be saved; empty if all can.
func (m *Manager) SnapshotProblem() string { return m.hub.snapshots.Problem() }

package list

import (
	"slices"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// Forks knows the forks of each session. It is not stored: each fork names its
// original. It is safe for concurrent use.
type Forks struct {
	mu   sync.Mutex
	of   map[string][]event.Forked // the forks of a session, oldest first
	from map[string]string         // the original of a fork
}

// NewForks knows no fork yet.
func NewForks() *Forks {
	return &Forks{of: map[string][]event.Forked{}, from: map[string]string{}}
}

// Add notes that the session id was forked from another, once. Nil is no fork.
func (f *Forks) Add(id string, from *event.Forked) {
	if from == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from[id] != "" {
		return
	}
	f.from[id] = from.SessionID
	f.of[from.SessionID] = append(slices.Clip(f.of[from.SessionID]), event.Forked{SessionID: id, Seq: from.Seq})
}

// Remove forgets a deleted session, and returns the original if it was a fork.
func (f *Forks) Remove(id string) (from string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from = f.from[id]
	delete(f.from, id)
	delete(f.of, id)
	if from != "" {
		f.of[from] = slices.DeleteFunc(slices.Clone(f.of[from]), func(o event.Forked) bool { return o.SessionID == id })
	}
	return from
}

// forksOf returns the forks of a session. The caller must not change them.
func (f *Forks) forksOf(id string) []event.Forked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[id]
}

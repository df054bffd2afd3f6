// Package presence knows who watches a session.
package presence

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/state"
)

// TypingLasts is how long a person counts as typing after the client's last report,
// because the client may be gone.
const TypingLasts = 10 * time.Second

// Watchers are the observers of a session. Clients report often and must not wait for
// the session's goroutine, so they write here and ring the bell. It is safe for
// concurrent use, and no method blocks.
type Watchers struct {
	// Changed rings for the session's goroutine.
	Changed bell.Slot

	mu       sync.Mutex
	present  map[string]state.Presence
	typed    map[string]time.Time // last report of each typing observer
	material bool                 // an observer came, went or changed activity since the last take
}

// New returns those of a session without observers.
func New() *Watchers {
	return &Watchers{Changed: bell.NewSlot(), present: map[string]state.Presence{}, typed: map[string]time.Time{}}
}

// Set sets the activity of the observer clientID.
func (w *Watchers) Set(clientID string, p state.Presence) {
	w.mu.Lock()
	old, known := w.present[clientID]
	same := known && old == p
	w.present[clientID] = p
	switch {
	case p.Activity != state.Typing:
		delete(w.typed, clientID)
	case old.Activity != state.Typing || old.Seq == p.Seq: // progress is not a report of typing
		w.typed[clientID] = time.Now()
		same = false // the engine must restart its timer
	}
	old.Seq = p.Seq
	w.material = w.material || !known || old != p
	w.mu.Unlock()
	if !same {
		w.Changed.Ring()
	}
}

// Remove removes the observer clientID.
func (w *Watchers) Remove(clientID string) {
	w.mu.Lock()
	_, known := w.present[clientID]
	delete(w.present, clientID)
	delete(w.typed, clientID)
	w.material = w.material || known
	w.mu.Unlock()
	if known {
		w.Changed.Ring()
	}
}

// Fade turns typing into viewing after TypingLasts. It returns when to call it
// again; zero if no observer types.
func (w *Watchers) Fade(now time.Time) (again time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.typed {
		ends := at.Add(TypingLasts)
		if !now.Before(ends) {
			p := w.present[id]
			p.Activity = state.Viewing
			w.present[id] = p
			w.material = true
			delete(w.typed, id)
		} else if again.IsZero() || ends.Before(again) {
			again = ends
		}
	}
	return again
}

// IsMaterial reports whether the changes should be published at once.
func (w *Watchers) IsMaterial() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.material
}

// Take lists the observers by client id and marks the changes as published.
func (w *Watchers) Take() []state.Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.material = false
	return w.observers()
}

// List lists the observers by client id. A published state may be a second behind.
func (w *Watchers) List() []state.Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observers()
}

// observers lists the observers. The caller holds the lock.
func (w *Watchers) observers() []state.Observer {
	list := make([]state.Observer, 0, len(w.present))
	for id, p := range w.present {
		list = append(list, state.Observer{ClientID: id, Presence: p})
	}
	slices.SortFunc(list, func(a, b state.Observer) int { return cmp.Compare(a.ClientID, b.ClientID) })
	return list
}

// Any reports whether there are observers.
func (w *Watchers) Any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.present) > 0
}

// Watching reports whether an observer who may answer has the session on a visible
// screen.
func (w *Watchers) Watching() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.present {
		if p.Activity != state.Away && !p.Viewer {
			return true
		}
	}
	return false
}

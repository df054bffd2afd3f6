package session

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/state"
)

// presenceInterval is how often progress of the observers is published. A new
// observer, a leaving one and a change of activity are published at once.
const presenceInterval = time.Second

// TypingLasts is how long a person counts as typing after the client's last report,
// because the client may be gone.
const TypingLasts = 10 * time.Second

// watchers are the observers of a session. Clients report often and must not wait
// for the session's goroutine, so they write here and ring the bell.
type watchers struct {
	changed bell.Slot

	mu       sync.Mutex
	present  map[string]state.Presence
	typed    map[string]time.Time // last report of each typing observer
	material bool                 // an observer came, went or changed activity since the last take
}

func newWatchers() *watchers {
	return &watchers{changed: bell.NewSlot(), present: map[string]state.Presence{}, typed: map[string]time.Time{}}
}

func (w *watchers) set(clientID string, p state.Presence) {
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
		w.changed.Ring()
	}
}

func (w *watchers) remove(clientID string) {
	w.mu.Lock()
	_, known := w.present[clientID]
	delete(w.present, clientID)
	delete(w.typed, clientID)
	w.material = w.material || known
	w.mu.Unlock()
	if known {
		w.changed.Ring()
	}
}

// fade turns typing into viewing after TypingLasts. It returns when to call it
// again; zero if no observer types.
func (w *watchers) fade(now time.Time) (again time.Time) {
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

// isMaterial reports whether the changes should be published at once.
func (w *watchers) isMaterial() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.material
}

// take lists the observers by client id and marks the changes as published.
func (w *watchers) take() []state.Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.material = false
	return w.observers()
}

// list lists the observers by client id.
func (w *watchers) list() []state.Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observers()
}

// observers lists the observers. The caller holds the lock.
func (w *watchers) observers() []state.Observer {
	list := make([]state.Observer, 0, len(w.present))
	for id, p := range w.present {
		list = append(list, state.Observer{ClientID: id, Presence: p})
	}
	slices.SortFunc(list, func(a, b state.Observer) int { return cmp.Compare(a.ClientID, b.ClientID) })
	return list
}

// any reports whether there are observers.
func (w *watchers) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.present) > 0
}

// watching reports whether an observer who may answer has the session on a visible
// screen.
func (w *watchers) watching() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.present {
		if p.Activity != state.Away && !p.Viewer {
			return true
		}
	}
	return false
}

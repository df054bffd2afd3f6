package session

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
)

// presenceInterval is how often mere progress of the observers is published.
// Coming, going and a change of activity are published at once.
const presenceInterval = time.Second

// TypingLasts is how long a person counts as typing after the client last said
// so: the screen that said it may be gone.
const TypingLasts = 10 * time.Second

// Activity is a person's activity at a screen.
type Activity string

const (
	Viewing Activity = "viewing"
	Typing  Activity = "typing"
	Away    Activity = "away" // the screen is not visible
)

// Presence is the last report of one observer.
type Presence struct {
	Actor string
	// Device is the id of the credential that the screen came in with.
	Device   string
	Activity Activity
	// Viewer is set for an observer that may not answer; no policy waits for an
	// answer from it.
	Viewer bool
	// Seq is the last event the client has applied.
	Seq event.Seq
}

// watchers are the observers of a session. Clients report often and must not
// wait for the session's goroutine, so they write here and ring.
type watchers struct {
	changed bell.Slot

	mu       sync.Mutex
	present  map[string]Presence
	typed    map[string]time.Time // when each typing observer last said so
	material bool                 // an observer came, went or changed activity since the last take
}

func newWatchers() *watchers {
	return &watchers{changed: bell.NewSlot(), present: map[string]Presence{}, typed: map[string]time.Time{}}
}

func (w *watchers) set(clientID string, p Presence) {
	w.mu.Lock()
	old, known := w.present[clientID]
	same := known && old == p
	w.present[clientID] = p
	switch {
	case p.Activity != Typing:
		delete(w.typed, clientID)
	case old.Activity != Typing || old.Seq == p.Seq: // mere progress is no word of typing
		w.typed[clientID] = time.Now()
		same = false // the engine's timer must move
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

// fade turns typing into viewing for observers that last said so too long ago, and
// returns when to look again; zero when no observer types.
func (w *watchers) fade(now time.Time) (again time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.typed {
		ends := at.Add(TypingLasts)
		if !now.Before(ends) {
			p := w.present[id]
			p.Activity = Viewing
			w.present[id] = p
			w.material = true
			delete(w.typed, id)
		} else if again.IsZero() || ends.Before(again) {
			again = ends
		}
	}
	return again
}

// isMaterial reports whether the news should be published at once.
func (w *watchers) isMaterial() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.material
}

// take lists the observers by client id and counts the news as published.
func (w *watchers) take() []Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.material = false
	return w.observers()
}

// list lists the observers by client id.
func (w *watchers) list() []Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observers()
}

// observers lists them. The lock is held.
func (w *watchers) observers() []Observer {
	list := make([]Observer, 0, len(w.present))
	for id, p := range w.present {
		list = append(list, Observer{ClientID: id, Presence: p})
	}
	slices.SortFunc(list, func(a, b Observer) int { return cmp.Compare(a.ClientID, b.ClientID) })
	return list
}

// any reports whether there are observers at all.
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
		if p.Activity != Away && !p.Viewer {
			return true
		}
	}
	return false
}

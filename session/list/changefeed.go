package list

import (
	"container/list"
	"slices"
	"sync"

	"github.com/abidehub/abide/internal/bell"
)

// rememberedGone limits the deleted sessions that Since reports.
const rememberedGone = 1000

// ChangeFeed is the change feed of the session list. Of the changes of a session it
// keeps the last one only. It is safe for concurrent use and never blocks.
type ChangeFeed struct {
	bell bell.Bell

	mu      sync.Mutex
	version uint64
	changed timeline
	gone    timeline
}

// NewChangeFeed returns a feed at version 0.
func NewChangeFeed() *ChangeFeed {
	return &ChangeFeed{changed: newTimeline(), gone: newTimeline()}
}

// Changed returns a channel that is closed at the next change. Take it before Since,
// or a change in between is missed.
func (f *ChangeFeed) Changed() <-chan struct{} { return f.bell.Listen() }

// Add reports a session that is new, or back after it was removed.
func (f *ChangeFeed) Add(id string) {
	f.mu.Lock()
	f.version++
	f.gone.drop(id)
	f.changed.put(id, f.version)
	f.mu.Unlock()
	f.bell.Ring()
}

// Touch reports that a session's line changed. A session that was removed stays removed.
func (f *ChangeFeed) Touch(id string) {
	f.mu.Lock()
	if !f.gone.has(id) {
		f.version++
		f.changed.put(id, f.version)
	}
	f.mu.Unlock()
	f.bell.Ring()
}

// Remove reports that a session was deleted.
func (f *ChangeFeed) Remove(id string) {
	f.mu.Lock()
	f.version++
	f.changed.drop(id)
	f.gone.put(id, f.version)
	f.gone.keep(rememberedGone)
	f.mu.Unlock()
	f.bell.Ring()
}

// Since returns the ids of the sessions that changed and of those that were removed
// after version v, each in the order of the last change, and the v of the next call.
// The oldest removals are forgotten beyond 1,000.
func (f *ChangeFeed) Since(v uint64) (changed, gone []string, now uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed.since(v), f.gone.since(v), f.version
}

// timeline records when each session changed last. The cost of a query depends on
// the number of changes, not of sessions.
type timeline struct {
	order *list.List // moments in order of their version
	at    map[string]*list.Element
}

// moment is the version in which a session changed last.
type moment struct {
	id      string
	version uint64
}

func newTimeline() timeline { return timeline{list.New(), map[string]*list.Element{}} }

func (t timeline) has(id string) bool { return t.at[id] != nil }

func (t timeline) put(id string, version uint64) {
	t.drop(id)
	t.at[id] = t.order.PushBack(moment{id, version})
}

func (t timeline) drop(id string) {
	if e := t.at[id]; e != nil {
		t.order.Remove(e)
		delete(t.at, id)
	}
}

// keep removes all but the latest entries.
func (t timeline) keep(most int) {
	for t.order.Len() > most {
		t.drop(t.order.Front().Value.(moment).id)
	}
}

// since returns the sessions that changed after a version, in order of their
// change.
func (t timeline) since(version uint64) (ids []string) {
	for e := t.order.Back(); e != nil && e.Value.(moment).version > version; e = e.Prev() {
		ids = append(ids, e.Value.(moment).id)
	}
	slices.Reverse(ids)
	return ids
}

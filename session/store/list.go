package store

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// List returns the metadata of every session, newest activity first. It opens no
// log.
func (s *Store) List() []Metadata { return slices.Collect(s.Newest(Place{})) }

// Place is a position in the list's order, not a session, so it stays valid when
// sessions come, go and move. The zero Place is before all.
type Place struct {
	UpdatedAt time.Time
	SessionID string
}

// compare puts the newest first.
func (p Place) compare(other Place) int {
	return cmp.Or(other.UpdatedAt.Compare(p.UpdatedAt), strings.Compare(other.SessionID, p.SessionID))
}

// Newest yields the entries of List after a place. It computes each entry when it
// is requested, so a page of a long list costs only the page. Order and UpdatedAt
// are those of the start; sessions deleted meanwhile are omitted.
func (s *Store) Newest(behind Place) iter.Seq[Metadata] {
	return func(yield func(Metadata) bool) {
		for _, p := range s.places(behind) {
			m, listed := s.Listed(p.SessionID)
			if !listed {
				continue
			}
			m.UpdatedAt = p.UpdatedAt
			if !yield(m) {
				return
			}
		}
	}
}

// places are the places of the sessions listed behind one, the newest first.
func (s *Store) places(behind Place) []Place {
	s.mu.Lock()
	places := make([]Place, 0, len(s.sessions))
	var open []*Log
	for id, e := range s.sessions {
		if e.log != nil {
			open = append(open, e.log)
		} else if !e.hidden {
			places = append(places, Place{e.meta.UpdatedAt, id})
		}
	}
	s.mu.Unlock()
	for _, l := range open {
		places = append(places, Place{l.updatedAt(), l.id})
	}
	if behind != (Place{}) {
		places = slices.DeleteFunc(places, func(p Place) bool { return p.compare(behind) <= 0 })
	}
	slices.SortFunc(places, Place.compare)
	return places
}

// Listed returns the entry of List for one session, and whether it exists. It opens
// no log.
func (s *Store) Listed(id string) (Metadata, bool) {
	s.mu.Lock()
	e := s.sessions[id]
	if e == nil || e.hidden {
		s.mu.Unlock()
		return Metadata{}, false
	}
	l, meta := e.log, e.meta
	s.mu.Unlock()
	if l != nil {
		return l.Metadata(), true
	}
	return meta, true
}

// TakeBackUpdated sets the log's updated time to one before its newest events, so
// that these do not make it unread. After a crash, recovery uses the newest event
// again. There must be no append meanwhile.
func (l *Log) TakeBackUpdated(at time.Time) { l.touched.Store(at.UnixMicro()) }

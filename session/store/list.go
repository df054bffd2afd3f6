package store

import (
	"iter"
	"slices"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// List returns the metadata of every session, newest activity first. It opens no
// log.
func (s *Store) List() []journal.Metadata { return slices.Collect(s.Newest(journal.Place{})) }

// Newest yields the entries of List after a place. It computes each entry when it
// is requested, so a page of a long list costs only the page. Order and UpdatedAt
// are those of the start; sessions deleted meanwhile are omitted.
func (s *Store) Newest(behind journal.Place) iter.Seq[journal.Metadata] {
	return func(yield func(journal.Metadata) bool) {
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
func (s *Store) places(behind journal.Place) []journal.Place {
	s.mu.Lock()
	places := make([]journal.Place, 0, len(s.sessions))
	var open []*Log
	for id, e := range s.sessions {
		if e.log != nil {
			open = append(open, e.log)
		} else if !e.hidden {
			places = append(places, journal.Place{UpdatedAt: e.meta.UpdatedAt, SessionID: id})
		}
	}
	s.mu.Unlock()
	for _, l := range open {
		places = append(places, journal.Place{UpdatedAt: l.updatedAt(), SessionID: l.id})
	}
	if behind != (journal.Place{}) {
		places = slices.DeleteFunc(places, func(p journal.Place) bool { return p.Compare(behind) <= 0 })
	}
	slices.SortFunc(places, journal.Place.Compare)
	return places
}

// Listed returns the entry of List for one session, and whether it exists. It opens
// no log.
func (s *Store) Listed(id string) (journal.Metadata, bool) {
	s.mu.Lock()
	e := s.sessions[id]
	if e == nil || e.hidden {
		s.mu.Unlock()
		return journal.Metadata{}, false
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

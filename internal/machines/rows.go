package machines

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// mostRows limits the sessions of one machine.
const mostRows = 100_000

// rows are the lines of the session lists of all machines. A session that two machines have
// is that of the first.
type rows struct {
	feed *list.ChangeFeed

	mu      sync.Mutex
	all     map[string]row             // by the session's id
	coming  map[string]map[string]bool // what a list that begins anew had so far, by machine
	counts  map[string]int             // of rows, by machine
	doubles map[string]int             // of lines of sessions that another machine has, by machine
	sorted  []row                      // newest activity first; nil after a change
}

type row struct {
	machine string
	info    state.Info
}

func newRows() *rows {
	return &rows{feed: list.NewChangeFeed(), all: map[string]row{}, coming: map[string]map[string]bool{}, counts: map[string]int{}, doubles: map[string]int{}}
}

var errManyRows = fmt.Errorf("more than %d sessions", mostRows)

// take applies a message of a machine, or nothing of it. It returns the sessions that are gone.
func (r *rows) take(machine string, m rowsMessage) (gone []string, err error) {
	for _, info := range m.Rows {
		if !journal.ValidID(info.SessionID) {
			return nil, errors.New("a row with a wrong id")
		}
		if info.Machine != nil {
			return nil, errors.New("a row of another machine")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.First {
		r.coming[machine] = map[string]bool{}
		r.doubles[machine] = 0
	}
	seen := r.coming[machine]
	if r.counts[machine]+len(m.Rows) > mostRows {
		return nil, errManyRows
	}
	r.sorted = nil
	for _, info := range m.Rows {
		other, known := r.all[info.SessionID]
		switch {
		case known && other.machine != machine:
			r.doubles[machine]++
			continue
		case !known:
			r.counts[machine]++
		}
		r.all[info.SessionID] = row{machine, info}
		if seen != nil {
			seen[info.SessionID] = true
		}
		r.feed.Add(info.SessionID)
	}
	for _, id := range m.Gone {
		if r.remove(machine, id) {
			gone = append(gone, id)
		}
	}
	if seen != nil && !m.More {
		for id, row := range r.all {
			if row.machine == machine && !seen[id] {
				r.remove(machine, id)
				gone = append(gone, id)
			}
		}
		delete(r.coming, machine)
	}
	return gone, nil
}

// remove reports whether the machine had the row. It is called with mu held.
func (r *rows) remove(machine, id string) bool {
	if r.all[id].machine != machine {
		return false
	}
	delete(r.all, id)
	r.counts[machine]--
	r.sorted = nil
	r.feed.Remove(id)
	return true
}

// ofMachine returns the rows of a machine, newest activity first.
func (r *rows) ofMachine(machine string) []state.Info {
	var lines []state.Info
	for _, one := range r.newest() {
		if one.machine == machine {
			lines = append(lines, one.info)
		}
	}
	return lines
}

// touch reports all rows of a machine as changed: its name or its state did.
func (r *rows) touch(machine string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, row := range r.all {
		if row.machine == machine {
			r.feed.Touch(id)
		}
	}
}

// forget removes the rows of a machine.
func (r *rows) forget(machine string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.all {
		r.remove(machine, id)
	}
	delete(r.coming, machine)
	delete(r.counts, machine)
	delete(r.doubles, machine)
}

// of returns the row of a session.
func (r *rows) of(id string) (row, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, known := r.all[id]
	return one, known
}

// newest returns all rows, newest activity first. The caller must not change them.
func (r *rows) newest() []row {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.all), func(a, b row) int { return placeOf(a.info).Compare(placeOf(b.info)) })
	}
	return r.sorted
}

func placeOf(i state.Info) journal.Place {
	return journal.Place{UpdatedAt: i.UpdatedAt, SessionID: i.SessionID}
}

// compareNames orders machines by name, in any case.
func compareNames(a, b Machine) int {
	return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.ID, b.ID))
}

// Of returns the machine that has a session, and the session's line.
func (h *Home) Of(id string) (m Machine, line state.Info, known bool) {
	one, known := h.rows.of(id)
	if !known || h.has(id) {
		return m, line, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	record := h.record.machine(one.machine)
	if record == nil {
		return m, line, false
	}
	m = h.machineOf(*record)
	line = one.info
	line.Machine = m.Row()
	return m, line, true
}

// Lines returns the lines of the machines' sessions, newest activity first.
func (h *Home) Lines() []state.Info {
	machines := map[string]*state.Machine{}
	for _, m := range h.Machines() {
		machines[m.ID] = m.Row()
	}
	var lines []state.Info
	for _, one := range h.rows.newest() {
		if m := machines[one.machine]; m != nil && !h.has(one.info.SessionID) {
			line := one.info
			line.Machine = m
			lines = append(lines, line)
		}
	}
	return lines
}

// LinesChanged returns a channel that is closed when lines change. Take it before
// LinesSince.
func (h *Home) LinesChanged() <-chan struct{} { return h.rows.feed.Changed() }

// LinesSince returns the lines that changed after a version, the ids of the sessions that
// are gone, and the version now. Version 0 is the start.
func (h *Home) LinesSince(v uint64) (changed []state.Info, gone []string, now uint64) {
	ids, gone, now := h.rows.feed.Since(v)
	for _, id := range ids {
		if _, line, known := h.Of(id); known {
			changed = append(changed, line)
		}
	}
	return changed, gone, now
}

// Sessions counts the lines of a machine's sessions.
func (h *Home) Sessions(machine string) int {
	h.rows.mu.Lock()
	defer h.rows.mu.Unlock()
	return h.rows.counts[machine]
}

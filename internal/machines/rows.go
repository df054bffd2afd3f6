package machines

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store/logfile"
)

const (
	// mostRows limits the sessions of one machine, mostRowBytes a row as JSON and mostRowsBytes
	// all rows of a machine.
	mostRows      = 100_000
	mostRowBytes  = 64 << 10
	mostRowsBytes = 128 << 20
	// mostCount limits the numbers in a row: beyond it a screen counts wrong.
	mostCount = 1 << 53
)

// rows are the lines of the session lists of all machines. A session that two machines have
// is that of the first.
type rows struct {
	feed *list.ChangeFeed

	mu      sync.Mutex
	all     map[string]*row            // by the session's id; what they have does not change
	coming  map[string]map[string]bool // what a list that begins anew had so far, by machine
	counts  map[string]int             // of rows, by machine
	bytes   map[string]int             // of rows, by machine
	doubles map[string]map[string]bool // sessions that another machine has, by machine
	sorted  []*row                     // newest activity first, never changed; nil after many changes
}

type row struct {
	machine string
	info    state.Info
	size    int
}

func newRows() *rows {
	return &rows{feed: list.NewChangeFeed(), all: map[string]*row{}, coming: map[string]map[string]bool{}, counts: map[string]int{}, bytes: map[string]int{}, doubles: map[string]map[string]bool{}}
}

var errManyRows = fmt.Errorf("a list of more than %d sessions or %d MiB", mostRows, mostRowsBytes>>20)

// checkRow returns the size of a row that can be listed.
func checkRow(i *state.Info) (size int, err error) {
	if !journal.ValidID(i.SessionID) {
		return 0, errors.New("a row with a wrong id")
	}
	if i.Machine != nil {
		return 0, errors.New("a row of another machine")
	}
	if i.Epoch != "" && !logfile.IsEpoch(i.Epoch) {
		return 0, errors.New("a row with a wrong epoch")
	}
	for _, n := range []int64{i.EventCount, int64(i.MinSeq), int64(i.MaxSeq), int64(i.ResumeCount)} {
		if n < 0 || n > mostCount {
			return 0, errors.New("a row with a wrong number")
		}
	}
	resumed := time.Time{}
	if i.LastResumedAt != nil {
		resumed = *i.LastResumedAt
	}
	for _, at := range []time.Time{i.CreatedAt, i.UpdatedAt, resumed} {
		if !at.IsZero() && (at.Year() < 1970 || at.Year() >= 2200) {
			return 0, errors.New("a row with a wrong time")
		}
	}
	i.CreatedAt, i.UpdatedAt = i.CreatedAt.UTC(), i.UpdatedAt.UTC()
	line, err := json.Marshal(i)
	if err != nil || len(line) > mostRowBytes {
		return 0, errors.New("a row that is too long")
	}
	return len(line), nil
}

// take applies a message of a machine, or nothing of it. It returns the sessions that are gone.
func (r *rows) take(machine string, m rowsMessage) (gone []string, err error) {
	sizes := make([]int, len(m.Rows))
	for i := range m.Rows {
		if sizes[i], err = checkRow(&m.Rows[i]); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	count, bytes := r.counts[machine], r.bytes[machine]
	for i, info := range m.Rows {
		switch old, known := r.all[info.SessionID]; {
		case !known:
			count, bytes = count+1, bytes+sizes[i]
		case old.machine == machine:
			bytes += sizes[i] - old.size
		}
	}
	if count > mostRows || bytes > mostRowsBytes {
		return nil, errManyRows
	}
	if m.First {
		r.coming[machine] = map[string]bool{}
		delete(r.doubles, machine)
	}
	seen := r.coming[machine]
	if len(m.Rows) > mostPlaced {
		r.sorted = nil
	}
	for i, info := range m.Rows {
		other, known := r.all[info.SessionID]
		switch {
		case known && other.machine != machine:
			if r.doubles[machine] == nil {
				r.doubles[machine] = map[string]bool{}
			}
			r.doubles[machine][info.SessionID] = true
			continue
		case known:
			r.bytes[machine] -= other.size
		default:
			r.counts[machine]++
		}
		r.bytes[machine] += sizes[i]
		r.put(&row{machine, info, sizes[i]}, other)
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

// mostPlaced is how many rows of a message are put into the order one by one. After more the
// order is made anew when it is asked for.
const mostPlaced = 8

// put stores a row in place of the one before, which is nil if there was none. It is called
// with mu held.
func (r *rows) put(now, before *row) {
	r.all[now.info.SessionID] = now
	r.place(now, before)
}

// place makes the order with one row instead of another; either may be nil. Who has the order
// from before keeps it as it was.
func (r *rows) place(now, before *row) {
	if r.sorted == nil {
		return
	}
	at := func(of *row) int {
		i, _ := slices.BinarySearchFunc(r.sorted, of, compareRows)
		return i
	}
	next := make([]*row, 0, len(r.sorted)+1)
	next = append(next, r.sorted...)
	r.sorted = next
	if before != nil {
		i := at(before)
		r.sorted = slices.Delete(r.sorted, i, i+1)
	}
	if now != nil {
		r.sorted = slices.Insert(r.sorted, at(now), now)
	}
}

func compareRows(a, b *row) int { return placeOf(a.info).Compare(placeOf(b.info)) }

// remove reports whether the machine had the row. It is called with mu held.
func (r *rows) remove(machine, id string) bool {
	old := r.all[id]
	if old == nil || old.machine != machine {
		return false
	}
	r.bytes[machine] -= old.size
	delete(r.all, id)
	r.counts[machine]--
	r.place(nil, old)
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
	delete(r.bytes, machine)
	delete(r.doubles, machine)
}

// twice counts the sessions of a machine that another one has, too.
func (r *rows) twice(machine string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.doubles[machine])
}

// of returns the row of a session.
func (r *rows) of(id string) (*row, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, known := r.all[id]
	return one, known
}

// newest returns all rows, newest activity first. The caller must not change them.
func (r *rows) newest() []*row {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.all), compareRows)
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

// Lines returns the lines of the machines' sessions.
func (h *Home) Lines() list.OtherLines {
	l := lines{rows: h.rows.newest(), machines: map[string]*state.Machine{}, has: h.has}
	for _, m := range h.Machines() {
		l.machines[m.ID] = m.Row()
	}
	return l
}

// lines are the rows of machines as lines of a list.
type lines struct {
	rows     []*row
	machines map[string]*state.Machine
	has      func(id string) bool
}

func (l lines) Len() int { return len(l.rows) }

func (l lines) Place(i int) journal.Place { return placeOf(l.rows[i].info) }

func (l lines) Line(i int) (state.Info, bool) {
	one := l.rows[i]
	m := l.machines[one.machine]
	if m == nil || l.has(one.info.SessionID) {
		return state.Info{}, false
	}
	line := one.info
	line.Machine = m
	return line, true
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

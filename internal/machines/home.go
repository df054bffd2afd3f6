package machines

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// HomeOptions are the parts of a Home.
type HomeOptions struct {
	// Dir has machines.json.
	Dir string
	// ID is the id of this hub.
	ID string
	// Has reports whether this hub has a session: of two with one id its own counts.
	Has func(id string) bool
	// Version is that of this abide.
	Version string
	// Notifies reports whether this hub notifies people of the sessions of machines, so that
	// these do not; nil is never.
	Notifies func() bool
	// Now is the clock; nil is time.Now.
	Now    func() time.Time
	Logger *slog.Logger
	// Follow is how long a session is followed after somebody looked at it last: a minute if 0.
	Follow time.Duration
	// Silence is how long a machine may be silent; 5 s if 0. A test allows more: it may share a
	// busy computer.
	Silence time.Duration
	// FS has the copies; nil is the real one.
	FS store.FS
}

// Home is the side of the hub that machines join. It is safe for concurrent use.
type Home struct {
	id      string
	version string
	file    jsonfile.File[record]
	now     func() time.Time
	logger  *slog.Logger
	has     func(string) bool
	// notifies is Notifies of the options.
	notifies func() bool
	silence  time.Duration
	rows     *rows
	kept     *keptRows
	copies   *copies
	faults   *faults
	bell     bell.Bell

	mu      sync.Mutex
	record  record
	links   map[string]*link // the connections, by the machine's id
	engine  *engine          // nil before the first connection
	closed  bool
	carried sync.WaitGroup
}

// OpenHome reads machines.json and the rows of the machines. It starts nothing.
func OpenHome(o HomeOptions) (*Home, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Has == nil {
		o.Has = func(string) bool { return false }
	}
	if o.Notifies == nil {
		o.Notifies = func() bool { return false }
	}
	h := &Home{id: o.ID, version: o.Version, file: recordFile(o.Dir), now: o.Now, logger: o.Logger, has: o.Has, notifies: o.Notifies, silence: o.Silence, rows: newRows(), copies: newCopies(filepath.Join(o.Dir, "copies"), o.FS, o.Follow, o.Logger), links: map[string]*link{}, faults: &faults{now: o.Now, of: map[string]fault{}}}
	var err error
	if h.record, _, err = h.file.Read(); err != nil {
		return nil, err
	}
	h.record.Format = recordFormat
	h.copies.from, h.copies.keeping.changed = h, h.bell.Ring
	h.kept = newKeptRows(o.Dir, o.Logger, h.rows.ofMachine)
	for _, m := range h.record.Machines {
		if _, err := h.rows.take(m.ID, rowsMessage{Rows: h.kept.read(m.ID)}); err != nil {
			o.Logger.Warn("the rows of a machine cannot be used: they come when it is back", "machine", m.ID, "err", err)
		}
	}
	return h, nil
}

// change writes a changed record.
func (h *Home) change(f func(*record) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.record.clone()
	if err := f(&next); err != nil {
		return err
	}
	now := h.now()
	next.Links = slices.DeleteFunc(next.Links, func(l linkRecord) bool { return !now.Before(l.ExpiresAt) })
	if n := len(next.Links) - mostLinks; n > 0 {
		next.Links = next.Links[n:]
	}
	if err := h.file.Write(next); err != nil {
		return fmt.Errorf("write %s: %w", recordName, err)
	}
	h.record = next
	return nil
}

// NewLink makes the code of a link with which one machine may join, once, until a time.
func (h *Home) NewLink() (code string, until time.Time, err error) {
	code, hash := newSecret()
	until = h.now().Add(LinkLife)
	return code, until, h.change(func(r *record) error {
		r.Links = append(r.Links, linkRecord{hash, until})
		return nil
	})
}

// Joining is what a machine says of itself when it joins.
type Joining struct {
	ID, Name, Version string
	Allow             Allow
	// Former is the machine's secret from before, if it left and home does not know.
	Former string
}

// Join spends a code and returns the machine's secret, which is not kept here.
func (h *Home) Join(code string, j Joining) (secret string, m Machine, err error) {
	if j.Name, err = checkName(j.Name); err != nil {
		return "", m, err
	}
	if err := j.Allow.Check(); err != nil {
		return "", m, err
	}
	if len(j.Version) > mostVersion || words(j.Version) != j.Version {
		return "", m, fmt.Errorf("%w: that is no version", state.ErrInvalid)
	}
	if !idForm.MatchString(j.ID) {
		return "", m, fmt.Errorf("%w: a machine's id is 16 hex digits", state.ErrInvalid)
	}
	if j.ID == h.id {
		return "", m, fmt.Errorf("%w: %w", state.ErrConflict, ErrSelf)
	}
	secret, hash := newSecret()
	err = h.change(func(r *record) error {
		spent := hashOf(code)
		at := slices.IndexFunc(r.Links, func(l linkRecord) bool {
			return subtle.ConstantTimeCompare([]byte(l.Hash), []byte(spent)) == 1 && h.now().Before(l.ExpiresAt)
		})
		if at < 0 {
			return ErrCode
		}
		if one := r.machine(j.ID); one != nil {
			// One that never connected may have lost its secret, which was under way to it.
			if !one.LastSeen.IsZero() && subtle.ConstantTimeCompare([]byte(one.Hash), []byte(hashOf(j.Former))) != 1 {
				return fmt.Errorf("%w: %w", state.ErrConflict, ErrTwice)
			}
			r.Machines = slices.DeleteFunc(r.Machines, func(m machineRecord) bool { return m.ID == j.ID })
		}
		r.Links = slices.Delete(r.Links, at, at+1)
		made := machineRecord{ID: j.ID, Name: j.Name, Hash: hash, Allow: j.Allow, Version: j.Version, JoinedAt: h.now().UTC()}
		r.Machines = append(r.Machines, made)
		m = h.machineOf(made)
		return nil
	})
	if err != nil {
		return "", Machine{}, err
	}
	h.cut(j.ID)
	h.bell.Ring()
	h.logger.Info("a machine joined", "machine", j.ID, "name", j.Name, "allow", j.Allow)
	return secret, m, nil
}

// Known returns the machine that has a secret.
func (h *Home) Known(secret string) (Machine, bool) {
	hash := hashOf(secret)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.record.Machines {
		if subtle.ConstantTimeCompare([]byte(m.Hash), []byte(hash)) == 1 {
			return h.machineOf(m), true
		}
	}
	return Machine{}, false
}

// machineOf is called with mu held.
func (h *Home) machineOf(m machineRecord) Machine {
	out := Machine{ID: m.ID, Name: m.Name, Allow: m.Allow, Version: m.Version, JoinedAt: m.JoinedAt, Since: m.LastSeen, Refused: h.faults.count(m.ID)}
	if l := h.links[m.ID]; l != nil && l.met() {
		out.Connected, out.Since = true, l.since
	}
	out.Problem = h.faults.problem(m.ID, out.Connected, h.rows.twice(m.ID), out.Connected && h.copies.keeping.room.isFull())
	return out
}

// Machines lists the machines, by name.
func (h *Home) Machines() []Machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Machine, 0, len(h.record.Machines))
	for _, m := range h.record.Machines {
		list = append(list, h.machineOf(m))
	}
	slices.SortFunc(list, func(a, b Machine) int { return compareNames(a, b) })
	return list
}

// Machine returns one machine, by its id or its whole name. ErrUnknown says that there is
// none.
func (h *Home) Machine(idOrName string) (Machine, error) {
	var named []Machine
	for _, m := range h.Machines() {
		if m.ID == idOrName {
			return m, nil
		}
		if m.Name == idOrName {
			named = append(named, m)
		}
	}
	switch len(named) {
	case 0:
		return Machine{}, ErrUnknown
	case 1:
		return named[0], nil
	}
	return Machine{}, fmt.Errorf("%w: several machines are named %q: give the id", state.ErrConflict, idOrName)
}

// Changed returns a channel that is closed when the machines change: their names, and
// whether they are connected. Take it before Machines.
func (h *Home) Changed() <-chan struct{} { return h.bell.Listen() }

// Rename gives a machine another name.
func (h *Home) Rename(id, name string) (m Machine, err error) {
	if name, err = checkName(name); err != nil {
		return m, err
	}
	err = h.change(func(r *record) error {
		one := r.machine(id)
		if one == nil {
			return ErrUnknown
		}
		one.Name = name
		m = h.machineOf(*one)
		return nil
	})
	if err == nil {
		h.rows.touch(id)
		h.bell.Ring()
	}
	return m, err
}

// Forget ends a machine's access and its connection, and its sessions leave the list. The
// sessions stay on the machine as they are.
func (h *Home) Forget(id string) error {
	if err := h.strike(id); err != nil {
		return err
	}
	h.clear(id)
	h.logger.Info("a machine was forgotten", "machine", id)
	return nil
}

// strike takes a machine out of the record: its secret opens nothing any more.
func (h *Home) strike(id string) error {
	return h.change(func(r *record) error {
		if r.machine(id) == nil {
			return ErrUnknown
		}
		r.Machines = slices.DeleteFunc(r.Machines, func(m machineRecord) bool { return m.ID == id })
		return nil
	})
}

// cut ends a machine's connection.
func (h *Home) cut(id string) {
	h.mu.Lock()
	l := h.links[id]
	h.mu.Unlock()
	if l != nil {
		l.end()
		<-l.over
	}
}

// clear removes what home has of a machine that it does not know any more.
func (h *Home) clear(id string) {
	h.cut(id)
	h.faults.forget(id)
	h.rows.forget(id)
	h.kept.forget(id)
	h.copies.drop(id)
	h.copies.keeping.room.forget(id)
	h.bell.Ring()
}

// Close ends the connections and the engine.
func (h *Home) Close() {
	h.mu.Lock()
	h.closed = true
	for _, l := range h.links {
		l.end()
	}
	engine := h.engine
	h.mu.Unlock()
	h.carried.Wait()
	h.kept.close()
	h.copies.close()
	if engine != nil {
		engine.close()
	}
}

// refuse counts a message of a machine that broke the protocol, and ends the connection when
// there were too many.
func (h *Home) refuse(l *link, why string) {
	why = words(why)
	count, cut := h.faults.refuse(l.id, why)
	h.logger.Warn("a machine sent what it may not", "machine", l.id, "why", why, "count", count)
	if cut {
		h.logger.Warn("the connection of a machine that sent what it may not is ended", "machine", l.id, "for", cutFor)
		l.end()
	}
	h.bell.Ring()
}

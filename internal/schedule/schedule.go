// Package schedule makes jobs at due times, each once, also across kills of the hub and
// clocks that are put back.
package schedule

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// Most limits the schedules of a hub.
	Most = 100
	// outcomes are kept of each.
	outcomes = 10
	format   = 1
)

// Jobs makes the jobs. Its errors are those of package session.
type Jobs interface {
	// CheckNew refuses what could not become a job now.
	CheckNew(ctx context.Context, in wire.NewJob, by event.Actor) error
	// MadeBy finds the job that a key made.
	MadeBy(by event.Actor, key string) (id string, made bool)
	// MakeOnce makes the job of a key for a schedule, unless it is made.
	MakeOnce(ctx context.Context, in wire.NewJob, by event.Actor, key, schedule string) (id string, err error)
	// StatusOf is that of a job; empty if there is no such job any more.
	StatusOf(id string) event.JobStatus
	// Changed is closed when a job may have ended.
	Changed() <-chan struct{}
}

// Options configure Schedules.
type Options struct {
	Files jsonfile.Files
	Jobs  Jobs
	// MayRun reports whether a credential still may make jobs; nil always allows.
	MayRun func(by event.Actor) bool
	// Now is the clock on the wall; nil is time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Schedules are those of a hub. They are safe for concurrent use.
type Schedules struct {
	file    jsonfile.File[content]
	jobs    Jobs
	mayRun  func(by event.Actor) bool
	now     func() time.Time
	logger  *slog.Logger
	changed bell.Bell
	broken  error // why the file cannot be read; it is left as it is

	mu  sync.Mutex // held while the file is written
	all []record   // oldest first; a record is replaced, never changed
}

// content is the file.
type content struct {
	Format    int      `json:"format"`
	Schedules []record `json:"schedules"`
}

// record is a schedule as the file has it.
type record struct {
	ID        string              `json:"id"`
	New       wire.NewSchedule    `json:"new"`
	By        event.Actor         `json:"by"`
	Key       string              `json:"key,omitempty"`
	Hash      string              `json:"hash,omitempty"` // of what the key made
	CreatedAt time.Time           `json:"created_at"`
	Status    wire.ScheduleStatus `json:"status"`
	Reason    string              `json:"reason,omitempty"`
	// LastDue is the newest due time that was run. Settled is the time up to which none is
	// owed; it is not trusted beyond now, because the clock may have been wrong.
	LastDue time.Time `json:"last_due,omitzero"`
	Settled time.Time `json:"settled"`
	// Pending is the due time whose job is being made.
	Pending *time.Time `json:"pending,omitempty"`
	// LastJob is the newest job that it made.
	LastJob  string                 `json:"last_job,omitempty"`
	Outcomes []wire.ScheduleOutcome `json:"outcomes,omitempty"` // newest first
}

// Open reads the schedules. A file that cannot be read is left as it is: Problem says so,
// and every verb refuses.
func Open(o Options) *Schedules {
	if o.MayRun == nil {
		o.MayRun = func(event.Actor) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Schedules{jobs: o.Jobs, mayRun: o.MayRun, now: o.Now, logger: o.Logger}
	s.file = jsonfile.File[content]{
		Files: o.Files, Name: "schedules.json", Damage: jsonfile.Refuse, Check: check, Indent: true,
		Remedy: "repair it or move it away, and start the hub again",
	}
	read, err := s.file.Load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.broken = err
		s.logger.Error("the schedules cannot be read: none of them runs", "err", err)
	}
	s.all = read.Schedules
	return s
}

// check says why the file is damaged.
func check(c content) error {
	if err := jsonfile.Format(c.Format, format); err != nil {
		return err
	}
	for _, r := range c.Schedules {
		if _, err := r.when(); err != nil || r.ID == "" {
			return fmt.Errorf("schedule %q: %w", r.ID, err)
		}
	}
	return nil
}

// Problem says why no schedule runs; empty if nothing is wrong.
func (s *Schedules) Problem() string {
	if s.broken == nil {
		return ""
	}
	return "the schedules cannot be read, and none of them runs: " + s.broken.Error()
}

func (s *Schedules) usable() error {
	if s.broken == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", state.ErrUnavailable, s.Problem())
}

// Add makes a schedule by an actor. With a key, a repeated request gets the schedule of the
// first one, and made is false.
func (s *Schedules) Add(ctx context.Context, in wire.NewSchedule, by event.Actor, key string) (out wire.Schedule, made bool, err error) {
	if err := s.usable(); err != nil {
		return out, false, err
	}
	hash := ""
	if key != "" {
		if err := state.CheckID("a new schedule", key); err != nil {
			return out, false, err
		}
		data, err := json.Marshal(in)
		if err != nil {
			return out, false, fmt.Errorf("%w: %w", state.ErrInvalid, err)
		}
		sum := sha256.Sum256(data)
		hash = hex.EncodeToString(sum[:])
		if was, found := s.keyed(by, key); found {
			return s.repeated(was, hash)
		}
	}
	now := s.now().UTC().Truncate(time.Second)
	if _, err := whenOf(in, now); err != nil {
		return out, false, err
	}
	if o := in.Overlap; o != "" && !slices.Contains(o.Values(), string(o)) {
		return out, false, state.About("overlap", fmt.Errorf("%w: overlap is skip or queue", state.ErrInvalid))
	}
	if err := s.jobs.CheckNew(ctx, in.Job, by); err != nil {
		return out, false, err
	}
	if in.Overlap == "" {
		in.Overlap = wire.OverlapSkip
	}
	r := record{ID: newID(), New: in, By: by, Key: key, Hash: hash, CreatedAt: now, Status: wire.ScheduleActive, Settled: now}
	was, found, err := s.put(r)
	if found || err != nil {
		if found {
			return s.repeated(was, hash)
		}
		return out, false, err
	}
	return s.shown(r), true, nil
}

// put adds a record, unless its key made one meanwhile.
func (s *Schedules) put(r record) (was record, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, found := s.withKey(r.By, r.Key); found {
		return was, true, nil
	}
	if len(s.all) >= Most {
		return was, false, fmt.Errorf("%w: there are %d schedules, which is the most: delete one first", state.ErrConflict, Most)
	}
	return was, false, s.write(append(slices.Clone(s.all), r))
}

func newID() string {
	var id [6]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func (s *Schedules) keyed(by event.Actor, key string) (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.withKey(by, key)
}

// withKey needs mu.
func (s *Schedules) withKey(by event.Actor, key string) (record, bool) {
	i := slices.IndexFunc(s.all, func(r record) bool { return key != "" && r.Key == key && r.By.ID == by.ID })
	if i < 0 {
		return record{}, false
	}
	return s.all[i], true
}

func (s *Schedules) repeated(was record, hash string) (wire.Schedule, bool, error) {
	if was.Hash != hash {
		return wire.Schedule{}, false, fmt.Errorf("%w: this key made schedule %s of another request", state.ErrConflict, was.ID)
	}
	return s.shown(was), false, nil
}

// List lists the schedules, oldest first.
func (s *Schedules) List() ([]wire.Schedule, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	shown := make([]wire.Schedule, 0, len(all))
	for _, r := range all {
		shown = append(shown, s.shown(r))
	}
	return shown, nil
}

// Get returns one.
func (s *Schedules) Get(id string) (wire.Schedule, error) {
	if err := s.usable(); err != nil {
		return wire.Schedule{}, err
	}
	r, err := s.get(id)
	if err != nil {
		return wire.Schedule{}, err
	}
	return s.shown(r), nil
}

// Delete removes one. A job that it made goes on.
func (s *Schedules) Delete(id string) error {
	if err := s.usable(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.find(id)
	if err != nil {
		return err
	}
	return s.write(slices.Delete(slices.Clone(s.all), i, i+1))
}

// Pause pauses one. A job that it made goes on. One that is paused or has ended stays so.
func (s *Schedules) Pause(id string) (wire.Schedule, error) {
	return s.change(id, func(r *record) error {
		if r.Status == wire.ScheduleActive {
			r.Status, r.Reason = wire.SchedulePaused, ""
		}
		return nil
	})
}

// Resume continues a paused one: what was due meanwhile does not run.
func (s *Schedules) Resume(id string) (wire.Schedule, error) {
	return s.change(id, func(r *record) error {
		switch {
		case r.Status == wire.ScheduleEnded:
			return fmt.Errorf("%w: the schedule has ended: make a new one", state.ErrConflict)
		case r.Status == wire.ScheduleActive:
			return nil
		case !s.mayRun(r.By):
			return fmt.Errorf("%w: %s: delete the schedule and make a new one", state.ErrConflict, revoked(r.By))
		}
		r.Status, r.Reason, r.Settled = wire.ScheduleActive, "", s.now().UTC()
		return nil
	})
}

func (s *Schedules) change(id string, f func(*record) error) (wire.Schedule, error) {
	if err := s.usable(); err != nil {
		return wire.Schedule{}, err
	}
	r, err := s.update(id, f)
	if err != nil {
		return wire.Schedule{}, err
	}
	return s.shown(r), nil
}

// update replaces a record by what f makes of it, on the disk first.
func (s *Schedules) update(id string, f func(*record) error) (record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.find(id)
	if err != nil {
		return record{}, err
	}
	r := s.all[i]
	if err := f(&r); err != nil {
		return record{}, err
	}
	next := slices.Clone(s.all)
	next[i] = r
	return r, s.write(next)
}

// write needs mu.
func (s *Schedules) write(next []record) error {
	if err := s.file.Write(content{format, next}); err != nil {
		return fmt.Errorf("%w: %w", state.ErrUnavailable, err)
	}
	s.all = next
	s.changed.Ring()
	return nil
}

func (s *Schedules) get(id string) (record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.find(id)
	if err != nil {
		return record{}, err
	}
	return s.all[i], nil
}

// find needs mu.
func (s *Schedules) find(id string) (int, error) {
	i := slices.IndexFunc(s.all, func(r record) bool { return r.ID == id })
	if i < 0 {
		return 0, fmt.Errorf("%w: there is no schedule %q", state.ErrNotFound, id)
	}
	return i, nil
}

// shown is a schedule for clients.
func (s *Schedules) shown(r record) wire.Schedule {
	out := wire.Schedule{
		ScheduleID: r.ID, NewSchedule: r.New, Status: r.Status, Reason: r.Reason, RequestedBy: r.By.Name, CreatedAt: r.CreatedAt,
		Outcomes: append([]wire.ScheduleOutcome{}, r.Outcomes...),
	}
	if due := r.due(s.now()); r.Status == wire.ScheduleActive && !due.IsZero() {
		out.NextAt = &due
	}
	for i, o := range out.Outcomes {
		if o.JobID != "" {
			out.Outcomes[i].JobStatus = s.jobs.StatusOf(o.JobID)
		}
	}
	return out
}

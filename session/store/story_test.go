package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// story is a scripted use of a store. It runs once without a fault, and then with
// each kind of fault at its first file system call, at the second, and so on: see
// TestAStory….
type story struct {
	name string
	// options are those of the store. The teller adds the file system.
	options store.Options
	// before, if set, prepares the device without faults.
	before func(*teller)
	// tell is the script. Once the process is dead, its verbs do nothing.
	tell func(*teller)
	// steps are calls that the story must make, so that a kill comes before each of
	// them.
	steps []string
}

// teller runs a story and reports its promises to the oracle. It handles errors
// like a session: it retries if it may.
type teller struct {
	t       *testing.T
	ctx     context.Context
	oracle  *oracle
	disk    *memFS
	fs      *faultFS
	options store.Options
	cause   error // of the fault; nil without one
	gone    bool  // the process is dead
	broken  error // an error that the story causes; nil while there is none

	store    *store.Store
	recorder *store.Recorder
}

func newTeller(t *testing.T, s *story) *teller {
	p := &teller{t: t, ctx: context.Background(), oracle: newOracle(t), disk: newMemFS()}
	p.disk.births = true
	p.fs = &faultFS{FS: p.disk}
	p.options = s.options
	p.options.FS, p.options.BootID = p.fs, "boot-1"
	if s.before != nil {
		s.before(p)
		p.leave()
		p.fs.forget()
	}
	return p
}

// leave closes the logs that the story left open. The test examines the effect of a
// fault from outside.
func (p *teller) leave() {
	if p.store != nil {
		_ = p.store.Close()
	}
	if p.recorder != nil {
		_ = p.recorder.Close()
	}
	p.store, p.recorder = nil, nil
}

// try repeats do until it succeeds, and reports whether it did. A fault is
// temporary, so endless failure is a test failure unless the process is dead.
func (p *teller) try(what string, do func() error) bool {
	p.t.Helper()
	for range 600 { // a full device may stay full for some attempts, whose pauses grow
		if p.gone = p.gone || p.fs.died(); p.gone {
			return false
		}
		err := do()
		if err == nil {
			return true
		}
		p.named(what, err)
		p.wait(500 * time.Millisecond) // some problems end with time
	}
	require.Fail(p.t, "it did not recover", what)
	return false
}

// named requires that an error wraps its cause: the fault, or a sentinel error that
// callers check.
func (p *teller) named(what string, err error) {
	p.t.Helper()
	if errors.Is(err, errCrashed) {
		p.gone = true
		return
	}
	if errors.Is(p.cause, errHalf) && errors.Is(err, syscall.ENOSPC) {
		return
	}
	for _, known := range []error{p.cause, p.broken, journal.ErrBlocked, journal.ErrFrozen} {
		if known != nil && errors.Is(err, known) {
			return
		}
	}
	require.Fail(p.t, "an error without a known cause", "%s: %v", what, err)
}

// open opens the store.
func (p *teller) open() {
	p.t.Helper()
	p.try("open", func() (err error) {
		p.store, err = store.Open("/data", p.options)
		return err
	})
}

// close closes the store as cleanly as the device allows.
func (p *teller) close() {
	p.t.Helper()
	if p.gone || p.store == nil {
		return
	}
	if err := p.store.Close(); err != nil {
		p.named("close", err)
	}
	p.store = nil
}

// create creates a session.
func (p *teller) create() *store.Log {
	p.t.Helper()
	return p.createIn(func() (*store.Log, error) {
		return p.store.Create(p.ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	})
}

// record creates a session as a program without a hub does.
func (p *teller) record() *store.Log {
	p.t.Helper()
	p.try("open recorder", func() (err error) {
		p.recorder, err = store.OpenRecorder("/data", p.options)
		return err
	})
	return p.createIn(func() (*store.Log, error) {
		l, err := p.recorder.Create(p.ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
		if err != nil {
			return nil, err
		}
		return store.LogOf(l), nil
	})
}

func (p *teller) createIn(create func() (*store.Log, error)) (l *store.Log) {
	p.t.Helper()
	if p.try("create", func() (err error) { l, err = create(); return err }) {
		p.oracle.created = append(p.oracle.created, l.ID())
	}
	return l
}

// log opens the n-th session of the story.
func (p *teller) log(n int) (l *store.Log) {
	p.t.Helper()
	p.try("open log", func() (err error) {
		l, err = p.store.Log(p.ctx, p.oracle.created[n])
		return err
	})
	if l != nil {
		p.look(l)
	}
	return l
}

// append appends drafts with one call, and repeats it if the error says so.
func (p *teller) append(l *store.Log, drafts ...event.Draft) {
	p.t.Helper()
	p.try("append", func() error {
		first, last, err := l.Append(p.ctx, drafts...)
		if errors.Is(err, journal.ErrFrozen) {
			p.oracle.look(l) // visible events must stay visible
			if err := l.Reopen(p.ctx); err != nil {
				p.named("reopen", err)
			}
			return err
		}
		if err != nil {
			return err
		}
		require.Equal(p.t, len(drafts)-1, int(last-first))
		p.acknowledged(l, first, drafts...)
		p.oracle.look(l)
		return nil
	})
}

// acknowledged records the events of one append.
func (p *teller) acknowledged(l *store.Log, first event.Seq, drafts ...event.Draft) {
	durable := p.options.Durability == store.Strict
	for _, d := range drafts {
		durable = durable || d.Type.Durable()
	}
	for i, d := range drafts {
		id := identity{l.ID(), l.Epoch(), first + event.Seq(i)}
		p.oracle.acked[id] = string(d.Data)
		p.oracle.durable[id] = durable
	}
}

// messages appends n messages one by one.
func (p *teller) messages(l *store.Log, n int) {
	p.t.Helper()
	for i := range n {
		p.append(l, message(fmt.Sprintf("text %d %s", i, strings.Repeat("x", 120))))
	}
}

// say changes a session's metadata in memory.
func (p *teller) say(l *store.Log, change func(*journal.Metadata)) {
	if p.gone {
		return
	}
	if p.oracle.said[l.ID()] == nil {
		p.oracle.said[l.ID()] = []given{{}}
	}
	l.UpdateMetadata(change)
	p.oracle.said[l.ID()] = append(p.oracle.said[l.ID()], givenOf(l.Metadata()))
}

// flush writes the metadata.
func (p *teller) flush(l *store.Log) {
	p.t.Helper()
	p.try("flush", func() error {
		err := l.FlushMetadata(p.ctx)
		if errors.Is(err, journal.ErrFrozen) {
			if err := l.Reopen(p.ctx); err != nil {
				p.named("reopen", err)
			}
		}
		if err == nil && p.oracle.said[l.ID()] != nil {
			p.oracle.said[l.ID()] = []given{givenOf(l.Metadata())}
		}
		return err
	})
}

// blob stores data beside the log.
func (p *teller) blob(l *store.Log, data string) (b event.Blob) {
	p.t.Helper()
	if p.try("put blob", func() (err error) { b, err = l.PutBlob(p.ctx, "text/plain", []byte(data)); return err }) {
		if p.oracle.kept[l.ID()] == nil {
			p.oracle.kept[l.ID()] = map[string]string{}
		}
		p.oracle.kept[l.ID()][b.SHA256] = data
	}
	return b
}

// upload records the name of an uploaded blob.
func (p *teller) upload(l *store.Log, b event.Blob, name string) {
	p.t.Helper()
	a := event.Attachment{Name: name, MediaType: "text/plain", Bytes: b.Bytes, SHA256: b.SHA256}
	if p.try("note upload", func() error { return l.NoteUpload(p.ctx, a, time.Time{}) }) {
		p.oracle.uploads[l.ID()] = append(p.oracle.uploads[l.ID()], a)
	}
}

// retain removes the oldest files of a log, if the device allows it.
func (p *teller) retain(l *store.Log, bytes int64) {
	p.t.Helper()
	if p.gone {
		return
	}
	p.oracle.removes[l.ID()] = true
	if _, err := l.Retain(p.ctx, bytes); err != nil {
		p.named("retain", err)
	}
	p.oracle.look(l)
}

// remove deletes a session. If a fault interrupts the call, the session may exist
// or not.
func (p *teller) remove(l *store.Log) {
	p.t.Helper()
	if p.gone {
		return
	}
	p.oracle.deletes[l.ID()] = false
	if err := p.store.Delete(p.ctx, l.ID()); err != nil {
		p.named("delete", err)
		return
	}
	p.oracle.deletes[l.ID()] = true
}

// also makes the calls that hits selects fail with cause, as part of the story. A
// nil cause ends that.
func (p *teller) also(hits func(op, name string) bool, cause error) {
	p.broken = cause
	p.fs.also(func(op, name string) error {
		if cause != nil && hits(op, name) {
			return cause
		}
		return nil
	})
}

// refused requires that one append to a log fails.
func (p *teller) refused(l *store.Log, want error) {
	p.t.Helper()
	p.refusedDraft(l, prompt("refused"), want)
}

func (p *teller) refusedDraft(l *store.Log, d event.Draft, want error) {
	p.t.Helper()
	if p.gone {
		return
	}
	first, _, err := l.Append(p.ctx, d)
	if err == nil && p.cause != nil { // the fault hid the problem from the store
		p.acknowledged(l, first, d)
		p.oracle.look(l)
		return
	}
	require.Error(p.t, err)
	if p.cause == nil {
		require.ErrorIs(p.t, err, want)
	}
	p.named("append", err)
	p.oracle.look(l)
}

// look records the visible events of a log.
func (p *teller) look(l *store.Log) {
	if !p.gone {
		p.oracle.look(l)
	}
}

// closeRecorder ends the program without a hub.
func (p *teller) closeRecorder() {
	p.t.Helper()
	if p.gone {
		return
	}
	if err := p.recorder.Close(); err != nil {
		p.named("close recorder", err)
	}
	p.recorder = nil
}

// repair repairs the whole directory.
func (p *teller) repair() {
	p.t.Helper()
	p.try("repair", func() error { _, err := store.Repair(p.ctx, "/data", "", p.options); return err })
}

// check checks the whole directory.
func (p *teller) check() {
	p.t.Helper()
	p.try("check", func() error {
		s, err := store.Open("/data", p.options)
		if err != nil {
			return err
		}
		_, err = s.Check(p.ctx, "")
		return errors.Join(err, s.Close())
	})
}

// wait lets time pass in the bubble.
func (p *teller) wait(d time.Duration) {
	if !p.gone {
		time.Sleep(d)
	}
}

// spoil changes a file of the first session while the session is closed.
func (p *teller) spoil(name string, change func([]byte) []byte) {
	p.t.Helper()
	p.disk.change(filepath.Join("/data/sessions", p.oracle.created[0], name), change)
}

// edit changes a file of the first session like a person, with a newer time.
func (p *teller) edit(name string, change func([]byte) []byte) {
	p.t.Helper()
	p.disk.edit(filepath.Join("/data/sessions", p.oracle.created[0], name), change)
}

// acked returns the highest acknowledged seq of a session.
func (p *teller) acked(id string) (last event.Seq) {
	for known := range p.oracle.acked {
		if known.session == id {
			last = max(last, known.seq)
		}
	}
	return last
}

// list requires that the list shows every session, including unreadable ones.
func (p *teller) list() {
	p.t.Helper()
	if !p.gone {
		p.oracle.listed(p.store)
	}
}

// fault is one kind of fault.
type fault struct {
	name  string
	cause error
	hits  func(op string) bool // possible calls
	step  string               // the only possible step; empty for any
	calls int                  // number of failing calls in a row
}

// writes reports whether a call needs space on the device.
func writes(op string) bool { return op == "create" || op == "write" || op == "mkdir" }

func anyCall(string) bool { return true }

// faults are the faults that every story must survive. The first one kills the
// process: its files are then examined as after a kill and as after several power
// cuts.
var faults = []fault{
	{name: "the end", cause: errCrashed, hits: anyCall, calls: 1},
	{name: "EIO", cause: syscall.EIO, hits: anyCall, calls: 1},
	{name: "ENOSPC", cause: syscall.ENOSPC, hits: writes, calls: 1},
	{name: "a short write", cause: errHalf, hits: func(op string) bool { return op == "write" }, calls: 1},
	{name: "a full device", cause: syscall.ENOSPC, hits: writes, calls: 15},
}

// before is the fault at one step only.
func (f fault) before(step string) fault {
	f.step = step
	return f
}

// from starts the fault at its n-th possible call and stores the number of the
// first failed call in at.
func (f fault) from(n int, at *int) func(int, string, string) error {
	seen := 0
	return func(call int, op, name string) error {
		if !f.hits(op) || f.step != "" && stepOf(op, name) != f.step {
			return nil
		}
		if seen++; seen < n || seen >= n+f.calls {
			return nil
		}
		if *at == 0 {
			*at = call
		}
		return f.cause
	}
}

// stepNames match the parts of names that differ from run to run.
var stepNames = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^(\.new|\.deleted)-.*`), "$1"},
	{regexp.MustCompile(`^\d{8}-\d{6}-[a-z0-9]+$`), "session"},
	{regexp.MustCompile(`^events-\d+-\d+\.jsonl$`), "sealed"},
	{regexp.MustCompile(`^[0-9a-f]{64}$`), "blob"},
	{regexp.MustCompile(`^[0-9a-f]{64}\.[0-9a-f]{16}$`), "upload"},
	{regexp.MustCompile(`^[a-z]+(-\d+)?-at-\d+-[0-9a-f]{8}(\.tmp)?$`), "quarantined$2"},
	{regexp.MustCompile(`^incoming\..*\.tmp$`), "incoming"},
}

// stepOf names a call by its effect.
func stepOf(op, name string) string {
	name = filepath.Base(name)
	for _, s := range stepNames {
		name = s.from.ReplaceAllString(name, s.to)
	}
	return op + " " + name
}

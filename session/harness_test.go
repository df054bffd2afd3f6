package session_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/journal/memory"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/store"
)

// hub is a journal in use, with scripted agents.
type hub struct {
	t         *testing.T
	device    *memory.Device // nil if the journal is local files
	dir       string         // of the local files; empty if the journal is in memory
	workspace string
	agents    *agents
	journal   journal.Store
	store     *store.Store // the journal's, if it is local files
	manager   *session.Manager
	ended     func() error // closes the journal
	closed    bool
}

// hubOption changes how a hub is opened. Only a hub on files has store.Options.
type hubOption func(*session.Options, *store.Options)

// newHub starts a hub whose sessions are in memory.
func newHub(t *testing.T, options ...hubOption) *hub {
	t.Helper()
	return (&hub{t: t, device: memory.NewDevice()}).begin(options...)
}

// newDiskHub starts a hub whose sessions are local files, for tests that look at the
// files, harm them, or make the file system fail.
func newDiskHub(t *testing.T, options ...hubOption) *hub {
	t.Helper()
	return (&hub{t: t, dir: t.TempDir()}).begin(options...)
}

func (h *hub) begin(options ...hubOption) *hub {
	h.t.Helper()
	h.workspace, h.agents = h.t.TempDir(), newAgents()
	h.open(options...)
	h.t.Cleanup(h.close)
	return h
}

// open starts a hub on its journal.
func (h *hub) open(options ...hubOption) {
	h.t.Helper()
	so := session.Options{
		Agents:           []settings.Agent{{Name: "fake"}},
		DefaultWorkspace: h.workspace,
		StartAgent:       h.agents.start,
		Strict:           true,
		Queue:            settings.Queue{MaxSize: 1000, ContinueInterrupted: true},
	}
	// With a wrapped FS the store does not watch the directory for other processes.
	// A watcher would stop the time of a synctest bubble.
	plain := store.Options{FS: struct{ store.FS }{store.OS()}}
	to := plain
	for _, o := range options {
		o(&so, &to)
	}
	if h.device != nil {
		require.Equal(h.t, plain, to, "an option of files needs newDiskHub")
		st := h.device.Open()
		h.journal, h.ended = st, st.Close
	} else {
		st, err := store.Open(h.dir, to)
		require.NoError(h.t, err)
		h.store, h.journal, h.ended = st, st.Journal(), st.Close
	}
	if wrapped, ok := so.Store.(*wrappedStore); ok {
		wrapped.Store = h.journal
		h.journal = wrapped
	}
	so.Store = h.journal
	m, err := session.NewManager(so)
	require.NoError(h.t, err)
	h.manager, h.closed = m, false
}

// close stops the hub cleanly and checks its files, if it has any.
func (h *hub) close() {
	h.t.Helper()
	if h.closed {
		return
	}
	h.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(h.t, h.manager.Close(ctx))
	require.NoError(h.t, h.ended())
	h.check()
}

// check verifies the data directory, if there is one.
func (h *hub) check() {
	h.t.Helper()
	if h.device != nil {
		return
	}
	report, err := store.Check(context.Background(), h.dir, "")
	require.NoError(h.t, err)
	require.Empty(h.t, report.Problems)
}

// copyOf starts another hub on a copy of the sessions, as a kill -9 at this moment
// would leave them.
func (h *hub) copyOf(t *testing.T, options ...hubOption) *hub {
	t.Helper()
	c := &hub{t: t, workspace: h.workspace, agents: newAgents()}
	if h.device != nil {
		c.device = h.device.Copy()
	} else {
		c.dir = t.TempDir()
		copyDir(t, h.dir, c.dir)
	}
	c.open(options...)
	t.Cleanup(c.close)
	return c
}

// copyDir makes a consistent copy of a directory that programs may be writing to.
func copyDir(t require.TestingT, from, to string) {
	for deadline := time.Now().Add(patience); ; {
		before := stamps(t, from)
		copyFiles(t, from, to)
		if before == stamps(t, from) {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s never rests", from)
		require.NoError(t, os.RemoveAll(to))
		require.NoError(t, os.Mkdir(to, 0o700))
	}
}

// stamps returns a text that changes when a file of the directory changes.
func stamps(t require.TestingT, dir string) string {
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano(), info.Sys().(*syscall.Stat_t).Ino)
			}
		}
		if os.IsNotExist(err) {
			return nil // a temporary file that was renamed meanwhile
		}
		return err
	}))
	return all.String()
}

func copyFiles(t require.TestingT, from, to string) {
	entries, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, e := range entries {
		src, dst := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			require.NoError(t, os.MkdirAll(dst, 0o700))
			copyFiles(t, src, dst)
			continue
		}
		data, err := os.ReadFile(src)
		if os.IsNotExist(err) {
			continue // a temporary file that was renamed meanwhile
		}
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dst, data, 0o600))
	}
}

func ctxOf(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (h *hub) create() *session.BackgroundSession {
	h.t.Helper()
	b, err := h.manager.Create(ctxOf(h.t), session.CreateRequest{Actor: person("ann")})
	require.NoError(h.t, err)
	return b
}

func (h *hub) session(id string) *session.BackgroundSession {
	h.t.Helper()
	b, err := h.manager.Session(ctxOf(h.t), id)
	require.NoError(h.t, err)
	return b
}

func ask(id string) session.PromptRequest {
	return session.PromptRequest{PromptID: id, Text: "do " + id, Actor: person("ann")}
}

func prompt(t *testing.T, b *session.BackgroundSession, id string) session.PromptResult {
	t.Helper()
	result, err := b.Prompt(ctxOf(t), ask(id))
	require.NoError(t, err)
	return result
}

// busy creates a session whose agent works on prompt-000.
func (h *hub) busy() (*session.BackgroundSession, *fakeAgent) {
	h.t.Helper()
	b := h.create()
	require.Equal(h.t, queue.Received, prompt(h.t, b, promptID(0)).Outcome)
	a := h.agents.next(h.t)
	require.Equal(h.t, promptID(0), receive(h.t, a.prompts, "the agent got no prompt").PromptID)
	await(h.t, b, "prompting", func(s session.State) bool { return s.Turn.State == session.TurnPrompting })
	return b, a
}

// events reads the whole log.
func events(t require.TestingT, b *session.BackgroundSession) []event.Event {
	var all []event.Event
	after := event.Seq(0)
	for {
		batch, err := b.Log().ReadAfter(context.Background(), after, 1<<20)
		require.NoError(t, err)
		if batch.Empty() {
			return all
		}
		list, err := batch.Events()
		require.NoError(t, err)
		all = append(all, list...)
		after = batch.Last
	}
}

// payloads returns the payloads of one type in a log.
func payloads[P event.Payload](t require.TestingT, b *session.BackgroundSession) []P {
	var list []P
	for _, e := range events(t, b) {
		p, err := e.Payload()
		require.NoError(t, err)
		if p, ok := p.(P); ok {
			list = append(list, p)
		}
	}
	return list
}

// await waits until a state of the session satisfies ok.
func await(t *testing.T, b *session.BackgroundSession, what string, ok func(session.State) bool) session.State {
	t.Helper()
	deadline := time.After(patience)
	for {
		changed := b.StateChanged()
		if s := b.State(); ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(t, "state never came", "%s; it is %+v", what, b.State())
		}
	}
}

func idle(s session.State) bool { return s.Turn.State == session.TurnIdle }

func awaitIdle(t *testing.T, b *session.BackgroundSession) session.State {
	t.Helper()
	return await(t, b, "idle", idle)
}

// requireLawful checks the invariants of every log: each turn has one prompt and at
// most one end, each request at most one outcome, and no prompt appears twice. With
// allClosed, no turn or request may be open.
func requireLawful(t require.TestingT, b *session.BackgroundSession, allClosed bool) {
	prompts, ends := map[string]int{}, map[string]int{}
	asked, settled := map[string]int{}, map[string]int{}
	open := ""
	for _, e := range events(t, b) {
		p, err := e.Payload()
		require.NoError(t, err)
		switch p := p.(type) {
		case event.UserPrompt:
			require.Empty(t, open, "seq %d: a turn began inside another", e.Seq)
			prompts[p.PromptID]++
			open = p.PromptID
		case event.TurnEnd:
			require.Equal(t, open, p.PromptID, "seq %d: an end without its turn", e.Seq)
			ends[p.PromptID]++
			open = ""
		case event.PermissionRequest:
			asked[p.PermissionID]++
		case event.PermissionOutcome:
			require.Equal(t, 1, asked[p.PermissionID], "seq %d: an outcome without its request", e.Seq)
			settled[p.PermissionID]++
		}
	}
	for id, n := range prompts {
		require.Equal(t, 1, n, "prompt %s is in the log more than once", id)
		require.LessOrEqual(t, ends[id], 1, "turn of %s ended more than once", id)
	}
	for id, n := range settled {
		require.Equal(t, 1, n, "request %s has more than one outcome", id)
	}
	if allClosed {
		require.Empty(t, open, "a turn is open")
		require.Len(t, settled, len(asked), "a request is open")
	}
}

// shape lists the types of a log's events, to compare their order.
func shape(t require.TestingT, b *session.BackgroundSession) []string {
	var list []string
	for _, e := range events(t, b) {
		name := string(e.Type)
		if p, err := e.Payload(); err == nil {
			switch p := p.(type) {
			case event.TurnEnd:
				name += ":" + string(p.StopReason)
			case event.PermissionOutcome:
				name += ":" + string(p.Outcome)
			case event.ToolCallUpdate:
				name += ":" + string(p.Status)
			}
		}
		list = append(list, fmt.Sprintf("%s/%d", name, e.Turn))
	}
	return list
}

// openManager opens a hub's journal in memory and returns the error, if any.
func openManager(t *testing.T, h *hub) (*session.Manager, error) {
	t.Helper()
	st := h.device.Open()
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return session.NewManager(session.Options{
		Store: st, StartAgent: h.agents.start, Strict: true, Agents: []settings.Agent{{Name: "fake"}}, DefaultWorkspace: h.workspace,
	})
}

// person returns an actor with a credential of the same name.
func person(name string) event.Actor { return event.Actor{Name: name, ID: "id-" + name} }

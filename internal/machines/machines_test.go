package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// fakeHub is a machine's hub that serves with a handler.
type fakeHub struct {
	bell    bell.Bell
	mu      sync.Mutex
	version uint64
	rows    []state.Info
	gone    []string
	logs    map[string]journal.Log
	serve   func(http.ResponseWriter, *http.Request, Caller, Allow)
}

func (f *fakeHub) Serve(w http.ResponseWriter, r *http.Request, by Caller, a Allow, live func() error) {
	f.serve(w, r, by, a)
}

func (f *fakeHub) ChangesSince(v uint64) ([]state.Info, []string, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v == f.version {
		return nil, nil, v
	}
	return f.rows, f.gone, f.version
}

func (f *fakeHub) Changed() <-chan struct{} { return f.bell.Listen() }

func (f *fakeHub) Open(_ context.Context, id string) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if log := f.logs[id]; log != nil {
		return fakeSession{log}, nil
	}
	return nil, state.ErrNotFound
}

// fakeSession is a log whose state is its last seq.
type fakeSession struct{ log journal.Log }

func (f fakeSession) Log() journal.Log { return f.log }

func (f fakeSession) State() ([]byte, error) {
	return []byte(fmt.Sprintf(`{"at_seq":%d}`, f.log.Marks().Visible)), nil
}

func (f fakeSession) StateChanged() <-chan struct{} { return f.log.Changed() }

func (f fakeSession) Done() <-chan struct{} { return nil }

func (f *fakeHub) set(rows []state.Info, gone ...string) {
	f.mu.Lock()
	f.version++
	f.rows, f.gone = rows, gone
	f.mu.Unlock()
	f.bell.Ring()
}

const machineID, homeID = "00000000000000aa", "00000000000000bb"

// pair is a home behind a server, and a machine that may join it.
type pair struct {
	t      *testing.T
	dir    string // of home
	home   *Home
	server *httptest.Server
	answer atomic.Pointer[http.Handler] // what answers home's address, if it is not home
	hub    *fakeHub
	member *Member
	stop   context.CancelFunc
	done   chan struct{}
	// through is what each connection of the machine passes through at home, if set.
	through func(net.Conn) net.Conn
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newPair(t *testing.T) *pair { return newPairOf(t, HomeOptions{Logger: discard()}) }

func newPairOf(t *testing.T, o HomeOptions) *pair {
	return newPairWith(t, o, MemberOptions{Most: 50 * time.Millisecond})
}

func newPairWith(t *testing.T, o HomeOptions, of MemberOptions) *pair {
	p := &pair{t: t, hub: &fakeHub{}, dir: t.TempDir()}
	var err error
	o.Dir, o.ID, o.Silence = p.dir, homeID, patience
	p.home, err = OpenHome(o)
	require.NoError(t, err)
	p.server = httptest.NewServer(http.HandlerFunc(p.serveHome))
	t.Cleanup(p.server.Close)
	t.Cleanup(p.home.Close)
	of.Dir, of.ID, of.Run, of.Logger, of.Silence = t.TempDir(), machineID, "r1", discard(), patience
	p.member, err = OpenMember(of)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.done = stop, make(chan struct{})
	go func() { defer close(p.done); p.member.Run(ctx, p.hub) }()
	t.Cleanup(func() { stop(); <-p.done })
	return p
}

// serveHome is what package server does for machines.
func (p *pair) serveHome(w http.ResponseWriter, r *http.Request) {
	if answer := p.answer.Load(); answer != nil {
		(*answer).ServeHTTP(w, r)
		return
	}
	refuse := func(status int, err error) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(wire.Refused{Error: wire.Refusal{Message: err.Error()}})
	}
	if r.URL.Path == joinPath {
		var in wire.Join
		json.NewDecoder(r.Body).Decode(&in)
		secret, _, err := p.home.Join(in.Code, Joining{ID: in.ID, Name: in.Name, Allow: Allow(in.Allow)})
		if err != nil {
			refuse(http.StatusConflict, err)
			return
		}
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(wire.Joined{Secret: secret})
		return
	}
	m, known := p.home.Known(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !known {
		refuse(http.StatusUnauthorized, errors.New("unknown"))
		return
	}
	c, err := p.home.Admit(m.ID, r.Header.Get(RunHeader))
	if err != nil {
		refuse(http.StatusConflict, err)
		return
	}
	w.Header().Set(TicketHeader, c.Ticket)
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Subprotocol}})
	if err != nil {
		c.Drop()
		return
	}
	conn := Carried(context.Background(), socket)
	if p.through != nil {
		conn = p.through(conn)
	}
	c.Run(r.Context(), conn)
}

func (p *pair) join(allow Allow) {
	p.t.Helper()
	code, _, err := p.home.NewLink()
	require.NoError(p.t, err)
	require.NoError(p.t, p.member.Join(p.t.Context(), Link(p.server.URL, code), "laptop", allow, ""))
	p.until(func(m Machine) bool { return m.Connected })
}

const patience = time.Minute

func (p *pair) until(is func(Machine) bool) Machine {
	p.t.Helper()
	limit := time.After(patience)
	for {
		changed := p.home.Changed()
		if m, err := p.home.Machine(machineID); err == nil && is(m) {
			return m
		}
		select {
		case <-changed:
		case <-limit:
			s, _ := p.member.Status()
			require.Fail(p.t, "the machine is not so", "%+v %+v", p.home.Machines(), s)
		}
	}
}

func lineOf(id string) state.Info {
	return state.Info{SessionID: id, UpdatedAt: time.Unix(int64(200-id[len(id)-1]), 0).UTC()}
}

const (
	idA = "20261129-000000-0000000a"
	idB = "20261129-000000-0000000b"
)

// linesUntil waits until the home's lines are those.
// lines are the lines of the machines' sessions at home.
func (p *pair) lines() (all []state.Info) {
	lines := p.home.Lines()
	for i := range lines.Len() {
		if line, listed := lines.Line(i); listed {
			all = append(all, line)
		}
	}
	return all
}

func (p *pair) linesUntil(ids ...string) {
	p.t.Helper()
	limit := time.After(patience)
	for {
		changed := p.home.LinesChanged()
		var got []string
		for _, line := range p.lines() {
			require.Equal(p.t, machineID, line.Machine.ID)
			got = append(got, line.SessionID)
		}
		if fmt.Sprint(got) == fmt.Sprint(ids) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			require.Equal(p.t, ids, got)
		}
	}
}

func TestAMachineJoinsAndItsRowsStayWhileItIsAway(t *testing.T) {
	p := newPair(t)
	p.hub.set([]state.Info{lineOf(idA), lineOf(idB)})
	p.join(AllowRead)
	p.linesUntil(idA, idB)
	_, line, known := p.home.Of(idA)
	require.True(t, known)
	require.Equal(t, state.MachineConnected, line.Machine.State)
	p.hub.set(nil, idB)
	p.linesUntil(idA)
	p.stop()
	m := p.until(func(m Machine) bool { return !m.Connected })
	require.NotZero(t, m.Since)
	_, line, _ = p.home.Of(idA)
	require.Equal(t, state.MachineAway, line.Machine.State)
	require.NoError(t, p.home.Forget(machineID))
	require.Empty(t, p.lines())
}

func TestForgettingEndsTheConnectionAndTheAccess(t *testing.T) {
	p := newPair(t)
	p.join(AllowAct)
	require.NoError(t, p.home.Forget(machineID))
	limit := time.After(patience)
	for {
		changed := p.member.Changed()
		if s, _ := p.member.Status(); strings.Contains(s.Problem, "unknown") {
			return
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			require.Fail(t, "it is not refused")
		}
	}
}

func TestACallRunsAtTheMachineAndItsAnswerComesInParts(t *testing.T) {
	p := newPair(t)
	p.hub.serve = func(w http.ResponseWriter, r *http.Request, by Caller, a Allow) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Set-Cookie", "x=y")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s %s ", r.Method, r.URL, by.Name, a)
		io.Copy(w, r.Body)
	}
	p.join(AllowAct)
	for _, size := range []int{0, 10, partBytes - 1, partBytes, partBytes + 1, 5*partBytes + 7} {
		body := strings.Repeat("b", size)
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/api/x?y=z", strings.NewReader(body))
		require.NoError(t, p.home.Call(w, r, machineID, Caller{Name: "ann"}))
		require.Equal(t, http.StatusAccepted, w.Code)
		require.Empty(t, w.Header().Get("Set-Cookie"))
		require.Equal(t, "POST /api/x?y=z ann act "+body, strings.Replace(w.Body.String(), "http://home", "", 1))
	}
}

func TestACallEndsWithItsCallerAndWithTheConnection(t *testing.T) {
	p := newPair(t)
	ended, begun := make(chan error, 2), make(chan struct{}, 2)
	p.hub.serve = func(w http.ResponseWriter, r *http.Request, by Caller, a Allow) {
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- r.Context().Err()
	}
	p.join(AllowAct)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 2)
	go func() {
		failed <- p.home.Call(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil), machineID, Caller{})
	}()
	<-begun
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.Error(t, <-ended)
	go func() {
		failed <- p.home.Call(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), machineID, Caller{})
	}()
	<-begun
	p.stop()
	require.ErrorIs(t, <-failed, ErrOpen)
	require.Error(t, <-ended)
	p.until(func(m Machine) bool { return !m.Connected })
	require.ErrorIs(t, p.home.Call(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), machineID, Caller{}), ErrAway)
}

// newLog is a machine's log, in dir, with a session of its own.
func (p *pair) newLog(dir string) (id string, log journal.Log) {
	p.t.Helper()
	s, err := store.Open(dir, store.Options{SegmentBytes: 20_000})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { s.Close() })
	id, err = s.Journal().Create(p.t.Context(), event.SessionStart{Agent: "fake"})
	require.NoError(p.t, err)
	lease, err := s.Journal().Lease(p.t.Context(), id)
	require.NoError(p.t, err)
	log, err = lease.Log(p.t.Context())
	require.NoError(p.t, err)
	p.hub.mu.Lock()
	p.hub.logs = map[string]journal.Log{id: log}
	p.hub.mu.Unlock()
	return id, log
}

func (p *pair) write(log journal.Log, text string) event.Seq {
	p.t.Helper()
	_, last, err := log.Append(p.t.Context(), 0, event.Draft{Type: event.TypeNote, Time: time.Now(), Data: []byte(fmt.Sprintf(`{"text":%q}`, text))})
	require.NoError(p.t, err)
	return last
}

// upTo waits until home's copy has a seq.
func (p *pair) upTo(id string, seq event.Seq) *Copied {
	p.t.Helper()
	limit := time.After(patience)
	for {
		c, err := p.home.Watch(id)
		require.NoError(p.t, err)
		changed := c.Log().Changed()
		if c.Log().Marks().Visible >= seq {
			return c
		}
		select {
		case <-changed:
		case <-c.Done():
		case <-limit:
			require.Fail(p.t, "the copy does not grow", "%d of %d", c.Log().Marks().Visible, seq)
		}
	}
}

// The connection is cut while the machine writes: the copy has no gap, nothing twice, and the
// machine's bytes in the machine's files.
func TestACopyIsTheMachinesBytesWhereverTheConnectionIsCut(t *testing.T) {
	p := newPair(t)
	dir := t.TempDir()
	id, log := p.newLog(dir)
	p.hub.set([]state.Info{lineOf(id)})
	p.join(AllowRead)
	p.linesUntil(id)
	c := p.upTo(id, 1)
	last := event.Seq(0)
	for round := range 20 {
		for i := range 40 {
			last = p.write(log, fmt.Sprint("round ", round, " event ", i))
		}
		p.home.mu.Lock()
		l := p.home.links[machineID]
		p.home.mu.Unlock()
		if l != nil {
			l.end()
		}
	}
	require.Same(t, c, p.upTo(id, last))
	original, copied := filesOf(t, filepath.Join(dir, "sessions", id)), filesOf(t, filepath.Join(p.dir, "copies", machineID, id))
	require.Greater(t, len(original), 2, "it has several files")
	require.Equal(t, original, copied)
	require.Zero(t, p.until(func(m Machine) bool { return true }).Refused)
}

// filesOf are the files of a log by name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "events*"))
	require.NoError(t, err)
	files := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		files[filepath.Base(name)] = string(data)
	}
	return files
}

// The machine lost events and has others in their place: home keeps what is equal, moves the
// rest away, and goes on with what the machine has.
func TestACopyFollowsAMachineThatLostEvents(t *testing.T) {
	p := newPair(t)
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "second")
	id, log := p.newLog(first)
	for i := range 10 {
		p.write(log, fmt.Sprint("kept ", i))
	}
	require.NoError(t, log.FlushMetadata(t.Context()))
	require.NoError(t, os.CopyFS(second, os.DirFS(first)))
	for i := range 5 {
		p.write(log, fmt.Sprint("lost ", i))
	}
	p.hub.set([]state.Info{lineOf(id)})
	p.join(AllowRead)
	p.linesUntil(id)
	old := p.upTo(id, log.Marks().Visible)

	s, err := store.Open(second, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	lease, err := s.Journal().Lease(t.Context(), id)
	require.NoError(t, err)
	other, err := lease.Log(t.Context())
	require.NoError(t, err)
	p.hub.mu.Lock()
	p.hub.logs[id] = other
	p.hub.mu.Unlock()
	p.write(other, "another")
	last := p.write(other, "one more")
	p.home.mu.Lock()
	l := p.home.links[machineID]
	p.home.mu.Unlock()
	l.end()
	select {
	case <-old.Done(): // its readers begin anew
	case <-time.After(patience):
		require.Fail(t, "the copy goes on")
	}
	p.upTo(id, last)
	require.Equal(t, filesOf(t, filepath.Join(second, "sessions", id)), filesOf(t, filepath.Join(p.dir, "copies", machineID, id)))
	kept, err := filepath.Glob(filepath.Join(p.dir, "copies", machineID, id, "quarantine", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, kept)
}

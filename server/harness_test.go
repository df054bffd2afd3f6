package server_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/internal/schedule"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// hub is a complete hub on a real listener, with a real store and real sessions.
// Its agents are puppets.
// listsOne is an agent with one session from before, in the folder that it is asked in.
func listsOne(_ context.Context, _, workspace, _, _ string) (session.PastPage, error) {
	return session.PastPage{
		Sessions: []session.PastSession{{AgentSessionID: "before", Folder: workspace, Title: "Before", UpdatedAt: time.Unix(1e9, 0)}}, Next: "next", LeftOut: 3,
	}, nil
}

type hub struct {
	t         *testing.T
	dir       string
	store     *store.Store
	registry  *auth.Registry
	manager   *session.Manager
	server    *server.Server
	schedules *schedule.Schedules
	door      *auth.Door
	log       *syncBuffer
	notify    *notify.Notifier
	addr      string
	token     string
	stop      func()
	logins    chan context.Context
	typing    *atomic.Int64
	machines  *machines.Home
	member    *machines.Member
}

type hubOptions struct {
	dir      string
	addr     string // empty is a new one
	timing   server.Timing
	limits   server.Limits
	jobs     jobs.Settings
	sessions settings.Limits
	sweep    time.Duration // interval of removing old uploads; zero is the default
	start    session.StartAgent
	queue    settings.Queue
	fs       store.FS
	tail     int           // bytes of each log kept in memory; zero is the default
	file     int64         // bytes at which a log gets a new file; zero is the default
	idle     time.Duration // how long an idle log keeps its memory; zero is the default
	listen   func(net.Listener) net.Listener
	now      func() time.Time // clock of the credentials; nil is time.Now
	notify   notify.Timing
	channels []notify.Channel
	public   bool          // the messages of channels link to the hub
	outgoing time.Duration // how long a request to a service may take; zero is the default
	// resolve looks up the names of services; nil is the system.
	resolve  func(context.Context, string) ([]netip.Addr, error)
	alone    bool              // do not poll for changes of credentials by other processes
	untold   bool              // nothing reads logs by itself: no notifier, no snapshots
	patience time.Duration     // how long a search waits for its turn; zero is the default
	files    *workspace.Files  // nil shows files without git
	follow   time.Duration     // how long a machine's session is followed after a look; zero is the default
	git      *gitstate.Git     // of acts on branches; nil does none
	states   *filestate.Keeper // keeps the files of turns; nil keeps none
}

func startHub(t *testing.T, o hubOptions) *hub {
	t.Helper()
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	if o.start == nil {
		o.start = startPuppet
	}
	since := time.Now()
	h := &hub{t: t, dir: o.dir, log: &syncBuffer{}, logins: make(chan context.Context, 100), typing: &atomic.Int64{}}
	logger := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	h.store, err = store.Open(o.dir, store.Options{Logger: logger, FS: o.fs, TailBytes: o.tail, SegmentBytes: o.file, IdleAfter: o.idle})
	require.NoError(t, err)
	h.registry, err = auth.Open(o.dir, logger, o.now)
	require.NoError(t, err)
	h.manager, err = session.NewManager(session.Options{
		MayRule: h.mayManage,
		Store:   h.store.Journal(), StartAgent: o.start, Logger: logger, Queue: o.queue, Limits: o.sessions, Now: o.now, SweepEvery: o.sweep, SearchPatience: o.patience,
		Strict: true, SaveNothing: o.untold, ListPast: listsOne, Git: o.git, States: o.states, UndoWait: patience,
		Agents: []settings.Agent{{Name: "puppet"}}, DefaultWorkspace: t.TempDir(),
	})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", cmp.Or(o.addr, "127.0.0.1:0"))
	require.NoError(t, err)
	h.addr = listener.Addr().String()
	if o.listen != nil {
		listener = o.listen(listener)
	}
	h.door = auth.NewDoor(h.registry, h.store.HubID())
	h.door.Names([]string{h.addr}, nil)
	base := ""
	if o.public {
		base = h.origin()
	}
	h.machines, err = machines.OpenHome(machines.HomeOptions{Dir: o.dir, ID: h.store.HubID(), Version: "test", Logger: logger, Now: o.now, Follow: o.follow, Silence: patience, Notifies: func() bool { return h.notify.Notifies() }, Has: func(id string) bool { _, has := h.store.Journal().Listed(id); return has }})
	require.NoError(t, err)
	h.member, err = machines.OpenMember(machines.MemberOptions{Dir: o.dir, ID: h.store.HubID(), Run: h.store.RunID(), Version: "test", Logger: logger, Most: 50 * time.Millisecond, Silence: patience})
	require.NoError(t, err)
	lines := &server.MachineLines{Home: h.machines}
	h.notify, err = notify.Open(notify.Options{
		Dir: o.dir, Manager: h.manager, Registry: h.registry, Since: since, Logger: logger, Timing: o.notify, Base: base, Now: o.now, Lines: lines, Quiet: h.member.HomeNotifies,
		Guard:    &outgoing.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Bound: o.outgoing, Resolve: o.resolve},
		Channels: append([]notify.Channel{{Name: "hook", Type: notify.Webhook, URL: "http://127.0.0.1:9/", Choice: notify.Choice{Events: []notify.Kind{}}}}, o.channels...),
	})
	require.NoError(t, err)
	runner := jobs.New(jobs.Options{Manager: h.manager, Settings: o.jobs, MayRun: func(by event.Actor) bool { return h.mayManage(by, "") }})
	h.schedules = schedule.Open(schedule.Options{
		Files: disk.Folder{Dir: o.dir}, Jobs: runner, Now: o.now, Logger: logger, MayRun: func(by event.Actor) bool { return h.mayManage(by, "") },
	})
	h.server, err = server.New(server.Options{Machines: h.machines, Member: h.member, Folders: anyFolder{}, Agents: anyAgent{h.logins, h.typing},
		Manager: h.manager, Jobs: runner, Schedules: h.schedules, Registry: h.registry, Door: h.door, Notify: h.notify, HubID: h.store.HubID(), Version: "test",
		App: fstest.MapFS{
			"index.html":             {Data: []byte("<!doctype html><title>app</title>")},
			"assets/app-1a2b3c4d.js": {Data: []byte("//" + string(bytes.Repeat([]byte("app "), 1000)))},
			"icon.svg":               {Data: []byte("<svg/>")},
		},
		Page: "index.html", Audit: audit.Open(o.dir), Logger: logger, Timing: o.timing, Limits: o.limits, Files: o.files,
	})
	require.NoError(t, err)
	lines.Server = h.server
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 4)
	go func() {
		if !o.untold {
			h.notify.Run(ctx)
		}
		served <- nil
	}()
	go func() { served <- h.server.Serve(ctx, listener) }()
	go func() {
		if !o.alone {
			h.registry.Run(ctx)
		}
		served <- nil
	}()
	go func() {
		h.member.Run(ctx, h.server.ForHome())
		served <- nil
	}()
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			cancel()
			for range 4 {
				require.NoError(t, <-served)
			}
			h.machines.Close()
			closing, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			require.NoError(t, h.manager.Close(closing))
			require.NoError(t, h.store.Close())
		})
	}
	t.Cleanup(h.stop)
	h.token = h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "owner"})
	return h
}

func (h *hub) mint(r auth.TokenRequest) string {
	h.t.Helper()
	token, _, err := h.registry.MintToken(r)
	require.NoError(h.t, err)
	return token
}

func (h *hub) origin() string { return "http://" + h.addr }

func (h *hub) session() *session.BackgroundSession {
	h.t.Helper()
	s, err := h.manager.Create(context.Background(), session.CreateRequest{})
	require.NoError(h.t, err)
	return s
}

// prompt prompts an idle session and waits until the end of the turn is in the log.
func (h *hub) prompt(s *session.BackgroundSession, id, text string) {
	h.t.Helper()
	cursor := s.Log().Marks().Visible
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: id, Text: text})
	require.NoError(h.t, err)
	end := h.await(s, cursor, event.TypeTurnEnd)
	require.Eventually(h.t, func() bool { return s.State().Turn.State == session.TurnIdle && s.State().AtSeq >= end.Seq }, patience, time.Millisecond)
}

// await waits for an event of the type after a cursor.
func (h *hub) await(s *session.BackgroundSession, cursor event.Seq, kind event.Type) event.Event {
	h.t.Helper()
	deadline := time.After(patience)
	for {
		changed := s.Log().Changed()
		batch, err := s.Log().ReadAfter(context.Background(), cursor, 1<<20)
		require.NoError(h.t, err)
		events, err := batch.Events()
		require.NoError(h.t, err)
		for _, e := range events {
			cursor = e.Seq
			if e.Type == kind {
				return e
			}
		}
		if !batch.Empty() {
			continue
		}
		select {
		case <-changed:
		case <-deadline:
			h.t.Fatalf("no %s came", kind)
		}
	}
}

// events returns the events in the log.
func (h *hub) events(s *session.BackgroundSession) []event.Event {
	h.t.Helper()
	var all []event.Event
	for cursor := event.Seq(0); ; {
		batch, err := s.Log().ReadAfter(context.Background(), cursor, 1<<20)
		require.NoError(h.t, err)
		if batch.Empty() {
			return all
		}
		events, err := batch.Events()
		require.NoError(h.t, err)
		all = append(all, events...)
		cursor = batch.Last
	}
}

func (h *hub) mayManage(by event.Actor, id string) bool {
	return h.registry.May(by, auth.Manage, id) || h.member.MayManage(by)
}

type response struct {
	status int
	header http.Header
	body   string
}

// api sends a request with the owner's token.
func (h *hub) api(method, path string, body any) response {
	h.t.Helper()
	return h.do(method, path, body, http.Header{"Authorization": {"Bearer " + h.token}})
}

// do sends a request with the given headers and, if it has a body, a Content-Type.
func (h *hub) do(method, path string, body any, header http.Header) response {
	h.t.Helper()
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		require.NoError(h.t, err)
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, h.origin()+path, content)
	require.NoError(h.t, err)
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	if body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return response{res.StatusCode, res.Header, string(data)}
}

func (r response) decode(t *testing.T, to any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(to), r.body)
}

func (r response) code(t *testing.T) string {
	t.Helper()
	var e struct {
		Error struct {
			Code    string
			Message string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &e), r.body)
	require.NotEmpty(t, e.Error.Message)
	return e.Error.Code
}

// peer is the client's end of a socket.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
	ctx  context.Context
}

// dial opens a socket with the owner's token and reads its connected frame.
func (h *hub) dial(path string) *peer {
	h.t.Helper()
	return h.dialAs(path, http.Header{"Authorization": {"Bearer " + h.token}})
}

func (h *hub) dialAs(path string, header http.Header) *peer {
	h.t.Helper()
	p, status, err := h.tryDial(path, header)
	require.NoError(h.t, err)
	require.Equal(h.t, http.StatusSwitchingProtocols, status)
	expect[*wire.Connected](p)
	return p
}

func (h *hub) tryDial(path string, header http.Header) (*peer, int, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience) // for all reads of this socket
	h.t.Cleanup(cancel)
	o := &websocket.DialOptions{HTTPHeader: header.Clone(), Subprotocols: []string{wire.Subprotocol}, Host: header.Get("Host"), HTTPClient: &http.Client{Transport: &http.Transport{}}}
	o.HTTPHeader.Del("Host")
	conn, res, err := websocket.Dial(ctx, "ws://"+h.addr+path, o)
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	if err != nil {
		return nil, status, err
	}
	conn.SetReadLimit(-1)
	h.t.Cleanup(func() { conn.CloseNow() })
	return &peer{t: h.t, conn: conn, ctx: ctx}, status, nil
}

func (p *peer) send(m wire.Message) {
	p.t.Helper()
	frame, err := wire.Encode(m)
	require.NoError(p.t, err)
	p.sendRaw(string(frame))
}

func (p *peer) sendRaw(frame string) {
	p.t.Helper()
	require.NoError(p.t, p.conn.Write(p.ctx, websocket.MessageText, []byte(frame)))
}

// next returns the next frame.
func (p *peer) next() wire.Message {
	p.t.Helper()
	_, data, err := p.conn.Read(p.ctx)
	require.NoError(p.t, err)
	m, err := wire.DecodeServer(data)
	require.NoError(p.t, err)
	return m
}

// expect returns the next frame, which must have type M.
func expect[M wire.Message](p *peer) M {
	p.t.Helper()
	m := p.next()
	typed, ok := m.(M)
	require.True(p.t, ok, "got %s %+v", m.MessageType(), m)
	return typed
}

// find returns the next frame of type M for which fits is true, and skips others.
func find[M wire.Message](p *peer, fits func(M) bool) M {
	p.t.Helper()
	for {
		if m, ok := p.next().(M); ok && (fits == nil || fits(m)) {
			return m
		}
	}
}

// closed reads until the socket ends and returns its close code.
func (p *peer) closed() websocket.StatusCode {
	p.t.Helper()
	for {
		if _, _, err := p.conn.Read(p.ctx); err != nil {
			require.NoError(p.t, p.ctx.Err(), "the socket was not closed")
			return websocket.CloseStatus(err)
		}
	}
}

// collect reads events of one session until seq last. It requires each event once,
// in order and without a gap.
func (p *peer) collect(cursor, last event.Seq) []event.Event {
	p.t.Helper()
	var all []event.Event
	for cursor < last {
		m := find[*wire.Events](p, nil)
		require.Equal(p.t, cursor+1, m.FirstSeq, "a gap or a repeated event")
		require.Equal(p.t, m.LastSeq, m.Events[len(m.Events)-1].Seq)
		require.GreaterOrEqual(p.t, m.MaxSeq, m.LastSeq)
		for _, e := range m.Events {
			first := e.Seq
			if e.FirstSeq > 0 {
				first = e.FirstSeq
			}
			require.Equal(p.t, cursor+1, first)
			cursor = e.Seq
		}
		all = append(all, m.Events...)
	}
	return all
}

func seqs(events []event.Event) string {
	if len(events) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d..%d (%d)", events[0].Seq, events[len(events)-1].Seq, len(events))
}

func ptr[T any](v T) *T { return &v }

// syncBuffer is a log output that may be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func mustSession(t *testing.T, h *hub, id string) *session.BackgroundSession {
	t.Helper()
	s, err := h.manager.Session(context.Background(), id)
	require.NoError(t, err)
	return s
}

// anyFolder is a server.Folders without a configuration.
type anyFolder struct{}

func (anyFolder) Fit(folder string) (string, error)   { return folder, nil }
func (anyFolder) Shown(path string) string            { return path }
func (anyFolder) Allow(folder string) (string, error) { return folder, nil }

// anyAgent is a server.AgentSetup without a configuration.
type anyAgent struct {
	logins chan context.Context // of the logins that were begun
	typing *atomic.Int64        // lines that are not read
}

func (anyAgent) List() (wire.AgentSetup, error) {
	return wire.AgentSetup{
		File:       "~/.config/abide/config.yaml",
		Configured: []wire.ConfiguredAgent{{Name: "fake", Title: "Fake", Command: "fake", Missing: "not found in PATH", SignIn: "Not needed."}},
		Known: []wire.KnownAgent{
			{Name: "here", Title: "Here", Command: []string{"here"}, Program: "/bin/here", Install: "npm install -g here", SignIn: "Run it once."},
			{Name: "fake", Title: "Fake", Command: []string{"fake"}, Install: "npm install -g fake", Configured: true},
		},
	}, nil
}

func (anyAgent) Add(_ context.Context, in wire.NewAgent) (wire.AddedAgent, error) {
	return wire.AddedAgent{Name: in.Name, Lines: "agents:\n  here: {command: [here]}\n", Check: &wire.AgentCheck{State: wire.CheckLogin}}, nil
}

func (anyAgent) Check(context.Context, string, string) (wire.AgentCheck, error) {
	return wire.AgentCheck{
		State: wire.CheckReady, Title: "Fake", Version: "1", Mode: "auto", AsksNothing: true, LogsOut: true, Answer: "hello", Error: "none", Stderr: "none",
		Methods: []wire.AuthMethod{{MethodID: "here", Name: "Here", Command: []string{"fake", "login"}}},
	}, nil
}

func (a anyAgent) LogIn(ctx context.Context, _ string, in wire.Login, until func(context.Context) context.Context) (wire.AgentLogin, error) {
	a.logins <- until(context.WithoutCancel(ctx))
	return wire.AgentLogin{MethodID: in.MethodID, Command: []string{"fake", "login"}, Text: "Code: ", Size: 6}, nil
}

func (anyAgent) Login(context.Context, string, int) (wire.AgentLogin, error) {
	return wire.AgentLogin{MethodID: "here", Text: "Code: ", Size: 6, Ended: true, Error: "it ended with exit code 1"}, nil
}

func (a anyAgent) TypeLogin(ctx context.Context, _, line string) error {
	if line == "nobody reads it" {
		a.typing.Add(1)
		<-ctx.Done()
		a.typing.Add(-1)
	}
	return ctx.Err()
}

func (anyAgent) EndLogin(string) error { return nil }

func (anyAgent) LogOut(context.Context, string) error { return nil }

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing/fstest"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/store"
)

// roleName is the variable that makes this program one of the servers that are
// measured, in a process of its own so that its share of the processor can be
// told from the clients'.
const roleName = "ABIDE_BENCH_ROLE"

// publisher is a server as a measurement drives it.
type publisher interface {
	// hello says how clients reach it.
	hello() greeting
	// publish sends one event with this data to every client, in order.
	publish(ctx context.Context, data []byte) error
	// last is the number of the event published last.
	last() int64
}

// greeting is the first line a server prints.
type greeting struct {
	Addr string `json:"addr"`
	// Request is the upgrade, whole; AFTER in it stands for the cursor.
	Request string `json:"request"`
	// Subscribe is sent in frames behind the upgrade.
	Subscribe []string `json:"subscribe"`
	Last      int64    `json:"last"`
	// Session and Epoch name the hub's session.
	Session string `json:"session,omitempty"`
	Epoch   string `json:"epoch,omitempty"`
	// Direct is the hub that has the session, if clients speak to its home.
	Direct *greeting `json:"direct,omitempty"`
}

// order is one line a server obeys.
type order struct {
	// Publish is how many events to publish; Rate how many a second, 0 as many
	// as go.
	Publish int `json:"publish,omitempty"`
	Rate    int `json:"rate,omitempty"`
	// Feed is how many lines the server's agent is to write, and Kind their kind.
	Feed int    `json:"feed,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Usage asks for the process's usage, after a collection if Collect.
	Usage   bool `json:"usage,omitempty"`
	Collect bool `json:"collect,omitempty"`
}

// usage is the processor time and memory of a process until now.
type usage struct {
	CPU      time.Duration `json:"cpu"`
	Mallocs  uint64        `json:"mallocs"`
	Resident int64         `json:"resident"` // bytes
	Heap     int64         `json:"heap"`     // of it, in use by objects
	Stacks   int64         `json:"stacks"`   // of it, by goroutines
	Last     int64         `json:"last"`
	// LongestPublish is the longest any publish took since the last asking.
	LongestPublish time.Duration `json:"longest_publish"`
	Failed         string        `json:"failed,omitempty"`
	Sent           int64         `json:"sent,omitempty"` // bytes of a machine to its home
}

func serveRole(role string) error {
	if role == agentRole {
		return playAgent()
	}
	stop, err := profile(role)
	if err != nil {
		return err
	}
	defer stop()
	ctx := context.Background()
	makers := map[string]func(context.Context, string) (publisher, error){
		"abide": newHub, "centrifuge": newCentrifuge, "floor": newFloor, "sessions": newOpener, "write": newWriter, "long": newLongHub, "fair": newFair,
		"deriving": newDeriving, "plain": newPlain, "remote": newRemote,
	}
	p, err := makers[role](ctx, os.Getenv("ABIDE_BENCH_DIR"))
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	hello := p.hello()
	hello.Last = p.last()
	if err := out.Encode(hello); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	var longest time.Duration
	for in.Scan() {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		var failed error
		if o.Publish > 0 {
			longest, failed = publishAll(ctx, p, o)
		}
		if f, can := p.(feeder); can && o.Feed > 0 {
			failed = f.feed(ctx, o.Kind, o.Feed)
		}
		u := used(o.Collect)
		u.Last, u.LongestPublish = p.last(), longest
		if s, is := p.(interface{ sentBytes() int64 }); is {
			u.Sent = s.sentBytes()
		}
		if failed != nil {
			u.Failed = failed.Error()
		}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return in.Err()
}

// profiles is the variable that names a directory for the CPU profiles of servers.
const profiles = "ABIDE_BENCH_PROFILES"

// profile begins the CPU profile of a server, if one is wanted.
func profile(role string) (stop func(), err error) {
	dir := os.Getenv(profiles)
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", role, os.Getpid())))
	if err != nil {
		return nil, err
	}
	return pprof.StopCPUProfile, pprof.StartCPUProfile(f)
}

// publishAll publishes and returns how long the slowest took.
func publishAll(ctx context.Context, p publisher, o order) (longest time.Duration, err error) {
	draft := chunk()
	at := strings.Index(string(draft.Data), stamp(0))
	began := time.Now()
	for i := range o.Publish {
		if o.Rate > 0 {
			due := began.Add(time.Duration(i) * time.Second / time.Duration(o.Rate))
			time.Sleep(time.Until(due))
		}
		sent := time.Now()
		// Each event has bytes of its own: a server that keeps them is not billed
		// for a copy that the others do not need.
		data := append([]byte(nil), draft.Data...)
		writeStamp(data[at:], sent.UnixNano())
		if err := p.publish(ctx, data); err != nil {
			return longest, err
		}
		longest = max(longest, time.Since(sent))
	}
	return longest, nil
}

func used(collect bool) usage {
	if collect {
		debug.FreeOSMemory()
	}
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // it cannot fail on oneself
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{
		CPU:     time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Mallocs: m.Mallocs, Resident: residentOf(os.Getpid()), Heap: int64(m.HeapAlloc), Stacks: int64(m.StackInuse),
	}
}

// residentOf is the resident memory of a process in bytes, or 0 if it has ended.
func residentOf(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// newManager returns a manager whose sessions have the agent that is measured with.
func newManager(s *store.Store) (*session.Manager, error) {
	return session.NewManager(optionsOf(s))
}

func optionsOf(s *store.Store) session.Options {
	return session.Options{
		Store: s.Journal(), Agents: []settings.Agent{{Name: "bench"}}, DefaultWorkspace: s.Dir(),
		Limits:     settings.Limits{Sessions: 10_000}, // no more than are measured are open
		StartAgent: startAgent,
	}
}

// deriving returns a manager that derives all it can, and plain one
// that derives nothing while it is measured.
func deriving(s *store.Store) (*session.Manager, error) {
	o := optionsOf(s)
	o.IndexDir = filepath.Join(s.Dir(), "derived")
	return session.NewManager(o)
}

func plain(s *store.Store) (*session.Manager, error) {
	o := optionsOf(s)
	o.SaveNothing = true
	return session.NewManager(o)
}

// hub is abide itself: store, session, server, with one session and events appended
// to its log one by one, each written to its file.
type hub struct {
	session *session.BackgroundSession
	log     held
	addr    string
	id      string
	token   string
	base    event.Seq // before the first published event
	prompts int
	server  *server.Server
	door    *auth.Door
	member  *machines.Member // nil if it can join no home
}

// missed is how many events are in the log before anything is measured.
const missed = 10_500

func newHub(ctx context.Context, dir string) (publisher, error) {
	return newHubOf(ctx, dir, newManager)
}

func newDeriving(ctx context.Context, dir string) (publisher, error) {
	return newHubOf(ctx, dir, deriving)
}

func newPlain(ctx context.Context, dir string) (publisher, error) { return newHubOf(ctx, dir, plain) }

// newHubOf is a hub with the manager that make makes.
func newHubOf(ctx context.Context, dir string, make func(*store.Store) (*session.Manager, error)) (publisher, error) {
	h, err := hubOf(ctx, dir, make, nil)
	if err != nil {
		return nil, err // no typed nil
	}
	return h, nil
}

// hubOf is newHubOf whose server has more parts, if more is not nil.
func hubOf(ctx context.Context, dir string, make func(*store.Store) (*session.Manager, error), more func(o *server.Options, dir string) error) (*hub, error) {
	s, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	m, err := make(s)
	if err != nil {
		return nil, err
	}
	one, err := m.Create(ctx, session.CreateRequest{Actor: event.Actor{Name: "bench"}})
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, held{one.Log()}, missed); err != nil {
		return nil, err
	}
	registry, err := auth.Open(dir, nil, nil)
	if err != nil {
		return nil, err
	}
	token, _, err := registry.MintToken(auth.TokenRequest{Name: "bench", Scope: auth.Owner})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := listener.Addr().String()
	door := auth.NewDoor(registry, s.HubID())
	door.Names([]string{addr}, nil)
	options := server.Options{
		Manager: m, Registry: registry, Door: door, HubID: s.HubID(), Version: "bench",
		App: fstest.MapFS{"index.html": {Data: []byte("bench")}}, Page: "index.html",
	}
	if more != nil {
		if err := more(&options, dir); err != nil {
			return nil, err
		}
	}
	srv, err := server.New(options)
	if err != nil {
		return nil, err
	}
	go func() { // for the life of the process, which the measurement ends
		if err := srv.Serve(ctx, listener); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return &hub{session: one, log: held{one.Log()}, addr: addr, id: one.ID(), token: token, base: one.Log().Marks().Visible, server: srv, door: door, member: options.Member}, nil
}

func (h *hub) hello() greeting {
	return h.greetingOf(h.id, h.log.Epoch())
}

// greetingOf says how clients of the hub follow a session.
func (h *hub) greetingOf(id, epoch string) greeting {
	return greeting{Addr: h.addr, Session: id, Epoch: epoch, Request: "GET /api/sessions/" + id + "/ws?after_seq=AFTER&epoch=" + epoch +
		upgrade(h.addr) + "Sec-WebSocket-Protocol: abide.v1\r\nAuthorization: Bearer " + h.token + "\r\n\r\n"}
}

func upgrade(host string) string {
	return " HTTP/1.1\r\nHost: " + host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
}

func (h *hub) publish(ctx context.Context, data []byte) error {
	_, _, err := h.log.Append(ctx, event.Draft{Type: event.TypeAgentMessage, Turn: 1, Data: data})
	return err
}

func (h *hub) last() int64 { return int64(h.log.Marks().Written) }

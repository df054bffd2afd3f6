package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server"
)

// remote is a hub that joined a home in the same process, over TCP. Clients are the home's.
type remote struct {
	*hub
	home *hub
	sent *atomic.Int64 // bytes from the machine to home
}

func newRemote(ctx context.Context, dir string) (publisher, error) {
	logger := slog.New(slog.DiscardHandler)
	var at *machines.Home // of the hub that is made last
	joinable := func(o *server.Options, dir string) (err error) {
		if at, err = machines.OpenHome(machines.HomeOptions{Dir: dir, ID: o.HubID, Logger: logger}); err != nil {
			return err
		}
		o.Machines = at
		o.Member, err = machines.OpenMember(machines.MemberOptions{Dir: dir, ID: o.HubID, Run: o.HubID, Logger: logger})
		return err
	}
	machine, err := hubOf(ctx, filepath.Join(dir, "machine"), newManager, joinable)
	if err != nil {
		return nil, err
	}
	home, err := hubOf(ctx, filepath.Join(dir, "home"), newManager, joinable)
	if err != nil {
		return nil, err
	}
	r := &remote{hub: machine, home: home, sent: &atomic.Int64{}}
	through, err := r.count(home.addr)
	if err != nil {
		return nil, err
	}
	home.door.Names([]string{home.addr, through}, nil)
	code, _, err := at.NewLink()
	if err != nil {
		return nil, err
	}
	if err := machine.member.Join(ctx, machines.Link("http://"+through, code), "machine", machines.AllowManage, ""); err != nil {
		return nil, err
	}
	go machine.member.Run(ctx, machine.server.ForHome()) // for the life of the process
	return r, r.copied(ctx, at)
}

// copied waits until home has all of the session's events.
func (r *remote) copied(ctx context.Context, at *machines.Home) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		listed := at.LinesChanged()
		if _, _, known := at.Of(r.id); known {
			break
		}
		select {
		case <-listed:
		case <-ctx.Done():
			return fmt.Errorf("home does not list the session: %w", ctx.Err())
		}
	}
	one, err := at.Watch(r.id)
	if err != nil {
		return err
	}
	for one.Log().Marks().Visible < r.base {
		select {
		case <-one.Log().Changed():
		case <-ctx.Done():
			return fmt.Errorf("home does not copy the session: %w", ctx.Err())
		case <-time.After(time.Millisecond): // it may have changed between the two
		}
	}
	return nil
}

// count listens and carries connections to addr, and counts the bytes on their way there.
func (r *remote) count(addr string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { // for the life of the process
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", addr)
			if err != nil {
				in.Close()
				continue
			}
			go func() { _, _ = io.Copy(tallied{out, r.sent}, in); out.Close() }()
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	return listener.Addr().String(), nil
}

type tallied struct {
	io.Writer
	n *atomic.Int64
}

func (c tallied) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Writer.Write(p)
}

func (r *remote) hello() greeting {
	own := r.hub.hello()
	g := r.home.greetingOf(r.id, r.log.Epoch())
	g.Direct = &own
	return g
}

func (r *remote) sentBytes() int64 { return r.sent.Load() }

// measureMachines is what a session of a machine costs at home.
func measureMachines(ctx context.Context, b *bench) error {
	const role = "remote"
	var rates []float64
	for range b.scaled(3, 3) {
		s, err := b.saturate(ctx, role, 1, b.scaled(100_000, 4))
		if err != nil {
			return err
		}
		rates = append(rates, s.rate)
	}
	b.atLeast("events/s of a machine's session to a client at home, against 40,000", 1, median(rates)/40_000)
	if err := b.machineLatency(ctx, role); err != nil {
		return err
	}
	if err := b.machineCalls(ctx, role); err != nil {
		return err
	}
	return b.machineBytes(ctx, role)
}

func (b *bench) machineLatency(ctx context.Context, role string) (err error) {
	p, err := b.newPacerOf(ctx, role, 1, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for range b.scaled(20, 4) {
		if err := p.slice(); err != nil {
			return err
		}
	}
	b.within("200 events/s of a machine to a client at home, publish to receive, p50", time.Millisecond, median(each(p.slices, func(p paced) time.Duration { return p.p50 })))
	b.within("200 events/s of a machine to a client at home, publish to receive, p99", 10*time.Millisecond, median(each(p.slices, func(p paced) time.Duration { return p.p99 })))
	return nil
}

// machineCalls holds a request that home has the machine run against the same one there.
func (b *bench) machineCalls(ctx context.Context, role string) (err error) {
	s, err := b.serve(ctx, role)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	took := map[string][]time.Duration{}
	for range b.scaled(1000, 4) {
		for name, of := range map[string]greeting{"there": *s.Direct, "home": s.greeting} {
			began := time.Now()
			if err := of.ask(ctx, "/api/sessions/"+s.Direct.Session); err != nil {
				return err
			}
			took[name] = append(took[name], time.Since(began))
		}
	}
	more := percentile(took["home"], 99) - percentile(took["there"], 99)
	b.within("a request at home about a machine's session, p99 over that at the machine", 5*time.Millisecond, max(more, 0))
	return nil
}

// ask makes a request with the credential of the greeting.
func (g greeting) ask(ctx context.Context, path string) error {
	_, token, _ := strings.Cut(g.Request, "Authorization: ")
	token, _, _ = strings.Cut(token, "\r\n")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.Addr+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %w", path, answer.Status, err)
	}
	return nil
}

// machineBytes holds what a machine sends for a thousand clients at home against one.
func (b *bench) machineBytes(ctx context.Context, role string) error {
	sent := map[int]float64{}
	events := b.scaled(4_000, 4)
	for _, clients := range []int{1, 100, b.scaled(1000, 2)} {
		n, err := b.sentFor(ctx, role, clients, events)
		if err != nil {
			return err
		}
		sent[clients] = float64(n)
		b.detail("%d clients at home: the machine sends %.0f bytes an event", clients, float64(n)/float64(events))
	}
	most := b.scaled(1000, 2)
	b.atMost(fmt.Sprintf("bytes that a machine sends for %d clients at home, against one", most), 1.05, sent[most]/sent[1])
	return nil
}

func (b *bench) sentFor(ctx context.Context, role string, clients, events int) (n int64, err error) {
	s, err := b.serve(ctx, role)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c, err := gather(s, clients, s.Last+int64(events), false)
	if err != nil {
		return 0, err
	}
	defer c.leave()
	settle()
	before, err := s.tell(order{Usage: true})
	if err != nil {
		return 0, err
	}
	if _, err := s.tell(order{Publish: events, Rate: 1000}); err != nil {
		return 0, err
	}
	if err := c.done(); err != nil {
		return 0, err
	}
	after, err := s.tell(order{Usage: true})
	return after.Sent - before.Sent, err
}

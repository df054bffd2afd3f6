package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Hub is this computer's hub as home uses it.
type Hub interface {
	// Serve runs a request on behalf of a caller at home, who may at most what allow says.
	// live ends with the connection and with the membership.
	Serve(w http.ResponseWriter, r *http.Request, by Caller, allow Allow, live func() error)
	// ChangesSince returns the lines of the session list that changed after a version, the
	// ids of the sessions that are gone, and the version now. Version 0 is the start.
	// Changed is its bell: take it before.
	ChangesSince(version uint64) (changed []state.Info, gone []string, now uint64)
	Changed() <-chan struct{}
	// Open returns a session, and opens it if needed. state.ErrNotFound if there is none.
	Open(ctx context.Context, id string) (Session, error)
}

// membership is the content of home.json: which hub is home, and this machine's secret there.
// Without a URL there is none.
type membership struct {
	Format int    `json:"format"`
	URL    string `json:"url"`
	Name   string `json:"name"`
	Secret string `json:"secret"`
	Allow  Allow  `json:"allow"`
	// CA is a file with certificates that home's may be signed by, beside the system's.
	CA       string    `json:"ca,omitempty"`
	JoinedAt time.Time `json:"joined_at"`
	// Left is the home that was left without its knowledge; nil if there is none.
	Left *former `json:"left,omitempty"`
}

// former is a home that still knows this machine. The secret there lets it join again.
type former struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

func membershipFile(dir string) jsonfile.File[membership] {
	return jsonfile.File[membership]{
		Files: disk.Folder{Dir: dir}, Name: "home.json", Damage: jsonfile.Refuse, Indent: true, Remedy: "move it away, and join again",
		Check: func(m membership) error { return jsonfile.Format(m.Format, recordFormat) },
	}
}

// MemberOptions are the parts of a Member.
type MemberOptions struct {
	// Dir has home.json.
	Dir string
	// ID is the id of this hub, Run that of this process.
	ID, Run string
	Version string
	Now     func() time.Time
	Logger  *slog.Logger
	// Most limits the pauses between two tries to connect. 0 is no limit but their own: 1.5 s
	// while home cannot be reached, 15 s while it refuses.
	Most time.Duration
	// Silence is how long home may be silent; 5 s if 0.
	Silence time.Duration
	// After is the clock of the pauses; nil is time.After.
	After func(time.Duration) <-chan time.Time
}

// Member is this hub as a machine of another, home. It is safe for concurrent use.
type Member struct {
	o MemberOptions
	// protocol is the version that it speaks.
	protocol int

	file jsonfile.File[membership]
	bell bell.Bell // the membership changed, or the state

	notified atomic.Bool // home said so when it took rows last

	mu        sync.Mutex
	now       *membership // nil if there is none
	left      *former
	serving   *serving // nil if it is not connected
	connected bool
	since     time.Time
	problem   string
}

// OpenMember reads home.json. It starts nothing.
func OpenMember(o MemberOptions) (*Member, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Most == 0 {
		o.Most = mostRefusal
	}
	if o.After == nil {
		o.After = time.After
	}
	m := &Member{o: o, protocol: protocol, file: membershipFile(o.Dir)}
	now, found, err := m.file.Read()
	if err != nil {
		return nil, err
	}
	if found && now.URL != "" {
		m.now = &now
	}
	m.left = now.Left
	return m, nil
}

// Home is what a machine says of its home.
type HomeStatus struct {
	URL, Name string
	Allow     Allow
	Connected bool
	// Since is from or until when it was connected; zero if it never was since the start.
	Since time.Time
	// Problem says why it is not connected, for a person.
	Problem string
}

// Status returns how it stands with home, and whether there is one. Changed is its bell.
func (m *Member) Status() (s HomeStatus, joined bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil {
		return s, false
	}
	return HomeStatus{m.now.URL, m.now.Name, m.now.Allow, m.connected, m.since, m.problem}, true
}

// HomeNotifies reports whether home is connected and notifies people of this hub's sessions.
func (m *Member) HomeNotifies() bool {
	s, joined := m.Status()
	return joined && s.Connected && m.notified.Load()
}

// MayManage reports whether an actor is somebody at home, and home may manage sessions here:
// what was begun for them goes on.
func (m *Member) MayManage(by event.Actor) bool {
	s, joined := m.Status()
	return joined && s.Allow == AllowManage && strings.HasPrefix(by.ID, ActorsOfHome)
}

// ActorsOfHome begins the ids of those at home who did something here.
const ActorsOfHome = "home:"

// Changed returns a channel that is closed when Status changes. Take it before.
func (m *Member) Changed() <-chan struct{} { return m.bell.Listen() }

// Join spends a link of home, and this hub becomes a machine of it. Name and allow are what
// it is called and what it allows there.
func (m *Member) Join(ctx context.Context, link, name string, allow Allow, ca string) error {
	if _, joined := m.Status(); joined {
		return fmt.Errorf("%w: this hub has a home already: leave it first", state.ErrConflict)
	}
	name, err := checkName(name)
	if err != nil {
		return err
	}
	if err := allow.Check(); err != nil {
		return err
	}
	at, code, err := parseLink(link)
	if err != nil {
		return err
	}
	d, err := dialerTo(at, ca, dialBound)
	if err != nil {
		return err
	}
	joining := Joining{ID: m.o.ID, Name: name, Version: m.o.Version, Allow: allow}
	m.mu.Lock()
	if m.left != nil && m.left.URL == at {
		joining.Former = m.left.Secret
	}
	m.mu.Unlock()
	secret, err := d.join(ctx, code, joining)
	if err != nil {
		return err
	}
	joined := membership{Format: recordFormat, URL: at, Name: name, Secret: secret, Allow: allow, CA: ca, JoinedAt: m.o.Now().UTC()}
	if err := m.file.Write(joined); err != nil {
		return fmt.Errorf("home accepted this machine, but its secret could not be written: forget the machine there and join again: %w", err)
	}
	m.mu.Lock()
	m.now, m.left, m.problem, m.since = &joined, nil, "", time.Time{}
	m.mu.Unlock()
	m.bell.Ring()
	return nil
}

// SetAllow changes what home may do here. It is connected anew, and what it asked for ends.
func (m *Member) SetAllow(allow Allow) error {
	if err := allow.Check(); err != nil {
		return err
	}
	m.mu.Lock()
	was := m.now
	m.mu.Unlock()
	if was == nil {
		return fmt.Errorf("%w: this hub has no home: join one with a link", state.ErrNotFound)
	}
	now := *was
	now.Allow = allow
	if err := m.file.Write(now); err != nil {
		return fmt.Errorf("write home.json: %w", err)
	}
	m.mu.Lock()
	if m.now == was {
		m.now = &now
	}
	m.mu.Unlock()
	m.bell.Ring()
	return nil
}

// Leave ends the membership here, and tells home, which forgets the machine. A home that cannot
// be told keeps it, away, until it joins again or is forgotten there.
func (m *Member) Leave(ctx context.Context) (told bool, err error) {
	m.mu.Lock()
	was, s := m.now, m.serving
	m.mu.Unlock()
	if was == nil {
		return false, fmt.Errorf("%w: this hub has no home", state.ErrNotFound)
	}
	left := &former{was.URL, was.Secret}
	if err := m.file.Write(membership{Format: recordFormat, Left: left}); err != nil {
		return false, fmt.Errorf("write home.json: %w", err)
	}
	if told = s != nil && s.leave(ctx) == nil; told {
		left = nil
		if err := m.file.Write(membership{Format: recordFormat}); err != nil {
			m.o.Logger.Warn("home.json keeps a secret that is good for nothing", "err", err)
		}
	}
	m.mu.Lock()
	if m.now == was {
		m.now, m.left, m.connected, m.problem, m.since = nil, left, false, "", time.Time{}
	}
	m.mu.Unlock()
	m.bell.Ring()
	return told, nil
}

// Run keeps the connection to home until ctx ends, and lets home use the hub.
func (m *Member) Run(ctx context.Context, hub Hub) {
	tries := tries{most: m.o.Most}
	for ctx.Err() == nil {
		changed := m.bell.Listen()
		m.mu.Lock()
		now := m.now
		m.mu.Unlock()
		if now == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		began := time.Now()
		err := m.connect(ctx, hub, now)
		if m.lost(now, err) {
			tries.again()
		}
		changed = m.bell.Listen()
		select {
		case <-m.o.After(tries.next(err, time.Since(began))):
		case <-changed:
			tries.again()
		case <-ctx.Done():
		}
	}
}

// is reports whether a membership is the one now.
func (m *Member) is(one *membership) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now == one
}

// lost notes why there is no connection, and reports whether there was one.
func (m *Member) lost(of *membership, err error) (was bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != of {
		return false
	}
	was = m.connected
	if was {
		m.since = m.o.Now().UTC()
	}
	m.connected = false
	m.problem = ""
	if err != nil && !errors.Is(err, context.Canceled) {
		m.problem = state.Words(err)
		m.o.Logger.Debug("not connected to home", "err", err)
	}
	return was
}

// connect connects once and serves home until the connection or the membership ends.
func (m *Member) connect(ctx context.Context, hub Hub, as *membership) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d, err := dialerTo(as.URL, as.CA, reachBound)
	if err != nil {
		return err
	}
	conn, err := d.connect(ctx, m.o.ID, m.o.Run, as.Secret)
	if err != nil {
		return err
	}
	dialled := time.Now()
	nc, err := nats.Connect("nats://home", nats.SetCustomDialer(conn), nats.UserInfo(m.o.ID, conn.ticket), nats.NoReconnect(),
		nats.CustomInboxPrefix(below(m.o.ID, "machine")), nats.PingInterval(max(pingEvery, m.o.Silence/4)), nats.MaxPingsOutstanding(mostPings), nats.Timeout(startBound),
		quiet(m.o.Logger),
		nats.ClosedHandler(func(c *nats.Conn) {
			cancel(fmt.Errorf("the connection to home ended: %w", errors.Join(c.LastError(), errEnded)))
		}))
	if err != nil && time.Since(dialled) > reachBound {
		err = fmt.Errorf("%w: home's answer does not come through: a proxy between here and home may hold it back, and must not buffer a WebSocket", state.ErrUnavailable)
	}
	if err != nil {
		conn.Close()
		return err
	}
	s := newServing(m, hub, as, nc)
	defer s.end()
	if err := s.listen(ctx); err != nil {
		return err
	}
	if err := s.hello(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	if m.now == as {
		m.connected, m.since, m.problem, m.serving = true, m.o.Now().UTC(), "", s
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.serving = nil
		m.mu.Unlock()
	}()
	var rest sync.WaitGroup
	defer rest.Wait()
	defer cancel(nil)
	rest.Go(func() { cancel(s.sendRows(ctx)) })
	for {
		changed := m.bell.Listen()
		if !m.is(as) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errEnded = errors.New("it was closed")

// leave tells home that this machine leaves.
func (s *serving) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveBound)
	defer cancel()
	_, err := s.request(ctx, "leave", message(struct{}{}, nil))
	return err
}

// hello says what this machine is, and learns whether home talks to it.
func (s *serving) hello(ctx context.Context) error {
	o := s.member.o
	var answer welcome
	m, err := s.request(ctx, "hello", message(hello{Protocol: s.member.protocol, Version: o.Version, Allow: s.as.Allow, Time: o.Now().UTC()}, nil))
	if err != nil {
		return fmt.Errorf("home does not answer: %w", err)
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return fmt.Errorf("home does not answer as abide does: %w", err)
	}
	if answer.Refused != "" {
		return refusal{errors.New(words(answer.Refused))}
	}
	if answer.Protocol != s.member.protocol {
		return refusal{fmt.Errorf("home is abide %s and speaks version %d of the protocol between machines, this machine is abide %s and speaks version %d: update the older one", words(answer.Version), answer.Protocol, o.Version, s.member.protocol)}
	}
	return nil
}

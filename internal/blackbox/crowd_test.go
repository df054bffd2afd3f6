package blackbox_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// crowdName is the environment variable with the crowd's order as JSON.
const crowdName = "ABIDE_BLACKBOX_CROWD"

// crowdOrder is the order to a crowd's process.
type crowdOrder struct {
	Base, Token, Session, Epoch string
	Clients                     int
}

// crowdAccount summarises the events that one client of a crowd received.
type crowdAccount struct {
	Last    event.Seq
	Dropped int
	Gaps    int
	Resets  int
	Sum     string // checksum of all events, see sumOf
	Error   string
}

// crowd is a process of many clients, which can be stopped as a whole.
type crowd struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *os.File
	count int

	accounts *json.Decoder // decodes the process's stdout
}

// newCrowd starts a crowd. Each client follows the session from its first event.
func newCrowd(h *hub, base string, s wire.SessionInfo, clients int) *crowd {
	h.t.Helper()
	order, err := json.Marshal(crowdOrder{base, h.token(), s.SessionID, s.Epoch, clients})
	require.NoError(h.t, err)
	self, err := os.Executable()
	require.NoError(h.t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleName+"=crowd", crowdName+"="+string(order))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(h.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, cmd.Start())
	c := &crowd{t: h.t, cmd: cmd, in: in, out: out.(*os.File), count: clients, accounts: json.NewDecoder(out)}
	h.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // it was killed, unless it had ended
	})
	return c
}

// pause stops the process: its sockets stay open and unread.
func (c *crowd) pause() error { return c.cmd.Process.Signal(syscall.SIGSTOP) }

// resume continues it.
func (c *crowd) resume() error { return c.cmd.Process.Signal(syscall.SIGCONT) }

// ask tells all clients to end once they have received seq. It does not wait.
func (c *crowd) ask(until event.Seq) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, until)
	require.NoError(c.t, err)
}

// lag returns the delays of the agent's messages since the last call: from the line
// in the log to the clients.
func (c *crowd) lag() roundTrips {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, "lag")
	require.NoError(c.t, err)
	require.NoError(c.t, c.out.SetReadDeadline(time.Now().Add(patience)))
	var took roundTrips
	require.NoError(c.t, c.accounts.Decode(&took))
	slices.Sort(took)
	return took
}

// requireSaw requires that each client that was asked for the end of the log
// received every event once, in order.
func (c *crowd) requireSaw(log []event.Event) {
	c.t.Helper()
	want := sumOf(log)
	require.NoError(c.t, c.out.SetReadDeadline(time.Now().Add(patience)))
	for n := range c.count {
		var got crowdAccount
		require.NoError(c.t, c.accounts.Decode(&got))
		require.Empty(c.t, got.Error, "client %d", n)
		require.Equal(c.t, crowdAccount{Last: event.Seq(len(log)), Sum: want}, got, "client %d", n)
	}
}

// sumOf is a checksum of events in order.
func sumOf(events []event.Event) string {
	sum := sha256.New()
	for _, e := range events {
		fmt.Fprintf(sum, "%d %s %s\n", e.Seq, e.Type, e.Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// playCrowd is the crowd's process. It follows the session until stdin names the
// last seq.
func playCrowd() error {
	var order crowdOrder
	if err := json.Unmarshal([]byte(os.Getenv(crowdName)), &order); err != nil {
		return err
	}
	hub, err := client.New(order.Base, order.Token)
	if err != nil {
		return err
	}
	defer hub.Close()
	accounts := make([]crowdAccount, order.Clients)
	named := make(chan struct{}) // closed once last is set
	var last event.Seq
	var late lateness
	var wait sync.WaitGroup
	for i := range accounts {
		wait.Go(func() { accounts[i] = follow(hub, order, &late, named, &last) })
	}
	out := json.NewEncoder(os.Stdout)
	orders := bufio.NewReader(os.Stdin)
	line := ""
	for {
		if line, err = orders.ReadString('\n'); err != nil {
			return err
		}
		if line != "lag\n" {
			break
		}
		if err := out.Encode(late.take()); err != nil {
			return err
		}
	}
	seq, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return err
	}
	last = event.Seq(seq)
	close(named)
	wait.Wait()
	for _, a := range accounts {
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// lateness collects the delays of the agent's messages in a crowd.
type lateness struct {
	mu   sync.Mutex
	took []time.Duration
}

func (l *lateness) add(e event.Event) {
	if e.Type != event.TypeAgentMessage {
		return
	}
	took := time.Since(e.Time)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, took)
}

// take returns the delays since the last call. It is never nil.
func (l *lateness) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := l.took
	l.took = nil
	return append([]time.Duration{}, took...)
}

var errSawAll = errors.New("saw all")

// follow is one client of a crowd. It ends when it has received the last event that
// stdin named.
func follow(hub *client.Hub, order crowdOrder, late *lateness, named <-chan struct{}, last *event.Seq) (a crowdAccount) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watch := client.NewWatch(hub, order.Session, client.Cursor{Epoch: order.Epoch})
	sum := sha256.New()
	var mu sync.Mutex
	over := false
	reached := func() bool {
		select {
		case <-named:
			over = over || a.Last >= *last
		default:
		}
		return over
	}
	ended := make(chan error, 1)
	go func() {
		ended <- watch.Run(ctx, func(u client.Update) error {
			mu.Lock()
			defer mu.Unlock()
			if u.Reset {
				a.Resets++
			}
			for _, e := range u.Events {
				fmt.Fprintf(sum, "%d %s %s\n", e.Seq, e.Type, e.Data)
				a.Last = e.Seq
				late.add(e)
			}
			if reached() {
				return errSawAll
			}
			return nil
		})
	}()
	<-named
	mu.Lock()
	if reached() {
		cancel()
	}
	mu.Unlock()
	if err := <-ended; !errors.Is(err, errSawAll) && !errors.Is(err, context.Canceled) {
		a.Error = err.Error()
	}
	a.Dropped, a.Gaps = watch.History().Dropped(), watch.History().Gaps()
	a.Sum = hex.EncodeToString(sum.Sum(nil))
	return a
}

// TestFault29TenOfAHundredStoppedClientsCostTheOthersNothing stops a process with
// ten of a hundred clients while the agent floods the log. The others receive every
// event, and the hub buffers nothing for the ten and closes their sockets. Once
// continued, the ten catch up from their cursors.
func TestFault29TenOfAHundredStoppedClientsCostTheOthersNothing(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.until("its first state", func(_ []event.Event, s *wire.State) bool { return s != nil })
	pid := h.cmd.Process.Pid
	open := sockets(t, pid)
	others := newCrowd(h, "http://"+h.addr, session, 90)
	ten := newCrowd(h, "http://"+h.addr, session, 10)
	require.Eventually(t, func() bool { return sockets(t, pid) >= open+100 }, patience, 20*time.Millisecond, "a hundred others")
	c.prompt(session.SessionID, "p1", "/burst 500")
	c.untilTurnEnds("p1")
	memory := residentKiB(t, pid)

	require.NoError(t, ten.pause())
	c.prompt(session.SessionID, "p2", "/burst 4000")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
	grown := residentKiB(t, pid) - memory
	log := onDisk(t, h, session.SessionID)
	others.ask(event.Seq(len(log)))
	others.requireSaw(log) // while the ten are stopped
	t.Logf("the hub grew by %d KiB", grown)
	require.Less(t, grown, 100<<10, "growth of the hub in KiB, with the race detector")
	// Clients that are done have disconnected. The hub closed the sockets of the
	// ten.
	require.Eventually(t, func() bool { return sockets(t, pid) <= open }, patience, 50*time.Millisecond, "the hub keeps the ten")

	require.NoError(t, ten.resume())
	ten.ask(event.Seq(len(log)))
	ten.requireSaw(log)
}

// TestTenStoppedClientsDoNotSlowTheOthersDown measures the delays of the agent's
// messages at ninety clients, in rounds: with ten more clients that read, then with
// those ten stopped and their sockets full.
func TestTenStoppedClientsDoNotSlowTheOthersDown(t *testing.T) {
	soak.Only(t, "it takes two minutes of a quiet machine")
	const rounds = 7
	program := filepath.Join(t.TempDir(), "abide") // without the race detector
	buildProgram(t, program, "../../cmd/abide")
	h := newHub(t, settings{program: program, agents: map[string]agent{"demo": paced()}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.socket()
	pid := h.cmd.Process.Pid
	open := sockets(t, pid)
	others := newCrowd(h, "http://"+h.addr, session, 90)
	ten := newCrowd(h, "http://"+h.addr, session, 10)
	present := func() bool { return sockets(t, pid) >= open+100 }
	var without, with roundTrips
	var memory []int
	for round := range 2 * rounds {
		require.Eventually(t, present, patience, 20*time.Millisecond, "a hundred others")
		stopped := round%2 == 1
		if stopped {
			require.NoError(t, ten.pause())
		}
		id := fmt.Sprintf("burst %d", round)
		c.prompt(session.SessionID, id, "/burst 4000") // fills the sockets of clients that do not read
		c.untilTurnEnds(id)
		require.Eventually(t, func() bool { return len(others.lag()) == 0 }, patience, 200*time.Millisecond, "the others read the burst")
		id = fmt.Sprintf("slow %d", round)
		c.prompt(session.SessionID, id, "/slow 4")
		c.untilTurnEnds(id)
		took := others.lag()
		require.Greater(t, len(took), 90*30)
		if stopped {
			with = append(with, took.at(0.99))
			require.NoError(t, ten.resume())
		} else {
			without = append(without, took.at(0.99))
		}
		memory = append(memory, residentKiB(t, pid))
	}
	slices.Sort(without)
	slices.Sort(with)
	t.Logf("p99 of the others: with ten stopped %s, without %s; the hub's memory in KiB round by round %v", with.at(0.5), without.at(0.5), memory)
	require.LessOrEqual(t, float64(with.at(0.5)), 1.5*float64(without.at(0.5)))
	require.Less(t, memory[len(memory)-1]-memory[1], 16<<10, "growth of the hub in KiB")

	c.prompt(session.SessionID, "last", "/plan")
	c.untilTurnEnds("last")
	log := onDisk(t, h, session.SessionID)
	for _, crowd := range []*crowd{others, ten} {
		crowd.ask(event.Seq(len(log)))
		crowd.requireSaw(log)
	}
}

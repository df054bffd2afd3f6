package blackbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// fate is what happens to one of the processes.
type fate struct {
	step   string // what is under way
	victim string
	stop   time.Duration // SIGSTOP for so long; 0 is kill -9 and another start
}

func (f fate) String() string {
	what := "kill -9"
	if f.stop > 0 {
		what = "SIGSTOP " + f.stop.String()
	}
	return f.victim + " " + what + " at " + f.step
}

// fates are all in make soak, and one of each kind in make test.
func fates() (all []fate) {
	if !soak.On() {
		return []fate{
			{"join", "home", 0}, {"call", "home", 6 * time.Second}, {"list", "machine", 0}, {"copy", "machine", 6 * time.Second}, {"call", "agent", 0},
		}
	}
	for _, stop := range []time.Duration{0, 4 * time.Second, 10 * time.Second, 30 * time.Second} {
		for _, step := range []string{"join", "list", "copy", "call"} {
			for _, victim := range []string{"home", "machine", "agent"} {
				if victim != "agent" || step == "copy" || step == "call" {
					all = append(all, fate{step, victim, stop})
				}
			}
		}
	}
	return all
}

// saidBound is until when the others say that a process is away, backBound until when it is back.
// A crowded computer takes longer, which is no fault.
func bounds() (said, back time.Duration) {
	if soak.On() {
		return 5 * time.Second, 2 * time.Second
	}
	return 20 * time.Second, 20 * time.Second
}

// TestAComputerThatDiesOrSleepsIsSaidReadAndBack kills and stops home, a machine and its agent
// while the machine joins, sends its list, is copied and called. The others say so, the session is
// read meanwhile, the connection is back soon, and nothing is lost or runs twice.
func TestAComputerThatDiesOrSleepsIsSaidReadAndBack(t *testing.T) {
	t.Parallel()
	for _, f := range fates() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			f.happens(t)
		})
	}
}

func (f fate) happens(t *testing.T) {
	c := newStrangers(t, settings{})
	s := c.machine.create("demo")
	var at *screen
	if f.step != "join" {
		c.join()
		c.listed(s.SessionID)
		at = c.home.screen("screen at home", s, 0)
		c.ask(s, "first", "/burst 20")
		at.untilTurnEnds("first")
	}

	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var asked, made []string
	switch f.step {
	case "join":
		link := c.link()
		load.Go(func() { // it may fail, or succeed without an answer
			_, _ = c.machine.hub.JoinHome(ctx, wire.NewHome{Link: link, Name: "laptop", Allow: "manage"})
		})
		rest(ctx, time.Duration(rand.Int64N(int64(50*time.Millisecond)))) // a random moment
	case "list":
		load.Go(func() {
			for ; ctx.Err() == nil && len(made) < 100; rest(ctx, 20*time.Millisecond) {
				if one, err := c.machine.hub.Create(ctx, wire.NewSession{Agent: "demo", Workspace: c.machine.workspace}, ""); err == nil {
					made = append(made, one.SessionID)
				}
			}
		})
	case "copy":
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = c.machine.hub.Ask(ctx, s.SessionID, wire.NewPrompt{PromptID: fmt.Sprint("burst-", n), Text: fmt.Sprintf("/burst 500 (%d)", n)})
				rest(ctx, 200*time.Millisecond)
			}
		})
	case "call":
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprint("p-", n)
				c.ask(s, id, fmt.Sprintf("/burst 50 (%d)", n))
				asked = append(asked, id)
			}
		})
	}
	if f.step == "copy" || f.step == "call" {
		seen := len(at.seen())
		at.until("something under way", func(events []event.Event, _ *wire.State) bool { return len(events) > seen })
	}
	said, read, back := f.strike(c, s)
	cancel()
	load.Wait()
	mostSaid, mostBack := bounds()
	if f.stop == 0 || f.stop > 5*time.Second {
		require.LessOrEqual(t, said, mostSaid, "until it was said")
	}
	require.LessOrEqual(t, back, mostBack, "until it was back")
	t.Logf("%s: said %s, read %s, back %s", f, said.Round(time.Millisecond), read.Round(time.Millisecond), back.Round(time.Millisecond))

	if f.step == "join" { // without forgetting it
		c.until("joined", func() bool {
			if c.atMachine() == "" {
				_, _ = c.machine.hub.JoinHome(t.Context(), wire.NewHome{Link: c.link(), Name: "laptop", Allow: "manage"})
			}
			return c.connected()
		})
	}
	if at == nil {
		c.listed(s.SessionID)
		at = c.home.screen("screen at home", s, 0)
	}
	c.ask(s, "last", "/burst 20 (last)")
	at.untilTurnEnds("last")
	c.requireSameFiles(s)
	log := onDisk(t, c.machine, s.SessionID)
	at.until("the whole log", func(events []event.Event, _ *wire.State) bool { return len(events) >= len(log) })
	requireSame(t, log, at.seen(), at.name)
	in := promptsIn(t, log)
	for _, id := range append(asked, "last") {
		require.Len(t, in[id], 1, "%s", id)
	}
	for _, id := range made {
		c.listed(id)
	}
}

// strike lets it happen. said is until the others said so, read how long a read of the session
// took meanwhile, back until all was as before.
func (f fate) strike(c *computers, s wire.SessionInfo) (said, read, back time.Duration) {
	t := c.t
	if f.victim == "agent" {
		return f.strikeAgent(c, s)
	}
	victim, other, seen := c.machine, c.home, c.atHome
	if f.victim == "home" {
		victim, other, seen = c.home, c.machine, c.atMachine
	}
	ctx, cancel := context.WithTimeout(t.Context(), max(f.stop, time.Second))
	defer cancel()
	if f.stop == 0 {
		victim.kill()
	} else {
		require.NoError(t, victim.cmd.Process.Signal(syscall.SIGSTOP))
	}
	began := time.Now()
	for f.step != "join" && said == 0 && (f.stop == 0 || ctx.Err() == nil) {
		if seen() == "away" {
			said = time.Since(began)
		}
		rest(t.Context(), 5*time.Millisecond)
	}
	if f.step != "join" {
		asked := time.Now()
		_, err := other.hub.EventsAfter(t.Context(), s.SessionID, 0, 10)
		require.NoError(t, err, "the session is read meanwhile")
		read = time.Since(asked)
	}
	if f.stop == 0 {
		victim.start()
	} else {
		<-ctx.Done()
		require.NoError(t, victim.cmd.Process.Signal(syscall.SIGCONT))
	}
	healed := time.Now()
	if f.step == "join" { // it may not have joined
		c.until("an answer of both", func() bool { return c.answers() })
		return said, read, time.Since(healed)
	}
	c.until("the connection", func() bool { return c.connected() && c.atMachine() == "connected" })
	return said, read, time.Since(healed)
}

// answers reports whether both hubs do.
func (c *computers) answers() bool {
	_, one := c.home.hub.Machines(c.t.Context())
	_, two := c.machine.hub.Machines(c.t.Context())
	return one == nil && two == nil
}

func (f fate) strikeAgent(c *computers, s wire.SessionInfo) (said, read, back time.Duration) {
	t := c.t
	var agents []*os.Process
	for _, pid := range marked(c.machine.id() + ".") {
		p, err := os.FindProcess(pid)
		require.NoError(t, err)
		agents = append(agents, p)
	}
	signal := syscall.SIGKILL
	if f.stop > 0 {
		signal = syscall.SIGSTOP
	}
	for _, p := range agents {
		_ = p.Signal(signal) // one may be gone
	}
	began := time.Now()
	_, err := c.home.hub.EventsAfter(t.Context(), s.SessionID, 0, 10)
	require.NoError(t, err, "the session is read meanwhile")
	read = time.Since(began)
	require.Equal(t, "connected", c.atHome(), "the machine is there all the time")
	if f.stop > 0 {
		rest(t.Context(), f.stop)
		for _, p := range agents {
			_ = p.Signal(syscall.SIGCONT)
		}
	}
	return 0, read, 0
}

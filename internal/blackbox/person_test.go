package blackbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	sessionstate "github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// person is one session with its screens and a simulated user. The user prompts at
// some screens, resends each prompt until the hub has answered it, and answers
// permission requests at the other screens.
type person struct {
	*hub
	session wire.SessionInfo
	number  int
	screens []*screen

	account account

	quiet context.CancelFunc // ends the prompting and meddling
	busy  sync.WaitGroup     // the goroutines that prompt and meddle

	mu    sync.Mutex
	acked map[string]client.PromptOutcome // by prompt id
	texts map[string]string
	order []string // the ids in the order they were acknowledged
	// removed are prompts that a screen removed from the queue. The hub may have
	// taken each of them before.
	removed map[string]bool
	// untold are prompts without an answer when the prompting ended. The hub may
	// have any of them, and may take it at any time.
	untold map[string]bool
}

// newPerson creates a session with one screen for each client. The last screen is
// slow.
func newPerson(h *hub, n int, ways ...*client.Hub) *person {
	p := &person{
		hub: h, session: h.create("demo"), number: n,
		acked: map[string]client.PromptOutcome{}, texts: map[string]string{}, removed: map[string]bool{}, untold: map[string]bool{},
	}
	p.account = newAccount(filepath.Join(h.data, "sessions", p.session.SessionID))
	for i, way := range ways {
		pause := time.Duration(0)
		if i == len(ways)-1 {
			pause = time.Millisecond
		}
		p.screens = append(p.screens, h.screenBy(way, fmt.Sprintf("screen %d of %d", i, n), p.session, pause))
	}
	return p
}

// act starts the user: the first prompters of the screens send prompts and the
// others answer requests, until quiet is called. Meddlers perform other actions on
// the last screen.
func (p *person) act(seed uint64, prompters, meddlers int) {
	ctx, quiet := context.WithCancel(context.Background())
	p.quiet = quiet
	for i, c := range p.screens[:prompters] {
		p.busy.Go(func() { p.ask(ctx, c, rand.New(rand.NewPCG(seed, uint64(i))), i) })
	}
	last := p.screens[len(p.screens)-1]
	for i := range meddlers {
		p.busy.Go(func() { p.meddle(ctx, last, rand.New(rand.NewPCG(seed, 100+uint64(i)))) })
	}
	var leave []func()
	for _, c := range p.screens[prompters:] {
		leave = append(leave, answerAll(c, p.session.SessionID))
	}
	p.t.Cleanup(func() {
		quiet()
		for _, stop := range leave {
			stop()
		}
		p.busy.Wait()
	})
}

// ask sends prompts until ctx ends.
func (p *person) ask(ctx context.Context, c *screen, random *rand.Rand, at int) {
	kinds := []string{"/burst 400", "/burst 3000", "/ask", "/plan", "/edit", "/markdown", "/big 1"}
	for i := 0; ctx.Err() == nil; i++ {
		// The agent ignores the numbers at the end. They make each prompt unique.
		text := fmt.Sprintf("%s (%d.%d.%d)", kinds[random.IntN(len(kinds))], p.number, at, i)
		p.send(ctx, c, fmt.Sprintf("prompt-%d-%d-%d", p.number, at, i), text)
	}
}

// tagOf returns the unique part of a prompt, which edits of its text keep.
func tagOf(text string) string { return tag.FindString(text) }

var tag = regexp.MustCompile(`\(\d+\.\d+\.\d+\)`)

// send repeats one prompt until its outcome is known.
func (p *person) send(ctx context.Context, c *screen, id, text string) {
	for ctx.Err() == nil {
		socket := c.watch.Socket()
		if socket == nil {
			rest(ctx, 5*time.Millisecond)
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		outcome, err := socket.Prompt(limited, wire.Prompt{SessionID: p.session.SessionID, PromptID: id, Text: text})
		cancel()
		refused := (*client.Error)(nil)
		switch {
		case err == nil:
			p.mu.Lock()
			p.acked[id], p.texts[id] = outcome, text
			p.order = append(p.order, id)
			p.mu.Unlock()
			return
		case errors.As(err, &refused):
			rest(ctx, 20*time.Millisecond) // the queue is full, or the hub is stopping
		default:
			rest(ctx, 5*time.Millisecond) // the connection is lost: resend
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untold[id] = true
}

// meddle cancels turns, switches modes and changes the queue until ctx ends. The
// hub may refuse a request that came too late.
func (p *person) meddle(ctx context.Context, c *screen, random *rand.Rand) {
	for ctx.Err() == nil {
		rest(ctx, time.Duration(random.Int64N(int64(600*time.Millisecond))))
		c.mu.Lock()
		state := c.state
		c.mu.Unlock()
		socket := c.watch.Socket()
		if socket == nil || state == nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		// The send fails if the connection ends, which the test causes on purpose.
		_ = socket.Send(limited, p.whim(state, random))
		cancel()
	}
}

// whim returns a random action.
func (p *person) whim(state *wire.State, random *rand.Rand) wire.Message {
	id := p.session.SessionID
	var item wire.QueueItem
	if n := len(state.Queue); n > 0 {
		item = state.Queue[random.IntN(n)]
	}
	switch choice := random.IntN(6); {
	case choice == 0:
		return &wire.Cancel{SessionID: id}
	case choice == 1 && item.PromptID != "":
		return &wire.QueueMove{SessionID: id, PromptID: item.PromptID}
	case choice == 2 && item.PromptID != "":
		return &wire.QueueEdit{SessionID: id, PromptID: item.PromptID, Text: "/plan " + tagOf(item.Text) + " in other words"}
	case choice == 3 && item.PromptID != "":
		p.mu.Lock()
		p.removed[item.PromptID] = true
		p.mu.Unlock()
		return &wire.QueueRemove{SessionID: id, PromptID: item.PromptID}
	}
	return &wire.SetMode{SessionID: id, ModeID: []string{"auto", "ask"}[random.IntN(2)]}
}

// requireKept compares the log with the events on the screens and the hub's answers
// to prompts. No hub may be running.
func (p *person) requireKept() {
	p.t.Helper()
	acked := p.outcomes()
	p.account.update(p.t)
	for _, c := range p.screens {
		p.account.hold(p.t, c)
	}
	p.requireAcknowledged(acked, p.account.prompts)
}

func (p *person) requireAcknowledged(acked map[string]client.PromptOutcome, in prompts) {
	p.t.Helper()
	for id, outcome := range acked {
		switch outcome.Fate {
		case wire.FateReceived, wire.FateInterrupted:
			require.Len(p.t, in[id], 1, "%s was acknowledged at %d", id, outcome.Seq)
			require.Equal(p.t, outcome.Seq, in[id][0], "%s", id)
		case wire.FateQueued:
			require.True(p.t, len(in[id]) == 1 || p.wasRemoved(id) || p.queued(id), "%s was acknowledged as queued", id)
		case wire.FateRemoved:
			require.True(p.t, p.wasRemoved(id), "%s is neither logged, queued nor removed", id)
		}
	}
	for id, seqs := range in {
		require.Len(p.t, seqs, 1, "%s is in the log more than once", id)
	}
}

func (p *person) wasRemoved(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.removed[id]
}

// queued reports whether the prompt is in the queue's file.
func (p *person) queued(id string) bool {
	data, err := os.ReadFile(filepath.Join(p.data, "sessions", p.session.SessionID, "queue.json"))
	require.NoError(p.t, err)
	var file struct {
		Items []struct {
			PromptID string `json:"prompt_id"`
		} `json:"items"`
	}
	require.NoError(p.t, json.Unmarshal(data, &file))
	return slices.ContainsFunc(file.Items, func(i struct {
		PromptID string `json:"prompt_id"`
	}) bool {
		return i.PromptID == id
	})
}

// remembered is a number of recent prompts that the hub surely still knows when
// they are resent. It promises a thousand.
const remembered = 900

// hush ends the prompting and meddling after one more accepted prompt.
func (p *person) hush() {
	p.t.Helper()
	acked := len(p.outcomes())
	p.screens[0].until("one more acknowledged prompt", func([]event.Event, *wire.State) bool {
		return len(p.outcomes()) > acked
	})
	p.quiet()
	p.busy.Wait()
}

// finish waits until the queue is empty, then resends all prompts. None may run
// again.
func (p *person) finish() {
	p.t.Helper()
	desk := p.screens[0]
	in, next := prompts{}, 0
	desk.until("the end of all prompts", func(events []event.Event, s *wire.State) bool {
		in.add(p.t, events[next:])
		next = len(events)
		if s == nil || s.Turn.State != sessionstate.TurnIdle || len(s.Queue) > 0 {
			return false
		}
		for id := range p.outcomes() {
			if len(in[id]) == 0 && !p.wasRemoved(id) {
				return false
			}
		}
		return true
	})
	before := p.told(in)
	for _, id := range p.order[max(0, len(p.order)-remembered):] {
		outcome := desk.promptAgain(p.session.SessionID, id, p.texts[id])
		if p.wasRemoved(id) && len(in[id]) == 0 {
			require.Equal(p.t, wire.FateRemoved, outcome.Fate, id)
			continue
		}
		require.Contains(p.t, []wire.Fate{wire.FateReceived, wire.FateInterrupted}, outcome.Fate, id)
	}
	requireTrueScreens(p.t, p.hub, p.session.SessionID, p.screens...)
	after := prompts{}
	after.add(p.t, onDisk(p.t, p.hub, p.session.SessionID))
	p.requireAcknowledged(p.outcomes(), after)
	require.Equal(p.t, before, p.told(after), "a prompt sent again ran again")
	p.t.Logf("%s: %d prompts, %d events, %d connections", desk.name, len(before), len(desk.seen()), desk.connections())
}

// told returns the prompts whose sender got an answer.
func (p *person) told(in prompts) prompts {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := maps.Clone(in)
	maps.DeleteFunc(all, func(id string, _ []event.Seq) bool { return p.untold[id] })
	return all
}

func (p *person) outcomes() map[string]client.PromptOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.acked)
}

// requireSettled requires that every turn began at most once and ended exactly
// once, and that every request has exactly one outcome. It returns the number of
// turns that a kill interrupted.
func (p *person) requireSettled() (interrupted int) {
	p.t.Helper()
	log := onDisk(p.t, p.hub, p.session.SessionID)
	began, ended := map[string]int{}, map[string]int{}
	for _, start := range payloads[event.TurnStart](p.t, log) {
		began[start.PromptID]++
	}
	for _, end := range payloads[event.TurnEnd](p.t, log) {
		ended[end.PromptID]++
		if end.StopReason == event.StopHubRestart {
			interrupted++
		}
	}
	in := prompts{}
	in.add(p.t, log)
	for id := range in {
		require.LessOrEqual(p.t, began[id], 1, "turns of %s", id)
		require.Equal(p.t, 1, ended[id], "ends of %s", id)
	}
	outcomes := map[string]int{}
	for _, o := range payloads[event.PermissionOutcome](p.t, log) {
		outcomes[o.PermissionID]++
	}
	requests := payloads[event.PermissionRequest](p.t, log)
	for _, r := range requests {
		require.Equal(p.t, 1, outcomes[r.PermissionID], "outcomes of %s", r.PermissionID)
	}
	require.Len(p.t, outcomes, len(requests))
	return interrupted
}

// requireGivenOnce requires that no agent got a prompt twice, and that no earlier
// agent was alive when one started.
func requireGivenOnce(t *testing.T, given recording) {
	t.Helper()
	require.Empty(t, given.rivals, "an earlier agent was alive when the next one started")
	times := map[string]int{}
	for text, n := range given.prompts {
		times[tagOf(text)] += n
		require.Equal(t, 1, times[tagOf(text)], "%q was given to the agent again", text)
	}
}

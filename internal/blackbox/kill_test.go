package blackbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// rounds is how often the hub is killed: 200 times with ABIDE_SOAK set, else a
// sample.
func rounds() int {
	if os.Getenv("ABIDE_SOAK") != "" {
		return 200
	}
	return 10
}

// TestNothingAnybodySawIsLostWhenTheHubIsKilled kills the hub at random moments
// while people prompt, answer and watch, some of the time while it is only just
// starting, and holds the log against an account kept outside it.
func TestNothingAnybodySawIsLostWhenTheHubIsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	var people []*person
	for n := range 2 {
		people = append(people, newPerson(h, n, random.Uint64()))
	}
	for range rounds() {
		time.Sleep(100*time.Millisecond + time.Duration(random.Int64N(int64(2*time.Second)))) // the random moment
		h.kill()
		for _, p := range people {
			p.requireKept()
		}
		for random.IntN(3) == 0 {
			h.stumble(time.Duration(random.Int64N(int64(400 * time.Millisecond)))) // in the middle of its repairs
		}
		h.start()
	}
	for _, p := range people {
		p.finish()
	}
	given := readRecord(t, record)
	require.Empty(t, given.rivals, "an agent of before was alive when the next one started")
	for text, times := range given.prompts {
		require.Equal(t, 1, times, "%q was given to the agent %d times", text, times)
	}
	interrupted := 0
	for _, p := range people {
		interrupted += p.requireSettled()
	}
	require.Positive(t, interrupted, "no kill hit a turn: the rounds proved nothing")
}

// person is one session with its screens and somebody who prompts in it all the
// time, sending each prompt until the hub has said what became of it.
type person struct {
	*hub
	session wire.SessionInfo
	desk    *screen
	phone   *screen
	random  *rand.Rand

	account account

	quiet context.CancelFunc // ends the prompting
	asked chan struct{}      // closed when it has ended

	mu    sync.Mutex
	acked map[string]client.PromptOutcome // by prompt id
	texts map[string]string
}

func newPerson(h *hub, n int, seed uint64) *person {
	asking, quiet := context.WithCancel(context.Background())
	p := &person{
		hub: h, session: h.create("demo"), random: rand.New(rand.NewPCG(seed, uint64(n))),
		account: account{prompts: prompts{}, held: map[*screen]int{}},
		quiet:   quiet, asked: make(chan struct{}),
		acked: map[string]client.PromptOutcome{}, texts: map[string]string{},
	}
	p.desk = h.screen(fmt.Sprintf("desk %d", n), p.session, 0)
	p.phone = h.screen(fmt.Sprintf("phone %d", n), p.session, time.Millisecond)
	go func() { defer close(p.asked); p.ask(asking, n) }()
	leave := answerAll(p.phone, p.session.SessionID) // from the other screen
	h.t.Cleanup(func() {
		quiet()
		leave()
		<-p.asked
	})
	return p
}

// ask prompts until ctx ends.
func (p *person) ask(ctx context.Context, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		kinds := []string{"/burst 400", "/burst 3000", "/ask", "/plan", "/edit", "/markdown", "/big 1"}
		// The number at the end is ignored by the agent and tells prompts apart.
		text := fmt.Sprintf("%s (%d.%d)", kinds[p.random.IntN(len(kinds))], n, i)
		p.send(ctx, fmt.Sprintf("prompt-%d-%d", n, i), text)
	}
}

// send sends one prompt until its fate is known.
func (p *person) send(ctx context.Context, id, text string) {
	for ctx.Err() == nil {
		socket := p.desk.watch.Socket()
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
			p.mu.Unlock()
			return
		case errors.As(err, &refused):
			rest(ctx, 20*time.Millisecond) // the queue is full, or the hub is ending
		default:
			rest(ctx, 5*time.Millisecond) // the connection is gone: send it again
		}
	}
}

// account is what is known of a session's log without looking at its beginning
// again: rounds would take longer and longer.
type account struct {
	log     []event.Event
	offset  int64 // where the log goes on in its file
	prompts prompts
	held    map[*screen]int // how much of each screen was held against it
}

// prompts are the seqs of each prompt in a log.
type prompts map[string][]event.Seq

func (in prompts) add(t *testing.T, events []event.Event) {
	for _, e := range events {
		if e.Type == event.TypeUserPrompt {
			var prompt event.UserPrompt
			require.NoError(t, json.Unmarshal(e.Data, &prompt))
			in[prompt.PromptID] = append(in[prompt.PromptID], e.Seq)
		}
	}
}

// update reads what the log has gained.
func (a *account) update(t *testing.T, path string) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, a.offset, 1<<40))
	require.NoError(t, err)
	known := len(a.log)
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		e, err := parseLine(line)
		if !whole || err != nil {
			break // a torn tail: the hub that was killed has not repaired it yet
		}
		require.Equal(t, event.Seq(len(a.log)+1), e.Seq, "gap in %s", path)
		a.log, data = append(a.log, e), rest
		a.offset += int64(len(line)) + 1
	}
	a.prompts.add(t, a.log[known:])
}

// hold requires that a screen saw what is in the log.
func (a *account) hold(t *testing.T, c *screen) {
	seen := c.seen()
	require.LessOrEqual(t, len(seen), len(a.log), "%s saw more than there is", c.name)
	for i := a.held[c]; i < len(seen); i++ {
		require.NoError(t, sameEvent(a.log[i], seen[i]), c.name)
	}
	a.held[c] = len(seen)
}

// requireKept holds the log against what the screens saw and what the hub said
// of prompts until now.
func (p *person) requireKept() {
	p.t.Helper()
	acked := p.outcomes()
	p.account.update(p.t, filepath.Join(p.data, "sessions", p.session.SessionID, "events.jsonl"))
	p.account.hold(p.t, p.desk)
	p.account.hold(p.t, p.phone)
	p.requireAcknowledged(acked, p.account.prompts)
}

func (p *person) requireAcknowledged(acked map[string]client.PromptOutcome, in prompts) {
	p.t.Helper()
	for id, outcome := range acked {
		switch outcome.Fate {
		case client.Received, client.Interrupted:
			require.Len(p.t, in[id], 1, "%s was acknowledged at %d", id, outcome.Seq)
			require.Equal(p.t, outcome.Seq, in[id][0], "%s", id)
		case client.Queued:
			require.True(p.t, len(in[id]) == 1 || p.queued(id), "%s was acknowledged as queued", id)
		case client.Removed:
			p.t.Fatalf("nobody removed %s", id)
		}
	}
	for id, seqs := range in {
		require.Len(p.t, seqs, 1, "%s is in the log more than once", id)
	}
}

// queued says whether the prompt waits in the queue's file.
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

// finish lets what is queued come to its end, then sends the prompts there were
// once more: none may run again.
func (p *person) finish() {
	p.t.Helper()
	acked := len(p.outcomes())
	p.desk.until("one more acknowledged prompt", 60*time.Second, func([]event.Event, *wire.State) bool {
		return len(p.outcomes()) > acked
	})
	p.quiet()
	<-p.asked
	in, next := prompts{}, 0
	p.desk.until("the end of all prompts", 120*time.Second, func(events []event.Event, s *wire.State) bool {
		in.add(p.t, events[next:])
		next = len(events)
		if s == nil || s.Turn.State != wire.TurnIdle || len(s.Queue) > 0 {
			return false
		}
		for id := range p.outcomes() {
			if len(in[id]) == 0 {
				return false
			}
		}
		return true
	})
	before := len(in)
	resent := 0
	for id, text := range p.texts {
		if resent++; resent > 900 {
			break // the hub promises to remember the last 1,000
		}
		outcome := p.desk.prompt(p.session.SessionID, id, text)
		require.Contains(p.t, []client.Fate{client.Received, client.Interrupted}, outcome.Fate, id)
	}
	requireTrueScreens(p.t, p.hub, p.session.SessionID, p.desk, p.phone)
	after := prompts{}
	after.add(p.t, onDisk(p.t, p.hub, p.session.SessionID))
	p.requireAcknowledged(p.outcomes(), after)
	require.Len(p.t, after, before, "a prompt sent again ran again")
	p.t.Logf("%s: %d prompts, %d events, %d connections", p.desk.name, before, len(p.desk.seen()), p.desk.connections())
}

func (p *person) outcomes() map[string]client.PromptOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.acked)
}

// requireSettled requires that every turn began at most once and ended exactly
// once, and that every request has exactly one outcome. It returns how many
// turns a kill cut off.
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

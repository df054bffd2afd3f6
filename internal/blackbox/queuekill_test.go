package blackbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// TestTwoHundredQueuedPromptsAreTakenOnceInOrderWhereverTheHubIsKilled has twenty
// clients queue ten prompts each behind a busy agent. It kills the hub at random
// moments: while prompts are queued, while they are taken, and while the hub
// starts.
func TestTwoHundredQueuedPromptsAreTakenOnceInOrderWhereverTheHubIsKilled(t *testing.T) {
	soak.Only(t, "it takes two minutes")
	t.Parallel()
	const kills = 6
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	c := newQueuers(t, 20, 10, "")
	for range kills {
		time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond)))) // a random moment
		c.hub.kill()
		for random.IntN(3) == 0 {
			c.hub.stumble(time.Duration(random.Int64N(int64(400 * time.Millisecond))))
		}
		c.hub.start()
	}
	c.requireTakenOnce()
}

// TestQueuedPromptsAreTakenOnceInOrderThroughKillsBetweenTheSteps is the short form
// of it, with three fixed kills: when a client has read that its prompt is queued,
// when the hub listens again, and in the middle of a queued prompt's turn.
func TestQueuedPromptsAreTakenOnceInOrderThroughKillsBetweenTheSteps(t *testing.T) {
	t.Parallel()
	const open = "q-0-9" // its turn continues until the hub is killed
	c := newQueuers(t, 4, 10, open)
	for range 7 {
		<-c.heard
	}
	c.hub.kill()
	_, listens := c.hub.line(c.hub.spawn())
	require.True(t, listens)
	c.hub.kill()
	c.hub.start()
	c.desk.until("the turn of "+open, func(events []event.Event, _ *wire.State) bool {
		return len(payloads[event.PermissionRequest](t, events)) == 2
	})
	c.hub.kill()
	c.hub.start()
	require.Equal(t, event.StopHubRestart, c.desk.untilTurnEnds(open).StopReason)
	c.requireTakenOnce()
}

// queuers are clients that each queue prompts in order behind a busy agent.
type queuers struct {
	t       *testing.T
	hub     *hub
	session string
	record  string // the tap's record of prompts
	each    int
	open    string // the prompt whose turn does not end by itself, if any
	screens []*screen
	desk    *screen     // the first client
	heard   chan string // receives each prompt once its client has read that it is queued
	posting sync.WaitGroup
}

// newQueuers begins with a turn that continues until the hub is killed.
func newQueuers(t *testing.T, clients, each int, open string) *queuers {
	t.Helper()
	c := &queuers{
		t: t, record: filepath.Join(t.TempDir(), "record"), each: each, open: open,
		heard: make(chan string, clients*each),
	}
	c.hub = newHub(t, settings{
		agents: map[string]agent{"demo": tapped(t, c.record, demo())},
		more:   fmt.Sprintf("queue: {max_size: %d}\n", clients*each),
	})
	session := c.hub.create("demo")
	c.session = session.SessionID
	for n := range clients {
		c.screens = append(c.screens, c.hub.screen(fmt.Sprintf("client %d", n), session, 0))
	}
	c.desk = c.screens[0]
	c.desk.prompt(c.session, "first", "/ask")
	c.desk.untilAsked(1)

	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); c.posting.Wait() })
	for n, s := range c.screens {
		c.posting.Go(func() {
			for i := range each {
				id := queuedID(n, i)
				if queueUntilHeard(ctx, s, c.session, id, c.text(id)) {
					c.heard <- id
				}
			}
		})
	}
	return c
}

func queuedID(client, n int) string { return fmt.Sprintf("q-%d-%d", client, n) }

// text is unique to the prompt. The agent ignores the text after its command.
func (c *queuers) text(id string) string {
	if id == c.open {
		return "/ask (" + id + ")"
	}
	return "/plan (" + id + ")"
}

// requireTakenOnce waits until all prompts are queued and taken. It requires that
// each prompt was logged once and in its client's order, ended once, and was given
// to the agent once, or at most once if a kill ended its turn.
func (c *queuers) requireTakenOnce() {
	c.t.Helper()
	t, all := c.t, len(c.screens)*c.each+1
	c.posting.Wait() // all of them were accepted
	in, next := prompts{}, 0
	c.desk.until("the end of the queue", func(events []event.Event, s *wire.State) bool {
		in.add(t, events[next:])
		next = len(events)
		return s != nil && s.Turn.State == state.TurnIdle && len(s.Queue) == 0 && len(in) == all
	})
	log := onDisk(t, c.hub, c.session)
	c.requireInOrder(log)
	ends := map[string]event.StopReason{}
	for _, end := range payloads[event.TurnEnd](t, log) {
		require.NotContains(t, ends, end.PromptID, "a turn ended twice")
		ends[end.PromptID] = end.StopReason
	}
	require.Len(t, ends, all)
	require.Equal(t, event.StopHubRestart, ends["first"])
	c.requireGiven(ends)
	requireTrueScreens(t, c.hub, c.session, c.screens...)
	after := prompts{}
	after.add(t, onDisk(t, c.hub, c.session))
	require.Len(t, after, all, "a prompt sent again ran again")
}

// requireInOrder requires that each prompt is in the log once, after the earlier
// prompts of its client.
func (c *queuers) requireInOrder(log []event.Event) {
	c.t.Helper()
	logged := prompts{}
	logged.add(c.t, log)
	require.Len(c.t, logged, len(c.screens)*c.each+1)
	for n := range c.screens {
		before := event.Seq(0)
		for i := range c.each {
			id := queuedID(n, i)
			require.Len(c.t, logged[id], 1, "%s in the log", id)
			require.Greater(c.t, logged[id][0], before, "%s was accepted after the one before it", id)
			before = logged[id][0]
		}
	}
}

// requireGiven resends every prompt and compares the hub's answer and the agent's
// record with the end of its turn.
func (c *queuers) requireGiven(ends map[string]event.StopReason) {
	c.t.Helper()
	given := readRecord(c.t, c.record)
	require.Empty(c.t, given.rivals, "an earlier agent was alive when the next one started")
	interrupted := 0
	for n := range c.screens {
		for i := range c.each {
			id := queuedID(n, i)
			outcome := c.desk.prompt(c.session, id, c.text(id))
			if ends[id] == event.StopHubRestart {
				interrupted++
				require.Equal(c.t, wire.FateInterrupted, outcome.Fate, id)
				require.LessOrEqual(c.t, given.prompts[c.text(id)], 1, id)
				continue
			}
			require.Equal(c.t, wire.FateReceived, outcome.Fate, id)
			require.Equal(c.t, event.StopEndTurn, ends[id], id)
			require.Equal(c.t, 1, given.prompts[c.text(id)], id)
		}
	}
	c.t.Logf("%d prompts were interrupted", interrupted)
}

// queueUntilHeard resends a prompt until the hub acknowledges it, and reports
// whether it did so before ctx ended.
func queueUntilHeard(ctx context.Context, c *screen, session, id, text string) bool {
	for ctx.Err() == nil {
		if socket := c.watch.Socket(); socket != nil {
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			_, err := socket.Prompt(limited, wire.Prompt{SessionID: session, PromptID: id, Text: text})
			cancel()
			refused := (*client.Error)(nil)
			if err == nil {
				return true
			}
			if errors.As(err, &refused) && refused.Code != wire.CodeUnavailable && refused.Code != wire.CodeBusy {
				c.t.Errorf("%s: %v", id, err)
				return false
			}
		}
		rest(ctx, 5*time.Millisecond)
	}
	return false
}

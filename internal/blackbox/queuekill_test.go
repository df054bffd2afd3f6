package blackbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestTwoHundredQueuedPromptsAreTakenOnceInOrderWhereverTheHubIsKilled has
// twenty clients queue ten prompts each behind a busy agent, and kills the hub
// at random moments: while they queue, while the queue is taken, while the hub
// starts again.
func TestTwoHundredQueuedPromptsAreTakenOnceInOrderWhereverTheHubIsKilled(t *testing.T) {
	if os.Getenv("ABIDE_SOAK") == "" {
		t.Skip("takes two minutes: set ABIDE_SOAK")
	}
	t.Parallel()
	const clients, each, kills = 20, 10, 6
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{
		agents: map[string]agent{"demo": tapped(t, record, demo())},
		more:   fmt.Sprintf("queue: {max_size: %d}\n", clients*each),
	})
	session := h.create("demo")
	var screens []*screen
	for n := range clients {
		screens = append(screens, h.screen(fmt.Sprintf("client %d", n), session, 0))
	}
	desk := screens[0]
	desk.prompt(session.SessionID, "first", "/ask")
	desk.untilAsked(1, 30*time.Second) // the agent is busy until the first kill

	ctx, cancel := context.WithCancel(t.Context())
	var posting sync.WaitGroup
	t.Cleanup(func() { cancel(); posting.Wait() })
	for n, c := range screens {
		posting.Go(func() {
			for i := range each {
				queueUntilHeard(ctx, c, session.SessionID, fmt.Sprintf("q-%d-%d", n, i))
			}
		})
	}
	for range kills {
		time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond)))) // the random moment
		h.kill()
		for random.IntN(3) == 0 {
			h.stumble(time.Duration(random.Int64N(int64(400 * time.Millisecond))))
		}
		h.start()
	}
	posting.Wait() // each of the two hundred was accepted

	in, next := prompts{}, 0
	desk.until("the end of the queue", 180*time.Second, func(events []event.Event, s *wire.State) bool {
		in.add(t, events[next:])
		next = len(events)
		return s != nil && s.Turn.State == wire.TurnIdle && len(s.Queue) == 0 && len(in) == clients*each+1
	})
	log := onDisk(t, h, session.SessionID)
	logged := prompts{}
	logged.add(t, log)
	require.Len(t, logged, clients*each+1)
	for n := range clients {
		before := event.Seq(0)
		for i := range each {
			id := fmt.Sprintf("q-%d-%d", n, i)
			require.Len(t, logged[id], 1, "%s in the log", id)
			require.Greater(t, logged[id][0], before, "%s was accepted after the one before it", id)
			before = logged[id][0]
		}
	}
	ends := map[string]event.StopReason{}
	for _, end := range payloads[event.TurnEnd](t, log) {
		require.NotContains(t, ends, end.PromptID, "a turn ended twice")
		ends[end.PromptID] = end.StopReason
	}
	require.Len(t, ends, clients*each+1)
	require.Equal(t, event.StopHubRestart, ends["first"])

	given := readRecord(t, record)
	require.Empty(t, given.rivals, "an agent of before was alive when the next one started")
	interrupted := 0
	for n := range clients {
		for i := range each {
			id := fmt.Sprintf("q-%d-%d", n, i)
			outcome := desk.prompt(session.SessionID, id, textOfQueued(id))
			if ends[id] == event.StopHubRestart {
				interrupted++
				require.Equal(t, client.Interrupted, outcome.Fate, id)
				require.LessOrEqual(t, given.prompts[textOfQueued(id)], 1, id)
				continue
			}
			require.Equal(t, client.Received, outcome.Fate, id)
			require.Equal(t, event.StopEndTurn, ends[id], id)
			require.Equal(t, 1, given.prompts[textOfQueued(id)], id)
		}
	}
	t.Logf("%d prompts were interrupted", interrupted)
	requireTrueScreens(t, h, session.SessionID, screens...)
	after := prompts{}
	after.add(t, onDisk(t, h, session.SessionID))
	require.Len(t, after, clients*each+1, "a prompt sent again ran again")
}

// textOfQueued is unlike the text of any other prompt; the agent ignores what
// stands behind its command.
func textOfQueued(id string) string { return "/plan (" + id + ")" }

// queueUntilHeard sends a prompt until the hub has said that it has it.
func queueUntilHeard(ctx context.Context, c *screen, session, id string) {
	for ctx.Err() == nil {
		if socket := c.watch.Socket(); socket != nil {
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			_, err := socket.Prompt(limited, wire.Prompt{SessionID: session, PromptID: id, Text: textOfQueued(id)})
			cancel()
			refused := (*client.Error)(nil)
			if err == nil {
				return
			}
			if errors.As(err, &refused) && refused.Code != wire.CodeUnavailable && refused.Code != wire.CodeBusy {
				c.t.Errorf("%s: %v", id, err)
				return
			}
		}
		rest(ctx, 5*time.Millisecond)
	}
}

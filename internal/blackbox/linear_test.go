package blackbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// operation is a client's request: to send the prompt with this id, or, if the id
// is empty, to read all prompts.
type operation struct{ id string }

// answer is the hub's answer. It is unknown if the hub died first.
type answer struct {
	unknown bool
	prompts string // the ids in order, each after a space
}

// promptsModel models a session's prompts as an append-only list.
func promptsModel() porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{""} },
		Step: func(state, input, output any) []any {
			now, in, out := state.(string), input.(operation), output.(answer)
			switch {
			case in.id != "" && out.unknown:
				return []any{now, now + " " + in.id} // the prompt may be in the list or not
			case in.id != "":
				return []any{now + " " + in.id}
			case out.prompts == now:
				return []any{now}
			}
			return nil
		},
	}).ToModel()
}

// history records the operations of all clients of one session, across restarts of
// the hub.
type history struct {
	mu    sync.Mutex
	start time.Time
	ops   []porcupine.Operation
}

func (h *history) add(by int, in operation, called time.Time, out answer) {
	returned := int64(time.Since(h.start))
	if out.unknown {
		returned = math.MaxInt64 // it may take effect after any restart
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{
		ClientId: by, Input: in, Call: int64(called.Sub(h.start)), Output: out, Return: returned,
	})
}

// counts returns the numbers of accepted prompts, of reads, and of prompts without
// an answer.
func (h *history) counts() (taken, reads, unknown int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		switch {
		case op.Output.(answer).unknown:
			unknown++
		case op.Input.(operation).id == "":
			reads++
		default:
			taken++
		}
	}
	return taken, reads, unknown
}

// TestPromptsAndReadsAreLinearizableAcrossKillsOfTheHub has four clients prompt one
// session over sockets and read it over HTTP while the hub is killed. Porcupine
// checks that the operations have a linear order.
func TestPromptsAndReadsAreLinearizableAcrossKillsOfTheHub(t *testing.T) {
	t.Parallel()
	sessions := 1
	if soak.On() {
		sessions = 15
	}
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	// With the queue off, a busy session refuses a prompt, so an accepted prompt is
	// in the log.
	h := newHub(t, settings{more: "queue: {enabled: false}\n"})
	for range sessions {
		linearize(t, h, random)
	}
}

func linearize(t *testing.T, h *hub, random *rand.Rand) {
	const clients, lives = 4, 4
	session := h.create("demo")
	past := &history{start: time.Now()}
	var screens []*screen
	for n := range clients {
		screens = append(screens, h.screen(fmt.Sprintf("client %d", n), session, 0))
	}
	for life := range lives {
		ctx, cancel := context.WithCancel(t.Context())
		var acting sync.WaitGroup
		for n, c := range screens {
			own := rand.New(rand.NewPCG(random.Uint64(), uint64(n)))
			acting.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if own.IntN(3) == 0 {
						past.read(ctx, n, h.hub, session.SessionID)
					} else {
						past.prompt(ctx, n, c, session.SessionID, fmt.Sprintf("%d.%d.%d", life, n, i))
					}
					rest(ctx, time.Duration(own.Int64N(int64(60*time.Millisecond))))
				}
			})
		}
		if life == 0 { // at least some, even on a busy machine
			require.Eventually(t, func() bool { taken, _, _ := past.counts(); return taken > 0 }, patience, 20*time.Millisecond)
		}
		time.Sleep(500*time.Millisecond + time.Duration(random.Int64N(int64(time.Second)))) // a random moment
		h.kill()
		cancel()
		acting.Wait()
		h.start()
	}
	past.read(t.Context(), 0, h.hub, session.SessionID)
	taken, reads, unknown := past.counts()
	t.Logf("%d prompts taken, %d cut off, %d reads", taken, unknown, reads)
	require.Positive(t, reads)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(promptsModel(), past.ops, patience))
}

// prompt sends a prompt once.
func (h *history) prompt(ctx context.Context, by int, c *screen, session, id string) {
	socket := c.watch.Socket()
	if socket == nil {
		return
	}
	called := time.Now()
	_, err := socket.Prompt(ctx, wire.Prompt{SessionID: session, PromptID: id, Text: "/plan (" + id + ")"})
	refused := (*client.Error)(nil)
	if errors.As(err, &refused) && (refused.Code == wire.CodeBusy || refused.Code == wire.CodeConflict) {
		return
	}
	h.add(by, operation{id}, called, answer{unknown: err != nil})
}

// read reads all prompts, page by page. Read events never change, so the pages
// together are the list at the time of the last read.
func (h *history) read(ctx context.Context, by int, hub *client.Hub, session string) {
	called := time.Now()
	var ids strings.Builder
	for after := event.Seq(0); ; {
		page, err := hub.EventsAfter(ctx, session, after, wire.MaxPage)
		if err != nil {
			return // the hub is down
		}
		for _, e := range page.Events {
			if after = e.Seq; e.Type != event.TypeUserPrompt {
				continue
			}
			var p event.UserPrompt
			if err := json.Unmarshal(e.Data, &p); err != nil {
				p.PromptID = err.Error() // an id that no order can explain
			}
			ids.WriteString(" " + p.PromptID)
		}
		if !page.HasMore {
			break
		}
	}
	h.add(by, operation{}, called, answer{prompts: ids.String()})
}

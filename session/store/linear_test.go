package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// operation is a request to the log: to append the prompt with this id or, if the
// id is empty, to read the newest event.
type operation struct{ id string }

// outcome is the result. It is unknown if the process died first.
type outcome struct {
	unknown bool
	seq     event.Seq
	newest  string
}

// logModel models the log as an append-only list of ids.
var logModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{"start"} },
	Step: func(state, input, output any) []any {
		now, in, out := state.(string), input.(operation), output.(outcome)
		ids := strings.Split(now, " ")
		if in.id == "" {
			if int(out.seq) == len(ids) && out.newest == ids[len(ids)-1] {
				return []any{now}
			}
			return nil
		}
		after := now + " " + in.id
		switch {
		case out.unknown:
			return []any{now, after} // the prompt may be in the list or not
		case int(out.seq) == len(ids)+1:
			return []any{after}
		}
		return nil
	},
}).ToModel()

// history records the operations of all clients of one log, across restarts of the
// process.
type history struct {
	mu    sync.Mutex
	start time.Time
	ops   []porcupine.Operation
}

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) add(client int, in operation, called int64, out outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	returned := h.now()
	if out.unknown {
		returned = math.MaxInt64 // it may take effect after any restart
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: returned})
}

// newest returns the id of a log's newest event, and its seq.
func newest(l *store.Log) (outcome, error) {
	b, err := l.ReadBefore(context.Background(), 0, 1)
	if err != nil {
		return outcome{}, err
	}
	events, err := b.Events()
	if err != nil {
		return outcome{}, err
	}
	var data struct {
		PromptID string `json:"prompt_id"`
	}
	if err := json.Unmarshal(events[0].Data, &data); err != nil {
		return outcome{}, err
	}
	if data.PromptID == "" {
		data.PromptID = "start"
	}
	return outcome{seq: b.Last, newest: data.PromptID}, nil
}

func TestAppendsAndReadsAreLinearizableAcrossKills(t *testing.T) {
	rounds := 10
	if soak.On() {
		rounds = 200
	}
	acked := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 1))
		disk := newMemFS()
		h := &history{start: time.Now()}
		id := ""
		for life := range 3 {
			f := &faultFS{FS: disk}
			s, err := store.Open("/data", store.Options{FS: f, BootID: "boot"})
			require.NoError(t, err)
			var l *store.Log
			if id == "" {
				l = create(t, s)
				id = l.ID()
			} else {
				l, err = s.Log(context.Background(), id)
				require.NoError(t, err)
			}
			f.set(nth(f.count()+1+r.IntN(40), errCrashed))
			var clients sync.WaitGroup
			for client := range 3 {
				clients.Go(func() {
					for i := range 6 {
						if i%3 == 2 {
							called := h.now()
							if out, err := newest(l); err == nil {
								h.add(client, operation{}, called, out)
							}
							continue
						}
						in := operation{id: fmt.Sprintf("%d-%d-%d", life, client, i)}
						called := h.now()
						_, seq, err := l.Append(context.Background(), prompt(in.id))
						h.add(client, in, called, outcome{unknown: err != nil, seq: seq})
						if err != nil {
							return
						}
					}
				})
			}
			clients.Wait()
			next := disk.restart() // a kill: no clean close comes before
			_ = s.Close()
			disk = next
		}
		for _, op := range h.ops {
			if !op.Output.(outcome).unknown {
				acked++
			}
		}
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(logModel, h.ops, patience), "round %d", round)
	}
	require.Greater(t, acked, 5*rounds, "the kills came too early")
}

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// chunkOf returns one streamed piece of message m.
func chunkOf(t *testing.T, text string) event.Draft {
	t.Helper()
	data, err := json.Marshal(event.AgentMessage{MessageID: "m", Text: event.Text(text)})
	require.NoError(t, err)
	return event.Draft{Type: event.TypeAgentMessage, Turn: 1, Data: data}
}

func TestLiveEventsThatShareAFrameAreNotMerged(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 20")
	last := s.Log().Marks().Visible
	p := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=0&epoch=%s&merge=true", s.ID(), s.Log().Epoch()))
	require.Less(t, len(p.collect(0, last)), 20, "the backlog is not merged")
	var chunks []event.Draft
	for i := range 10 {
		chunks = append(chunks, chunkOf(t, fmt.Sprint(i)))
	}
	_, _, err := s.Log().Append(context.Background(), 0, chunks...)
	require.NoError(t, err)
	live := p.collect(last, last+10)
	require.Len(t, live, 10)
	for _, e := range live {
		require.Zero(t, e.FirstSeq)
	}
}

// TestAnEventThatComesWhileAClientIsAboutToSleepReachesIt appends an event just
// when clients have read everything. No event follows in the round, so a client
// that missed the wake-up would never get it.
func TestAnEventThatComesWhileAClientIsAboutToSleepReachesIt(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	const clients, rounds = 16, 300
	reached := make(chan event.Seq, clients)
	var wait sync.WaitGroup
	for range clients {
		p := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=0&epoch=%s", s.ID(), s.Log().Epoch()))
		wait.Go(func() {
			for {
				_, data, err := p.conn.Read(p.ctx)
				if err != nil {
					return // the test is over
				}
				if m, err := wire.DecodeServer(data); err != nil {
					t.Errorf("a frame: %v", err)
				} else if events, ok := m.(*wire.Events); ok {
					reached <- events.LastSeq
				}
			}
		})
		defer p.conn.CloseNow()
	}
	defer wait.Wait()
	defer h.stop()
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	for round := range rounds {
		_, first, err := s.Log().Append(context.Background(), 0, chunkOf(t, "x"))
		require.NoError(t, err)
		// Wait until a random number of clients have this event before the next
		// one.
		for range random.IntN(clients) {
			<-reached
		}
		_, last, err := s.Log().Append(context.Background(), 0, chunkOf(t, "y"))
		require.NoError(t, err)
		require.Equal(t, first+1, last)
		for have, late := 0, time.After(patience); have < clients; {
			select {
			case seq := <-reached:
				if seq == last {
					have++
				}
			case <-late:
				t.Fatalf("round %d: %d of %d clients have event %d", round, have, clients, last)
			}
		}
	}
}

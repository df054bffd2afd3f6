package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// waitOn is a wait for the prompt p1 at a hub whose log has the payloads, from seq 1 on. The
// hub says that the prompt is at seq, 0 if it never had it.
func waitOn(t *testing.T, seq event.Seq, log ...event.Payload) *turn {
	t.Helper()
	events := make([]event.Event, len(log))
	for i, p := range log {
		draft, err := event.NewDraft(p, 1, time.Now())
		require.NoError(t, err)
		events[i] = event.Event{Seq: event.Seq(i + 1), Time: draft.Time, Turn: 1, Type: draft.Type, Data: draft.Data}
	}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch {
		case r.Method == http.MethodPost:
			answer = wire.PromptAnswer{PromptID: "p1", Outcome: wire.FateReceived, Seq: seq}
		case strings.HasSuffix(r.URL.Path, "/events"):
			answer = wire.EventsLoaded{Events: events, FirstSeq: 1}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(hub.Close)
	c, err := client.New(hub.URL, "token")
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &turn{p: New(Env{Stderr: io.Discard}), hub: c, session: "20260221-140307-9f3a11c0", ask: wire.NewPrompt{PromptID: "p1"}, asked: map[string]bool{}}
}

// After a crash of the hub the log may go on elsewhere: the end of the turn does not come, and
// is looked for.
func TestAWaitFindsTheEndThatDidNotCome(t *testing.T) {
	prompt, end := event.UserPrompt{PromptID: "p1"}, event.TurnEnd{PromptID: "p1", StopReason: event.StopEndTurn}
	cut := event.TurnInterrupted{PromptID: "p1", Reason: event.CutAgentExit}
	idle := wire.State{AtSeq: 9, Turn: state.Turn{PromptID: "p2"}}
	for name, c := range map[string]struct {
		log   []event.Payload
		began event.Seq
		cut   event.InterruptReason
	}{
		"it saw the beginning":  {log: []event.Payload{prompt, end}, began: 1},
		"it saw nothing of it":  {log: []event.Payload{prompt, end}},
		"it was cut off":        {log: []event.Payload{prompt, cut, end}, cut: event.CutAgentExit},
		"its beginning is gone": {log: []event.Payload{end, event.UserPrompt{PromptID: "p2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitOn(t, 1, c.log...)
			if c.began > 0 {
				w.number, w.began = 1, c.began
			}
			require.ErrorIs(t, w.state(t.Context(), &idle), errEnded)
			require.Equal(t, event.StopEndTurn, w.end.StopReason)
			require.Equal(t, c.cut, w.cut)
		})
	}
	gone := waitOn(t, 1, event.UserPrompt{PromptID: "p2"})
	require.ErrorContains(t, gone.state(t.Context(), &idle), "not in the log any more")
	// What came may be older than the prompt, and the prompt newer than the state.
	early := waitOn(t, 12, prompt, end)
	require.NoError(t, early.state(t.Context(), &idle))
	early.number, early.began = 1, 12
	require.NoError(t, early.state(t.Context(), &idle))
	require.Nil(t, early.end)
}

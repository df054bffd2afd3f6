package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// taken takes a session as another hub does that was granted a newer lease.
func (h *hub) taken(id string) journal.Log {
	h.t.Helper()
	lease, err := h.journal.Lease(ctxOf(h.t), id)
	require.NoError(h.t, err)
	log, err := lease.Log(ctxOf(h.t))
	require.NoError(h.t, err)
	return log
}

func TestASessionThatAnotherHubTookStopsItsAgentAndCloses(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(message("before")))
	other := h.taken(b.ID())
	last := other.Marks().Visible
	require.Error(t, a.say(message("fenced")))
	receive(t, a.over, "the agent still runs")
	receive(t, b.Done(), "the session is still open")
	s := b.State()
	require.Equal(t, session.AgentFailed, s.Agent.Status)
	require.Contains(t, s.Agent.Message, "another hub has the session")
	require.Equal(t, last, other.Marks().Visible, "a fenced session wrote to the log")
	_, _, err := other.Append(ctxOf(t), last+1, event.Draft{Type: event.TypeAgentMessage, Turn: 1, Data: []byte(`{"text":"owner"}`)})
	require.NoError(t, err)

	again := h.session(b.ID()) // which takes the lease back
	require.NotSame(t, b, again)
	requireLawful(t, again, true)
	require.Equal(t, event.StopHubRestart, payloads[event.TurnEnd](t, again)[0].StopReason)
}

func TestAPromptToASessionThatAnotherHubTookIsRefusedWithWords(t *testing.T) {
	h := newHub(t)
	b := h.create()
	other := h.taken(b.ID())
	_, err := b.Prompt(ctxOf(t), ask("p"))
	require.ErrorIs(t, err, state.ErrUnavailable)
	require.ErrorContains(t, err, "another hub has the session; use it there")
	receive(t, b.Done(), "the session is still open")
	require.Equal(t, event.Seq(1), other.Marks().Visible, "a fenced prompt is in the log")
	prompt(t, h.session(b.ID()), "p")
	require.Equal(t, "p", receive(t, h.agents.next(t).prompts, "no prompt").PromptID)
}

func TestAPromptForTheQueueOfASessionThatAnotherHubTookIsRefusedWithWords(t *testing.T) {
	for name, open := range map[string]func(*testing.T, ...hubOption) *hub{"in memory": newHub, "in files": newDiskHub} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			b, a := h.busy()
			h.taken(b.ID())
			_, err := b.Prompt(ctxOf(t), ask("waits"))
			require.ErrorIs(t, err, state.ErrUnavailable)
			require.ErrorContains(t, err, "another hub has the session; use it there")
			receive(t, a.over, "the agent still runs")
			receive(t, b.Done(), "the session is still open")
			again := h.session(b.ID()) // which takes the lease back
			require.Empty(t, again.Queue(), "a fenced prompt is in the queue")
			require.Equal(t, queue.Received, prompt(t, again, "waits").Outcome)
		})
	}
}

// A line that the log wrote by itself, as after a repair, is no reason to refuse an
// event.
func TestASessionGoesOnBehindALineThatItDidNotWrite(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	_, _, err := b.Log().Append(context.Background(), 0, event.Draft{Type: event.TypeNote, Data: []byte(`{"method":"the log"}`)})
	require.NoError(t, err)
	require.NoError(t, a.say(message("after")))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	list := shape(t, b)
	require.Contains(t, list, "note/0")
	require.Contains(t, list, "agent_message/1")
	require.Equal(t, "turn_end:end_turn/1", list[len(list)-1])
	require.Equal(t, b.Log().Marks().Visible, b.State().AtSeq)
}

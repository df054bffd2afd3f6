package blackbox_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestARealAgentsSessionIsContinued has a session of which only the agent knows any more.
// It is listed, continued with its past, resumed, and forked.
func TestARealAgentsSessionIsContinued(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		before := r.hub.create(r.agent.name)
		asked := []string{"[[say:the first answer]]", "Then this: [[say:the second answer]]"}
		for i, text := range asked {
			_, err := r.hub.hub.Ask(t.Context(), before.SessionID, wire.NewPrompt{PromptID: "before-" + string(rune('a'+i)), Text: text})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				ends := payloads[event.TurnEnd](t, onDisk(t, r.hub, before.SessionID))
				return len(ends) == i+1 && ends[i].StopReason == event.StopEndTurn
			}, patience, 20*time.Millisecond)
		}
		r.kill()
		r.start() // its agent is asleep, and is not asked to forget the session
		require.NoError(t, r.hub.hub.Delete(t.Context(), before.SessionID))

		var past wire.PastSession
		page, err := r.hub.hub.PastSessions(t.Context(), r.agent.name, before.Workspace, "")
		require.NoError(t, err)
		for _, s := range page.Sessions {
			require.Empty(t, s.SessionID)
			if s.Folder == before.Workspace {
				past = s
			}
		}
		require.NotEmpty(t, past.AgentSessionID, "%+v", page)
		require.Empty(t, past.Refused)
		session, err := r.hub.hub.Adopt(t.Context(), r.agent.name, wire.Adopt{AgentSessionID: past.AgentSessionID})
		require.NoError(t, err)
		require.Contains(t, session.Continue, past.AgentSessionID)
		again, err := r.hub.hub.Adopt(t.Context(), r.agent.name, wire.Adopt{AgentSessionID: past.AgentSessionID})
		require.NoError(t, err)
		require.Equal(t, session.SessionID, again.SessionID)

		c := r.screen("desk", session, 0)
		c.until("the end of its past", func(events []event.Event, _ *wire.State) bool {
			notes := payloads[event.Note](t, events)
			return len(notes) > 0 && notes[len(notes)-1].Method == "abide/adopted"
		})
		prompts := payloads[event.UserPrompt](t, c.seen())
		require.Len(t, prompts, len(asked))
		said := ""
		for _, m := range payloads[event.AgentMessage](t, c.seen()) {
			said += string(m.Text) + "\n"
		}
		for i, text := range asked {
			require.Equal(t, text, string(prompts[i].Text))
			require.Contains(t, said, []string{"the first answer", "the second answer"}[i])
		}
		require.Empty(t, payloads[event.Usage](t, c.seen()))

		c.prompt(session.SessionID, "after", "[[say:back again]]")
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds("after").StopReason)
		started := payloads[event.AgentStarted](t, c.seen())
		require.Len(t, started, 2)
		require.NotEmpty(t, started[1].Resumed)
		require.Len(t, payloads[event.UserPrompt](t, c.seen()), len(asked)+1)
		for _, n := range payloads[event.Note](t, c.seen()) {
			require.NotEqual(t, "abide/replay", n.Method, "%s", n.Text)
		}

		made := r.hub.fork(session.SessionID, c.seen()[len(c.seen())-1].Seq)
		fork := r.screen("phone", made, 0)
		fork.prompt(made.SessionID, "forked", "[[say:on another way]]")
		require.Equal(t, event.StopEndTurn, fork.untilTurnEnds("forked").StopReason)
		forked := payloads[event.AgentStarted](t, fork.seen())
		require.Len(t, forked, 1)
		if r.agent.name != "codex" { // it keeps the copy to itself until it ends
			require.NotEmpty(t, forked[0].Resumed, "the agent has a copy of its own session")
		}
		require.Len(t, payloads[event.UserPrompt](t, fork.seen()), 1, "nothing of the past is repeated")
		for _, n := range payloads[event.Note](t, fork.seen()) {
			require.NotEqual(t, "abide/replay", n.Method, "%s", n.Text)
		}
		requireTrueScreens(t, r.hub, session.SessionID, c)
		requireTrueScreens(t, r.hub, made.SessionID, fork)
	})
}

// fork forks a session at an event.
func (h *hub) fork(session string, at event.Seq) (made wire.SessionInfo) {
	h.t.Helper()
	body, err := json.Marshal(wire.NewFork{Seq: at})
	require.NoError(h.t, err)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, "http://"+h.addr+"/api/sessions/"+session+"/fork", bytes.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.token())
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	defer answer.Body.Close()
	require.Equal(h.t, http.StatusCreated, answer.StatusCode)
	require.NoError(h.t, json.NewDecoder(answer.Body).Decode(&made))
	return made
}

package blackbox_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// behind wraps an agent in a shell script, which must start it.
func behind(script string, a agent) agent {
	return agent{Command: append([]string{"sh", "-c", script + `; exec "$@"`, "sh"}, a.Command...), Env: a.Env}
}

// restarts is a session whose agent is restarted. The tap records every start of a
// process.
type restarts struct {
	*hub
	record  string
	session wire.SessionInfo
	desk    *screen
}

func newRestarts(t *testing.T, a agent) *restarts {
	t.Helper()
	r := &restarts{record: filepath.Join(t.TempDir(), "record")}
	r.hub = newHub(t, settings{agents: map[string]agent{"demo": tapped(t, r.record, a)}})
	r.session = r.create("demo")
	r.desk = r.screen("desk", r.session, 0)
	return r
}

// restart sends the request over the socket.
func (r *restarts) restart() {
	r.t.Helper()
	require.NoError(r.t, r.desk.socket().Send(r.t.Context(), &wire.RestartAgent{SessionID: r.session.SessionID}))
}

// untilAgent waits for a state of the agent and returns it.
func (r *restarts) untilAgent(what string, ok func(wire.Agent) bool) wire.Agent {
	r.t.Helper()
	var agent wire.Agent
	r.desk.until(what, func(_ []event.Event, s *wire.State) bool {
		if s == nil || !ok(s.Agent) {
			return false
		}
		agent = s.Agent
		return true
	})
	return agent
}

func (r *restarts) untilReady() {
	r.t.Helper()
	r.untilAgent("a ready agent", func(a wire.Agent) bool { return a.Status == state.AgentReady })
}

// requireSound requires that the agent works, that no two of its processes ran at
// the same time, and that as many processes as given started and have an exit in
// the log. If processes is negative, some may have ended before the tap recorded
// them.
func (r *restarts) requireSound(processes int) {
	r.t.Helper()
	r.desk.prompt(r.session.SessionID, "last", "/plan (last)")
	require.Equal(r.t, event.StopEndTurn, r.desk.untilTurnEnds("last").StopReason)
	given := readRecord(r.t, r.record)
	require.Empty(r.t, given.rivals, "two agents were alive at once")
	for text, times := range given.prompts {
		require.Equal(r.t, 1, times, "%q was given to agents %d times", text, times)
	}
	requireTrueScreens(r.t, r.hub, r.session.SessionID, r.desk)
	exits := payloads[event.AgentExit](r.t, r.desk.seen())
	if processes < 0 {
		require.GreaterOrEqual(r.t, len(exits), len(given.children))
		return
	}
	require.Len(r.t, given.children, processes, "processes that were started")
	require.Len(r.t, exits, processes)
}

func TestAnAgentIsRestartedInWhateverStateItIs(t *testing.T) {
	t.Parallel()
	t.Run("never started", func(t *testing.T) {
		t.Parallel()
		r := newRestarts(t, demo())
		r.restart()
		r.untilReady()
		r.requireSound(1)
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		r := newRestarts(t, demo())
		r.desk.prompt(r.session.SessionID, "p1", "/plan")
		r.desk.untilTurnEnds("p1")
		r.restart()
		r.desk.until("the second agent", func(events []event.Event, _ *wire.State) bool {
			return len(payloads[event.AgentStarted](t, events)) == 2
		})
		r.requireSound(2)
	})
	t.Run("starting", func(t *testing.T) {
		t.Parallel()
		gate := filepath.Join(t.TempDir(), "gate")
		r := newRestarts(t, behind(`while [ ! -e '`+gate+`' ]; do sleep 0.05; done`, demo()))
		r.desk.prompt(r.session.SessionID, "p1", "/plan (first)")
		for n := range 3 {
			require.Eventually(t, func() bool { return recorded(t, r.record, "child") == n+1 }, patience, 10*time.Millisecond)
			r.untilAgent("an agent that starts", func(a wire.Agent) bool { return a.Status == state.AgentStarting })
			r.restart()
		}
		require.NoError(t, os.WriteFile(gate, nil, 0o600))
		require.Equal(t, event.StopEndTurn, r.desk.untilTurnEnds("p1").StopReason, "a prompt that no agent got is lost")
		r.requireSound(4)
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		repaired := filepath.Join(t.TempDir(), "repaired")
		r := newRestarts(t, behind(`[ -e '`+repaired+`' ] || exit 7`, demo()))
		r.desk.prompt(r.session.SessionID, "p1", "/plan (first)")
		require.Equal(t, event.StopAgentExit, r.desk.untilTurnEnds("p1").StopReason)
		failed := r.untilAgent("a failed agent", func(a wire.Agent) bool { return a.Status == state.AgentFailed })
		require.Contains(t, failed.Message, "demo")
		require.NoError(t, os.WriteFile(repaired, nil, 0o600))
		r.restart()
		r.untilReady()
		r.requireSound(2)
	})
	t.Run("backing off", func(t *testing.T) {
		t.Parallel()
		r := newRestarts(t, demo())
		for n := range 4 { // the fourth pause is eight seconds
			r.desk.prompt(r.session.SessionID, fmt.Sprint("crash-", n), fmt.Sprintf("/crash (%d)", n))
		}
		r.desk.prompt(r.session.SessionID, "p1", "/plan (waiting)")
		r.desk.untilTurnEnds("crash-3")
		pausing := r.untilAgent("an agent that is not started yet", func(a wire.Agent) bool { return !a.RestartAt.IsZero() })
		r.restart()
		r.untilAgent("an agent that starts", func(a wire.Agent) bool { return a.RestartAt.IsZero() && a.Status != state.AgentFailed })
		require.True(t, time.Now().Before(pausing.RestartAt), "a person's restart waited")
		require.Equal(t, event.StopEndTurn, r.desk.untilTurnEnds("p1").StopReason)
		r.requireSound(5)
	})
	t.Run("in mid-turn", func(t *testing.T) {
		t.Parallel()
		r := newRestarts(t, paced())
		r.desk.prompt(r.session.SessionID, "p1", "/slow 600")
		r.desk.prompt(r.session.SessionID, "p2", "/plan (waiting)")
		r.desk.until("some of the answer", func(events []event.Event, _ *wire.State) bool {
			return len(payloads[event.AgentMessage](t, events)) > 3
		})
		r.restart()
		require.Equal(t, event.StopInterrupted, r.desk.untilTurnEnds("p1").StopReason)
		require.Equal(t, event.StopEndTurn, r.desk.untilTurnEnds("p2").StopReason)
		r.requireSound(2)
	})
}

// TestManyRestartsAtOnceNeverLetTwoAgentsMeet sends restarts from many sockets and
// over HTTP while prompts run.
func TestManyRestartsAtOnceNeverLetTwoAgentsMeet(t *testing.T) {
	t.Parallel()
	r := newRestarts(t, demo())
	token := r.token()
	for round := range 4 {
		r.desk.prompt(r.session.SessionID, fmt.Sprint("p", round), fmt.Sprintf("/stubborn 60 (%d)", round))
		// The first word of this turn's answer: the stopped agent may still send later words of
		// its own.
		r.desk.until("an agent at work", func(events []event.Event, _ *wire.State) bool {
			return slices.ContainsFunc(events, func(e event.Event) bool {
				return e.Turn == round+1 && slices.ContainsFunc(payloads[event.AgentMessage](t, []event.Event{e}), func(m event.AgentMessage) bool {
					return strings.HasPrefix(string(m.Text), "I ")
				})
			})
		})
		together(8, func(i int) {
			if i%2 == 0 {
				r.restart()
				return
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr+"/api/sessions/"+r.session.SessionID+"/restart", nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			res.Body.Close()
			require.Equal(t, http.StatusAccepted, res.StatusCode)
		})
		require.Equal(t, event.StopInterrupted, r.desk.untilTurnEnds(fmt.Sprint("p", round)).StopReason)
	}
	r.untilReady()
	require.Empty(t, readRecord(t, r.record).rivals)
	require.Eventually(t, func() bool { return len(marked(r.id()+".")) == 2 }, patience, 20*time.Millisecond, "one tap and one agent are left")
	r.requireSound(-1)
}

// recorded counts the tap's lines of one kind.
func recorded(t *testing.T, record, kind string) int {
	if _, err := os.Stat(record); err != nil {
		return 0 // no tap has started yet
	}
	r := readRecord(t, record)
	return map[string]int{"child": len(r.children), "rivals": len(r.rivals)}[kind]
}

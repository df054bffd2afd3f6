package blackbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// TestFault34AnAnswerToNoOpenRequestIsRefused answers a request that does not
// exist, requests that are already settled or cancelled, and one of another
// session.
func TestFault34AnAnswerToNoOpenRequestIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session, other := h.create("demo"), h.create("demo")
	desk, elsewhere := h.screen("desk", session, 0), h.screen("elsewhere", other, 0)
	answer := func(session, permission, option string) wire.Code {
		_, err := desk.socket().Answer(t.Context(), wire.PermissionAnswer{SessionID: session, PermissionID: permission, OptionID: option})
		return codeOf(err)
	}
	desk.prompt(session.SessionID, "p1", "/ask")
	elsewhere.prompt(other.SessionID, "p1", "/ask")
	asked, foreign := desk.untilAsked(1), elsewhere.untilAsked(1)
	require.Equal(t, wire.CodeNotFound, answer(session.SessionID, "never-was", "yes"))
	require.Equal(t, wire.CodeNotFound, answer(session.SessionID, foreign.PermissionID, "yes"), "another session's request")
	require.Equal(t, wire.CodeInvalid, answer(session.SessionID, asked.PermissionID, "maybe"), "no such option")
	require.Empty(t, payloads[event.PermissionOutcome](t, desk.seen()), "a refused answer settled something")

	desk.cancel(session.SessionID)
	desk.untilTurnEnds("p1")
	require.Equal(t, wire.CodeAlreadyResolved, answer(session.SessionID, asked.PermissionID, "yes"), "it was cancelled")
	desk.prompt(session.SessionID, "p2", "/ask")
	h.kill()
	h.start()
	desk.untilTurnEnds("p2")
	for _, r := range payloads[event.PermissionRequest](t, desk.seen()) {
		require.Equal(t, wire.CodeAlreadyResolved, answer(session.SessionID, r.PermissionID, "yes"), "a request of the dead agent")
	}
	for _, o := range payloads[event.PermissionOutcome](t, desk.seen()) {
		require.Equal(t, event.OutcomeCancelled, o.Outcome)
	}
	requireTrueScreens(t, h, session.SessionID, desk)
}

// TestFault35ARequestNobodyWatchesWaits lets an agent ask for a permission while no
// client is connected. A client that connects later answers it. A request that is
// open when the hub is killed is cancelled, and the agent never gets an answer.
func TestFault35ARequestNobodyWatchesWaits(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	session := h.create("demo")
	path := filepath.Join(h.data, "sessions", session.SessionID, "events.jsonl")
	leave := func(promptID string, requests int) {
		plain := h.raw("/api/ws")
		plain.write(`{"type":"prompt","request_id":"r","session_id":"` + session.SessionID + `","prompt_id":"` + promptID + `","text":"/ask (` + promptID + `)"}`)
		plain.next("prompt_received")
		plain.conn.CloseNow()
		require.Eventually(t, func() bool {
			log, err := os.ReadFile(path)
			require.NoError(t, err)
			return bytes.Count(log, []byte(`"type":"permission_request"`)) == requests
		}, patience, 10*time.Millisecond)
	}
	leave("p1", 1)
	late := h.screen("late", session, 0)
	late.until("the pending request", func(_ []event.Event, s *wire.State) bool {
		return s != nil && len(s.PendingPermissions) == 1
	})
	late.answer(session.SessionID, late.untilAsked(1), event.AllowOnce)
	require.Equal(t, event.StopEndTurn, late.untilTurnEnds("p1").StopReason)

	leave("p2", 2)
	h.kill()
	h.start()
	require.Equal(t, event.StopHubRestart, late.untilTurnEnds("p2").StopReason)
	outcomes := payloads[event.PermissionOutcome](t, late.seen())
	require.Len(t, outcomes, 2)
	require.Equal(t, event.OutcomeSelected, outcomes[0].Outcome)
	require.Equal(t, event.OutcomeCancelled, outcomes[1].Outcome)
	require.Equal(t, 1, readRecord(t, record).prompts["/ask (p2)"])
	requireTrueScreens(t, h, session.SessionID, late)
}

// TestFault47ACrashLoopBacksOffAndStops has an agent that crashes at every prompt,
// and a full queue. The hub restarts it with growing pauses and then gives up. The
// waiting prompts stay in the queue until a person decides.
func TestFault47ACrashLoopBacksOffAndStops(t *testing.T) {
	t.Parallel()
	r := newRestarts(t, demo())
	for _, id := range []string{"c1", "c2", "c3", "c4", "c5", "c6"} {
		r.desk.prompt(r.session.SessionID, id, "/crash ("+id+")")
	}
	failed := r.untilAgent("an agent that was given up", func(a wire.Agent) bool { return a.Status == state.AgentFailed })
	require.Contains(t, failed.Message, "5th time")
	given := readRecord(t, r.record)
	require.Len(t, given.children, 5)
	require.Empty(t, given.rivals)
	require.Zero(t, given.prompts["/crash (c6)"], "a waiting prompt was sent")
	var began []time.Time
	for _, e := range r.desk.seen() {
		if e.Type == event.TypeAgentStarted {
			began = append(began, e.Time)
		}
	}
	for n, pause := range []time.Duration{1, 2, 4, 8} {
		require.GreaterOrEqual(t, began[n+1].Sub(began[n]), pause*time.Second, "start %d", n+2)
	}
	r.restart()
	require.Equal(t, event.StopAgentExit, r.desk.untilTurnEnds("c6").StopReason, "a person's restart goes on")
	r.requireSound(7)
}

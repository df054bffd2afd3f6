package blackbox_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestAnAgentComesBackByTheBestWayItOffers kills an agent in the middle of a turn.
// The next one continues by session/resume, by session/load, or in a new ACP
// session with a summary. No event may be in the log twice.
func TestAnAgentComesBackByTheBestWayItOffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ resumed, hidden string }{{"resume", ""}, {"load", "resume"}, {"", "resume load"}} {
		t.Run("by "+c.resumed, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			spec := demo()
			spec.Env = map[string]string{hiddenName: c.hidden}
			h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, spec)}})
			session := h.create("demo")
			screen := h.screen("screen", session, 0)
			screen.prompt(session.SessionID, "p0", "/edit first.txt")
			screen.answer(session.SessionID, screen.untilAsked(1), event.AllowOnce)
			screen.untilTurnEnds("p0")
			screen.prompt(session.SessionID, "p1", "/edit notes.txt")
			screen.untilAsked(2)
			remember(t, record)
			require.NoError(t, syscall.Kill(readRecord(t, record).children[0], syscall.SIGKILL))
			require.Equal(t, event.StopAgentExit, screen.untilTurnEnds("p1").StopReason)
			before := len(screen.seen())

			screen.prompt(session.SessionID, "again", "/plan")
			require.Equal(t, event.StopEndTurn, screen.untilTurnEnds("again").StopReason)
			after := screen.seen()[before:]
			given := readRecord(t, record)
			require.Len(t, given.children, 2)
			require.Empty(t, given.rivals)
			require.Equal(t, map[string]int{"/edit first.txt": 1, "/edit notes.txt": 1, "/plan": 1}, given.prompts)
			started := payloads[event.AgentStarted](t, after)
			require.Len(t, started, 1)
			require.Equal(t, c.resumed, string(started[0].Resumed))
			require.Equal(t, c.resumed == "", started[0].ContextLost)
			for _, e := range after {
				require.NotContains(t, string(e.Data), "first.txt", "%s", e.Type)
			}
			var forgotten []string
			for _, n := range payloads[event.Note](t, after) {
				if n.Method == "abide/replay" {
					forgotten = append(forgotten, string(n.Raw))
				}
			}
			if c.resumed == "load" {
				// The demo agent stores a turn when it ends. This turn never ended.
				require.Len(t, forgotten, 1)
				require.JSONEq(t, `{"extra_prompts":[],"extra_tool_calls":[],"missing_prompts":["/edit notes.txt"],"updates":5}`, forgotten[0])
			} else {
				require.Empty(t, forgotten)
			}
			account := given.accounts["/plan"]
			if c.resumed == "" {
				require.Contains(t, account, "- /edit first.txt\n- /edit notes.txt\n")
				require.NotContains(t, account, "/plan", "the current prompt is in the summary of earlier ones")
			} else {
				require.Empty(t, account)
			}
			requireTrueScreens(t, h, session.SessionID, screen)
		})
	}
}

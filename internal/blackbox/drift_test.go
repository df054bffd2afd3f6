package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestAnAgentThatMayDoMoreWaitsForAPersonWhoManages restarts the built-in agent in
// mode auto, which it does not let the hub change, after it worked in mode ask.
func TestAnAgentThatMayDoMoreWaitsForAPersonWhoManages(t *testing.T) {
	t.Parallel()
	mode := filepath.Join(t.TempDir(), "mode")
	require.NoError(t, os.WriteFile(mode, []byte("ask"), 0o600))
	moody := agent{Command: []string{"sh", "-c", fmt.Sprintf("exec %s demo-agent --speed 0 --mode $(cat %s)", binary(), mode)}}
	h := newHub(t, settings{agents: map[string]agent{"moody": moody}})
	session := h.create("moody")
	id := session.SessionID
	tab := h.screen("tab", session, 0)
	tab.prompt(id, "p1", "/fail provider")
	tab.untilTurnEnds("p1")
	h.kill()
	require.NoError(t, os.WriteFile(mode, []byte("auto --locked"), 0o600))
	h.start()

	// The resume starts the agent. Its settings are unknown before.
	first, err := h.hub.Interruption(t.Context(), id)
	require.NoError(t, err)
	_, err = h.hub.Resume(t.Context(), id, wire.Resume{InterruptionID: first.InterruptionID, Prompt: "/plan"})
	require.NoError(t, err)
	tab.untilTurnEnds("resume-" + first.InterruptionID)
	offer, err := h.hub.Interruption(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []wire.Drift{{Field: "mode", Recorded: "ask", Current: "auto", AllowsMore: true}}, offer.Drift)
	require.Empty(t, payloads[event.Plan](t, tab.seen()), "the agent got the prompt")

	guest, err := client.New("http://"+h.addr, h.token("--scope", "collaborator", "--session", id))
	require.NoError(t, err)
	t.Cleanup(guest.Close)
	for _, choice := range []string{"apply", "keep"} {
		_, err = guest.Resume(t.Context(), id, wire.Resume{InterruptionID: offer.InterruptionID, Drift: choice})
		var refused *client.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, wire.CodeForbidden, refused.Code)
	}
	resumed, err := h.hub.Resume(t.Context(), id, wire.Resume{InterruptionID: offer.InterruptionID, Drift: "keep"})
	require.NoError(t, err)
	require.Equal(t, event.StopEndTurn, tab.untilTurnEnds(resumed.PromptID).StopReason)
	require.NotEmpty(t, payloads[event.Plan](t, tab.seen()))
	modes := payloads[event.Mode](t, tab.seen())
	require.Equal(t, "auto", modes[len(modes)-1].ModeID)
}

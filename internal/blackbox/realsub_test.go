package blackbox_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestARealAgentGoesOnAfterItWasCutOffWithASubAgentAtWork lets the sub-agent's
// model answer without an end.
func TestARealAgentGoesOnAfterItWasCutOffWithASubAgentAtWork(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		if r.agent.subAgent == "" {
			t.Skipf("no script makes %s start a sub-agent", r.agent.name)
		}
		for reason, cut := range r.realCuts(t) {
			session, c, open := r.cutOff(t, r.agent.delegate("[[hang]]"), hasType(event.TypeToolCallUpdate), cut)
			require.Equal(t, reason, open.Reason)
			require.Equal(t, event.PhaseDelegating, open.Phase, reason)
			require.Contains(t, open.Prompt, "A sub-agent was working")
			r.goesOnFrom(t, session, c, open)
		}
	})
}

// TestARealAgentIsToldAllOfASessionInSegments interrupts a turn after a long
// answer.
func TestARealAgentIsToldAllOfASessionInSegments(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		made := r.create(r.agent.name)
		session, c := made.SessionID, r.screen("desk", made, 0)
		c.prompt(session, "p0", "[[big:64]]")
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p0").StopReason)
		c.prompt(session, "p1", "[[hang]]")
		c.until("the turn", hasTypes(event.TypeTurnStart, 2))
		r.kill()
		r.start()
		c.untilTurnEnds("p1")
		open, err := r.hub.hub.Interruption(t.Context(), session)
		require.NoError(t, err)
		resumed, err := r.hub.hub.Resume(t.Context(), session, wire.Resume{
			InterruptionID: open.InterruptionID, Way: string(event.WaySegmented), Prompt: "[[say:all of it was told]]",
		})
		require.NoError(t, err)
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(resumed.PromptID).StopReason)
		segments := 0
		for _, n := range payloads[event.Note](t, c.seen()) {
			if n.Method == "abide/restore_segment" {
				segments++
			}
		}
		require.Greater(t, segments, 2)
		require.Len(t, payloads[event.UserPrompt](t, c.seen()), 3, "a segment was logged as a prompt")
		requireTrueScreens(t, r.hub, session, c)
	})
}

// delegate returns a prompt that makes the model call the agent's sub-agent tool.
func (a realAgent) delegate(prompt string) string {
	args, _ := json.Marshal(map[string]string{"description": "Explore", "prompt": prompt, "subagent_type": a.subAgentKind})
	// The sub-agent's model unescapes the brackets.
	return "[[tool:" + a.subAgent + "|" + strings.NewReplacer("[", `\u005b`, "]", `\u005d`).Replace(string(args)) + "]]"
}

package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// inMode makes every started agent report its mode, model and MCP servers.
func inMode(h *hub, mode, version string, servers ...string) {
	h.agents.resumable = true
	h.agents.hello = func(p *event.AgentStarted) {
		p.Name, p.Version = "Fake", version
		p.Settings = &event.AgentSettings{Mode: mode, MCPServers: append([]string{}, servers...), Rules: []string{}}
	}
	h.agents.after = []event.Payload{
		event.Mode{ModeID: mode, Modes: []event.ModeOption{{ID: "ask"}, {ID: "auto"}}},
		event.Config{Options: json.RawMessage(`[{"id":"model","category":"model","currentValue":"m` + version + `"}]`)},
	}
}

// driftedHub returns a session whose turn was interrupted in mode ask and whose
// next agent starts in mode auto.
func driftedHub(t *testing.T) (*hub, *session.BackgroundSession, state.Interruption) {
	t.Helper()
	h := newHub(t, clean)
	inMode(h, "ask", "1")
	b, a := h.busy()
	inMode(h, "auto", "2")
	a.die(crash)
	return h, b, interruptionOf(t, b)
}

// TestAnAgentThatComesBackWithMoreRightsIsGivenNothingBeforeAPersonChose covers the
// whole flow: the first resume finds the changed mode, the second one decides.
func TestAnAgentThatComesBackWithMoreRightsIsGivenNothingBeforeAPersonChose(t *testing.T) {
	for _, choice := range []resume.DriftChoice{resume.DriftApply, resume.DriftKeep} {
		t.Run(string(choice), func(t *testing.T) {
			h, b, open := driftedHub(t)
			after := h.copyOf(t, clean)
			inMode(after, "auto", "2")
			after.agents.refuses = map[string]bool{"mode": true}
			b = after.session(b.ID())
			first := interruptionOf(t, b)
			require.Equal(t, open.InterruptionID, first.InterruptionID)
			_, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: first.InterruptionID, Prompt: "go on", Actor: person("ann")})
			require.NoError(t, err)
			a := after.agents.next(t)
			paused := await(t, b, "paused", func(s session.State) bool {
				return s.Interruption != nil && s.Interruption.InterruptionID != first.InterruptionID
			}).Interruption
			require.Equal(t, event.CutPaused, paused.Reason)
			require.Empty(t, a.prompts)

			offer, err := b.Interruption(ctxOf(t))
			require.NoError(t, err)
			require.Equal(t, "go on", offer.Prompt)
			require.Equal(t, []resume.Drift{
				{Field: "version", Recorded: "1", Current: "2"},
				{Field: "mode", Recorded: "ask", Current: "auto", AllowsMore: true},
			}, offer.Drift)
			after.agents.refuses = nil // the person had it mended

			r := session.ResumeRequest{InterruptionID: paused.InterruptionID, Actor: person("ann")}
			_, err = b.Resume(ctxOf(t), r)
			var needs *resume.NeedsConfirmation
			require.ErrorAs(t, err, &needs)
			require.Equal(t, []string{"drift"}, needs.Needs)
			r.Drift = choice
			_, err = b.Resume(ctxOf(t), r)
			require.ErrorIs(t, err, state.ErrForbidden)
			r.MayManage = true
			resumed, err := b.Resume(ctxOf(t), r)
			require.NoError(t, err)
			require.Equal(t, resumed.PromptID, receive(t, a.prompts, "no prompt").PromptID)
			mode := map[resume.DriftChoice]string{resume.DriftApply: "ask", resume.DriftKeep: "auto"}[choice]
			require.Equal(t, mode, b.State().Mode.ModeID)
			require.NotEmpty(t, noted(t, b, "abide/settings"))
		})
	}
}

func TestAPausedQueueWaitsWhateverTheQueueSays(t *testing.T) {
	h := newHub(t) // the queue continues after an interruption
	inMode(h, "ask", "1")
	b, a := h.busy()
	prompt(t, b, "second")
	prompt(t, b, "third")
	inMode(h, "auto", "1")
	h.agents.refuses = map[string]bool{"mode": true}
	a.die(crash)
	a = h.agents.next(t)
	a = laterAgent(t, h, a)
	paused := await(t, b, "paused", func(s session.State) bool {
		return s.Interruption != nil && s.Interruption.Reason == event.CutPaused
	})
	require.Len(t, paused.Queue, 1)
	require.True(t, paused.Interruption.Held)
	require.Empty(t, a.prompts)
}

// laterAgent returns the newest agent, or a if no other was started.
func laterAgent(t *testing.T, h *hub, a *fakeAgent) *fakeAgent {
	t.Helper()
	select {
	case b := <-h.agents.started:
		return b
	default:
		return a
	}
}

func TestAChoiceMadeBeforeTheAgentIsBackCountsWhenItIs(t *testing.T) {
	h, b, open := driftedHub(t)
	after := h.copyOf(t, clean)
	inMode(after, "auto", "2")
	b = after.session(b.ID())
	_, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Drift: resume.DriftApply, MayManage: true, Actor: person("ann")})
	require.NoError(t, err)
	a := after.agents.next(t)
	require.Equal(t, "resume-"+open.InterruptionID, receive(t, a.prompts, "no prompt").PromptID)
	require.Equal(t, "ask", b.State().Mode.ModeID)
}

func TestAModeThatAPersonChoseIsNoDrift(t *testing.T) {
	h := newHub(t, clean)
	inMode(h, "ask", "1")
	b, a := h.busy()
	a.die(crash)
	interruptionOf(t, b)
	require.NoError(t, b.SetMode(ctxOf(t), "auto", person("ann")))
	prompt(t, b, "next")
	a = h.agents.next(t)
	require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
}

func TestSettingsThatAllowNoMoreAreToldAndKept(t *testing.T) {
	h := newHub(t)
	inMode(h, "auto", "1", "files", "git")
	b, a := h.busy()
	call := toolCall("t1", event.ToolCompleted)
	call.Title = "mcp__files__read"
	require.NoError(t, a.say(call))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	inMode(h, "auto", "2", "git")
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	prompt(t, b, "next")
	a = h.agents.next(t)
	require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
	require.Contains(t, string(noted(t, b, "abide/settings")[1].Text), "version 2 (recorded: 1), MCP servers git (recorded: files, git)")
	gone := noted(t, b, "abide/mcp_tools_gone")
	require.Len(t, gone, 1)
	require.Contains(t, string(gone[0].Text), "mcp__files__read")
	require.NoError(t, a.end("next", event.StopEndTurn))
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	h.agents.next(t)
	require.Eventually(t, func() bool { return b.State().Agent.Status == session.AgentReady }, patience, time.Millisecond)
	require.Len(t, noted(t, b, "abide/mcp_tools_gone"), 1)
}

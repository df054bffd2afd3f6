package session_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// resumesItself turns automatic resume on.
func resumesItself(o *session.Options, to *store.Options) {
	clean(o, to)
	o.Agents = []settings.Agent{{Name: "fake", Resume: settings.Resume{Auto: true}, Delegating: []string{"Task"}}}
}

func TestTheHubResumesATurnByItselfTwiceAndThenAPersonDecides(t *testing.T) {
	h := newHub(t, resumesItself)
	h.agents.resumable = true
	b, a := h.busy()
	seen := map[string]bool{}
	for range 2 {
		a.die(crash)
		a = h.agents.next(t)
		given := receive(t, a.prompts, "the turn was not resumed")
		require.False(t, seen[given.PromptID])
		seen[given.PromptID] = true
		require.Equal(t, "hub", given.Actor)
	}
	a.die(crash)
	interruptionOf(t, b)
	require.Eventually(t, func() bool { return len(h.agents.started) == 1 }, patience, time.Millisecond) // the agent was started again
	require.Equal(t, state.StatusInterrupted, b.Info().Status)
	require.Empty(t, h.agents.next(t).prompts)
	told := noted(t, b, "abide/resumed")
	require.Len(t, told, 2)
	require.Contains(t, string(told[0].Text), "continues its own session")
	require.Contains(t, string(told[0].Text), "no answer yet")
	var counts resume.Counts
	require.Eventually(t, func() bool { // the list follows the log
		counts = h.manager.ResumeCounts()
		return counts.Interrupted[event.PhaseStreaming] == 3
	}, patience, time.Millisecond)
	require.Equal(t, map[event.TurnPhase]int{event.PhaseStreaming: 3}, counts.Interrupted)
	require.Equal(t, 2, counts.Resumed[event.PhaseStreaming][event.WayServer])
	require.Equal(t, 2, counts.Failed)
	for _, settled := range payloads[event.InterruptionSettled](t, b) {
		require.Equal(t, "hub", settled.By)
	}
}

func TestTheHubResumesNothingByItselfThatAPersonHasToConfirm(t *testing.T) {
	t.Run("the agent comes back with more rights", func(t *testing.T) {
		h := newHub(t, resumesItself)
		inMode(h, "ask", "1")
		b, a := h.busy()
		inMode(h, "auto", "1")
		h.agents.refuses = map[string]bool{"mode": true}
		a.die(crash)
		await(t, b, "paused", func(s session.State) bool {
			return s.Interruption != nil && s.Interruption.Reason == event.CutPaused
		})
		require.Empty(t, h.agents.next(t).prompts)
	})
	t.Run("it is stale", func(t *testing.T) {
		h := newHub(t, func(o *session.Options, to *store.Options) {
			resumesItself(o, to)
			o.Agents[0].Resume.StaleAfter = time.Nanosecond
		})
		b, a := h.busy()
		prompt(t, b, "waits") // so that the agent is started again
		a.die(crash)
		open := interruptionOf(t, b)
		again := h.agents.next(t)
		require.Eventually(t, func() bool { return b.State().Agent.Status == session.AgentReady }, patience, time.Millisecond)
		require.Empty(t, again.prompts)
		require.Equal(t, open.InterruptionID, b.State().Interruption.InterruptionID)
	})
	t.Run("another branch is checked out", func(t *testing.T) {
		var branch atomic.Value
		branch.Store("main")
		h := newHub(t, func(o *session.Options, to *store.Options) {
			resumesItself(o, to)
			o.InspectWorkspace = func(context.Context, string, bool) resume.Workspace {
				return resume.Workspace{Folder: "1:2", Repository: true, Branch: branch.Load().(string), Commit: "c"}
			}
		})
		b, a := h.busy()
		require.Eventually(t, func() bool { return len(payloads[event.WorkspaceSeen](t, b)) == 1 }, patience, patience/1000)
		branch.Store("fix")
		prompt(t, b, "waits") // so that the agent is started again
		a.die(crash)
		open := interruptionOf(t, b)
		again := h.agents.next(t)
		require.Eventually(t, func() bool { return b.State().Agent.Status == session.AgentReady }, patience, time.Millisecond)
		require.Empty(t, again.prompts)
		require.Equal(t, open.InterruptionID, b.State().Interruption.InterruptionID)
	})
	t.Run("the workspace is gone", func(t *testing.T) {
		h := newHub(t, resumesItself)
		b, a := h.busy()
		require.NoError(t, os.RemoveAll(h.workspace))
		a.die(crash)
		open := interruptionOf(t, b)
		again := h.agents.next(t)
		require.Eventually(t, func() bool { return b.State().Agent.Status == session.AgentReady }, patience, time.Millisecond)
		require.Empty(t, again.prompts)
		require.Equal(t, open.InterruptionID, b.State().Interruption.InterruptionID)
	})
}

func TestACallWhoseTitleTheConfigurationNamesIsASubAgent(t *testing.T) {
	h := newHub(t, func(o *session.Options, to *store.Options) {
		resumesItself(o, to)
		o.Agents[0].Resume.Auto = false
	})
	b, a := h.busy()
	call := toolCall("t1", event.ToolInProgress)
	call.Title = "task"
	require.NoError(t, a.say(call))
	// OpenCode sends the real title of a call in an update.
	more := toolUpdate("t1", event.ToolInProgress)
	more.Title = "Explore the code"
	require.NoError(t, a.say(more))
	a.die(crash)
	require.Equal(t, event.PhaseDelegating, interruptionOf(t, b).Phase)
}

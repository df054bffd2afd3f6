package blackbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// cutOff is a phase of a turn in which the test interrupts it.
type cutOff struct {
	phase  event.TurnPhase
	prompt string
	// under reports whether the turn is in the phase.
	under func(events []event.Event, _ *wire.State) bool
	// told is text that the resuming prompt must contain.
	told string
}

func phases() []cutOff {
	return []cutOff{
		{event.PhaseStreaming, "/slow 600", hasType(event.TypeAgentMessage), "You were writing an answer"},
		{event.PhaseTools, "/ask", hasType(event.TypePermissionRequest), "- echo hello"},
		{event.PhaseDelegating, "/delegate 600", hasTypes(event.TypeToolCall, 2), "- Explore the workspace"},
	}
}

// hasTypes is true once there are n events of a type.
func hasTypes(kind event.Type, n int) func([]event.Event, *wire.State) bool {
	return func(events []event.Event, _ *wire.State) bool {
		found := 0
		for _, e := range events {
			if e.Type == kind {
				found++
			}
		}
		return found >= n
	}
}

// begun has a running turn for each phase, each in a separate session.
type begun struct {
	cutOff
	session wire.SessionInfo
	screen  *screen
	record  string
}

func beginAll(t *testing.T) (*hub, []begun) {
	agents := map[string]agent{}
	var list []begun
	for i, phase := range phases() {
		record := filepath.Join(t.TempDir(), "record")
		agents[fmt.Sprint("demo", i)] = tapped(t, record, agent{Command: []string{binary(), "demo-agent", "--speed", "10"}})
		list = append(list, begun{cutOff: phase, record: record})
	}
	h := newHub(t, settings{agents: agents})
	for i := range list {
		b := &list[i]
		b.session = h.create(fmt.Sprint("demo", i))
		b.screen = h.screen(string(b.phase), b.session, 0)
		b.screen.prompt(b.session.SessionID, "p1", b.prompt)
		b.screen.until("the phase", b.under)
	}
	return h, list
}

// requireResumed resumes a turn that was interrupted for a reason. It requires that
// the turn ends and that no agent got a prompt twice.
func (b begun) requireResumed(t *testing.T, h *hub, reason event.InterruptReason) {
	t.Helper()
	b.screen.untilTurnEnds("p1")
	open, err := h.hub.Interruption(t.Context(), b.session.SessionID)
	require.NoError(t, err)
	require.Equal(t, reason, open.Reason)
	require.Equal(t, b.phase, open.Phase)
	require.Contains(t, open.Prompt, b.told)
	resumed, err := h.hub.Resume(t.Context(), b.session.SessionID, wire.Resume{InterruptionID: open.InterruptionID, Prompt: "/plan (resumed)"})
	require.NoError(t, err)
	require.Equal(t, event.StopEndTurn, b.screen.untilTurnEnds(resumed.PromptID).StopReason)
	given := readRecord(t, b.record)
	require.Empty(t, given.rivals)
	for text, times := range given.prompts {
		require.Equal(t, 1, times, text)
	}
	requireTrueScreens(t, h, b.session.SessionID, b.screen)
}

func TestTurnsOfEachPhaseAreResumedAfterTheHubWasKilled(t *testing.T) {
	t.Parallel()
	h, list := beginAll(t)
	h.kill()
	h.start()
	for _, b := range list {
		b.requireResumed(t, h, event.CutHubRestart)
	}
}

func TestTurnsOfEachPhaseAreResumedAfterTheHubWasStopped(t *testing.T) {
	t.Parallel()
	h, list := beginAll(t)
	h.stop()
	h.start()
	for _, b := range list {
		b.requireResumed(t, h, event.CutHubStop)
	}
}

func TestTurnsOfEachPhaseAreResumedAfterTheirAgentsWereKilled(t *testing.T) {
	t.Parallel()
	h, list := beginAll(t)
	for _, b := range list {
		require.NoError(t, syscall.Kill(readRecord(t, b.record).children[0], syscall.SIGKILL))
	}
	for _, b := range list {
		b.requireResumed(t, h, event.CutAgentExit)
	}
}

// TestARealAgentGoesOnAfterItsHubWasKilledInACommand interrupts a turn that has
// written a file and is in the middle of a command.
func TestARealAgentGoesOnAfterItsHubWasKilledInACommand(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) { goesOnAfter(t, r, r.kill, event.CutHubRestart) })
}

func TestARealAgentGoesOnAfterItWasKilledInACommand(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		goesOnAfter(t, r, func() {
			children := readRecord(t, r.record).children
			require.NoError(t, syscall.Kill(children[len(children)-1], syscall.SIGKILL))
		}, event.CutAgentExit)
	})
}

func TestARealAgentGoesOnAfterItsHubWasStoppedInACommand(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) { goesOnAfter(t, r, r.stop, event.CutHubStop) })
}

// realCuts are the ways to interrupt a real agent's turn. Each restarts the hub if
// needed.
func (r *rig) realCuts(t *testing.T) map[event.InterruptReason]func() {
	return map[event.InterruptReason]func(){
		event.CutHubRestart: func() { r.kill(); r.start() },
		event.CutHubStop:    func() { r.stop(); r.start() },
		event.CutAgentExit: func() {
			children := readRecord(t, r.record).children
			require.NoError(t, syscall.Kill(children[len(children)-1], syscall.SIGKILL))
		},
	}
}

func TestARealAgentGoesOnAfterItWasCutOffInAnAnswer(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		for reason, cut := range r.realCuts(t) {
			session, c, open := r.cutOff(t, "[[delay:50]] [[big:64]]", hasType(event.TypeAgentMessage), cut)
			require.Equal(t, reason, open.Reason)
			require.Equal(t, event.PhaseStreaming, open.Phase, reason)
			require.Contains(t, open.Prompt, "You were writing an answer")
			r.goesOnFrom(t, session, c, open)
		}
	})
}

// cutOff starts a turn in a new session and interrupts it once the condition holds.
func (r *rig) cutOff(t *testing.T, prompt string, under func([]event.Event, *wire.State) bool, cut func()) (session string, c *screen, open wire.Offer) {
	t.Helper()
	made := r.create(r.agent.name)
	session, c = made.SessionID, r.screen("desk", made, 0)
	c.prompt(session, "p1", prompt)
	c.until("the phase", under)
	remember(t, r.record)
	cut()
	c.untilTurnEnds("p1")
	open, err := r.hub.hub.Interruption(t.Context(), session)
	require.NoError(t, err)
	return session, c, open
}

// goesOnFrom resumes a turn. It requires that the turn ends and that no prompt was
// sent twice.
func (r *rig) goesOnFrom(t *testing.T, session string, c *screen, open wire.Offer) {
	t.Helper()
	words := "going on from " + open.InterruptionID
	resumed, err := r.hub.hub.Resume(t.Context(), session, wire.Resume{
		InterruptionID: open.InterruptionID, Prompt: open.Prompt + "\n[[say:" + words + "]]",
	})
	require.NoError(t, err)
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds(resumed.PromptID).StopReason)
	var said strings.Builder
	for _, m := range payloads[event.AgentMessage](t, c.seen()) {
		said.WriteString(string(m.Text))
	}
	require.Contains(t, said.String(), words)
	for text, times := range readRecord(t, r.record).prompts {
		if strings.Contains(text, words) {
			require.Equal(t, 1, times, text)
		}
	}
	requireTrueScreens(t, r.hub, session, c)
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func goesOnAfter(t *testing.T, r *rig, cut func(), reason event.InterruptReason) {
	git(t, r.workspace, "init", "-q", "-b", "main")
	git(t, r.workspace, "add", "-A")
	git(t, r.workspace, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-qm", "first")
	written, half := filepath.Join(r.workspace, "written.txt"), filepath.Join(r.workspace, "half.txt")
	session := r.create(r.agent.name)
	c := r.screen("desk", session, 0)
	c.prompt(session.SessionID, "p1", r.agent.write(written, "once")+" "+r.agent.shell("echo half > "+half+"; sleep 600"))
	// Kimi does not ask for a change of a file that git can undo.
	ctx, enough := context.WithCancel(t.Context())
	allowed := make(chan struct{})
	go func() { defer close(allowed); c.allow(ctx, session.SessionID) }()
	defer func() { enough(); <-allowed }()
	require.Eventually(t, func() bool { _, err := os.Stat(half); return err == nil }, patience, 20*time.Millisecond)
	before, err := os.Stat(written)
	require.NoError(t, err)
	calls := len(payloads[event.ToolCall](t, c.seen()))
	remember(t, r.record)
	cut()
	if reason != event.CutAgentExit {
		r.start()
	}
	c.untilTurnEnds("p1")

	open, err := r.hub.hub.Interruption(t.Context(), session.SessionID)
	require.NoError(t, err)
	require.Equal(t, reason, open.Reason)
	require.Equal(t, event.PhaseTools, open.Phase)
	require.Contains(t, open.Prompt, "written.txt")
	require.Contains(t, open.Prompt, "?? half.txt", "the file of the interrupted command")
	require.Contains(t, open.Prompt, "A command that did not finish may have had effects")
	resumed, err := r.hub.hub.Resume(t.Context(), session.SessionID, wire.Resume{
		InterruptionID: open.InterruptionID, Prompt: open.Prompt + "\n[[say:going on]]",
	})
	require.NoError(t, err)
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds(resumed.PromptID).StopReason)
	require.Len(t, payloads[event.ToolCall](t, c.seen()), calls, "a tool call was repeated")
	after, err := os.Stat(written)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "the file is not written twice")
	for text, times := range readRecord(t, r.record).prompts {
		require.Equal(t, 1, times, text)
	}
	var said strings.Builder
	for _, m := range payloads[event.AgentMessage](t, c.seen()) {
		said.WriteString(string(m.Text))
	}
	require.Contains(t, said.String(), "going on")
	requireTrueScreens(t, r.hub, session.SessionID, c)
}

package blackbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// setupScript is the set-up command of these tests. It fails until the file "fixed" is
// beside it, and hangs, with a child, while the file "slow" is there.
const setupScript = `cd "$(dirname "$0")"; where=$OLDPWD
echo "installing in $where"
if [ -e slow ]; then sleep 600 & sleep 600; fi
if ! [ -e fixed ]; then echo "no network" >&2; exit 3; fi
echo ready > "$where/installed"
`

// newSetupHub starts a hub whose sessions in a copy of its workspace, a repository, are
// set up.
func newSetupHub(t *testing.T) (h *hub, beside string) {
	t.Helper()
	beside = t.TempDir()
	script := filepath.Join(beside, "setup.sh")
	require.NoError(t, os.WriteFile(script, []byte(setupScript), 0o600))
	copies := filepath.Join(t.TempDir(), "copies")
	// An undo needs the files as they were before the turn, however slow git is.
	return newHub(t, settings{more: "undo_wait: 1m\n", before: func(h *hub) {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
			out, err := exec.Command("git", append([]string{"-C", h.workspace}, args...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		config, err := os.OpenFile(h.config, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = fmt.Fprintf(config, "worktrees: %q\nprojects: {%q: {worktree: {setup: [sh, %q]}}}\n", copies, h.workspace, script)
		require.NoError(t, err)
		require.NoError(t, config.Close())
	}}), beside
}

// inCopy begins a session in a working copy.
func (h *hub) inCopy(prompt string) (wire.SessionInfo, *screen) {
	h.t.Helper()
	s, err := h.hub.Create(h.t.Context(), wire.NewSession{Agent: "demo", Workspace: h.workspace, Prompt: prompt, Worktree: &wire.NewWorktree{}}, "")
	require.NoError(h.t, err)
	return s, h.screen("tab", s, 0)
}

// setupText is what the set-up commands of a session wrote, and how often they began.
func setupText(t *testing.T, h *hub, id string) (text string, began int, last event.ToolStatus) {
	t.Helper()
	log := onDisk(t, h, id)
	for _, p := range payloads[event.TerminalOutput](t, log) {
		text += string(p.Data)
	}
	for _, p := range payloads[event.ToolCallUpdate](t, log) {
		last = p.Status
	}
	return text, len(payloads[event.ToolCall](t, log)), last
}

func interrupted(events []event.Event, state *wire.State) bool {
	return hasType(event.TypeTurnInterrupted)(events, state) && state != nil && state.Interruption != nil
}

func TestAWorkingCopyIsSetUpBeforeItsAgentStarts(t *testing.T) {
	t.Parallel()
	h, beside := newSetupHub(t)
	s, tab := h.inCopy("/echo one")
	tab.until("the failed set-up", interrupted)
	require.Empty(t, payloads[event.AgentStarted](t, tab.seen()), "the agent started before its copy was set up")
	text, _, last := setupText(t, h, s.SessionID)
	require.Equal(t, "installing in "+s.Workspace+"\nno network\n", text)
	require.Equal(t, event.ToolFailed, last)
	out, errs, code := h.run("show", s.SessionID)
	require.Zero(t, code, errs)
	require.Contains(t, out, "the set-up command failed: it ended with exit code 3")

	// As it was.
	out, errs, code = h.run("resume", s.SessionID)
	require.NotZero(t, code, "%s %s", out, errs)
	require.Contains(t, errs, "--without-setup")
	tab.until("the second failure", func(events []event.Event, state *wire.State) bool {
		return len(payloads[event.TurnInterrupted](t, events)) == 2 && interrupted(events, state)
	})

	// Corrected.
	require.NoError(t, os.WriteFile(filepath.Join(beside, "fixed"), nil, 0o600))
	open, err := h.hub.Interruption(t.Context(), s.SessionID)
	require.NoError(t, err)
	require.Equal(t, &wire.Setup{Command: []string{"sh", filepath.Join(beside, "setup.sh")}, Failed: "it ended with exit code 3"}, open.Setup)
	_, errs, code = h.run("resume", s.SessionID)
	require.Zero(t, code, errs)
	tab.untilTurnEnds("resume-" + open.InterruptionID)
	require.FileExists(t, filepath.Join(s.Workspace, "installed"))

	// Only once.
	require.NoError(t, os.Remove(filepath.Join(s.Workspace, "installed")))
	h.kill()
	h.start()
	_, errs, code = h.run("prompt", s.SessionID, "--wait", "/echo two")
	require.Zero(t, code, errs)
	_, began, _ := setupText(t, h, s.SessionID)
	require.Equal(t, 3, began)
	require.NoFileExists(t, filepath.Join(s.Workspace, "installed"))
}

func TestASetUpThatFailsIsLeftOut(t *testing.T) {
	t.Parallel()
	h, _ := newSetupHub(t)
	s, tab := h.inCopy("/echo one")
	tab.until("the failed set-up", interrupted)
	open, err := h.hub.Interruption(t.Context(), s.SessionID)
	require.NoError(t, err)
	_, errs, code := h.run("resume", s.SessionID, "--without-setup")
	require.Zero(t, code, errs)
	require.Equal(t, event.StopEndTurn, tab.untilTurnEnds("resume-"+open.InterruptionID).StopReason)
	out, _, _ := h.run("show", "--full", s.SessionID)
	require.Contains(t, out, "continues without the set-up command.")
	_, began, _ := setupText(t, h, s.SessionID)
	require.Equal(t, 1, began)
}

// Whatever ends a set-up ends what it started, and the next prompt runs it again.
func TestASetUpIsEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *hub, id string){
		"by a person's stop": func(h *hub, id string) {
			_, errs, code := h.run("cancel", id)
			require.Zero(h.t, code, errs)
		},
		"by the hub's end": func(h *hub, _ string) { h.stop(); h.start() },
		"by a kill":        func(h *hub, _ string) { h.kill(); h.start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, beside := newSetupHub(t)
			require.NoError(t, os.WriteFile(filepath.Join(beside, "slow"), nil, 0o600))
			s, tab := h.inCopy("/echo one")
			tab.until("the set-up", hasType(event.TypeTerminalOutput))
			end(h, s.SessionID)
			tab.until("its end", func(events []event.Event, _ *wire.State) bool {
				return len(payloads[event.TurnEnd](t, events)) == 1 && len(payloads[event.ToolCallUpdate](t, events)) == 1
			})
			h.requireNoAgents()
			require.NoError(t, os.Remove(filepath.Join(beside, "slow")))
			require.NoError(t, os.WriteFile(filepath.Join(beside, "fixed"), nil, 0o600))
			_, errs, code := h.run("prompt", s.SessionID, "--wait", "/echo two")
			require.Zero(t, code, errs)
			_, began, last := setupText(t, h, s.SessionID)
			require.Equal(t, 2, began)
			require.Equal(t, event.ToolCompleted, last)
			require.FileExists(t, filepath.Join(s.Workspace, "installed"))
		})
	}
}

package blackbox_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestFault40AgentCrashMidTool kills the agent's process while a tool waits for a
// permission. The tool and its request are closed, the next agent resumes the
// session, and no event is in the log twice.
func TestFault40AgentCrashMidTool(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/plan")
	c.untilTurnEnds("p1")
	c.prompt(session.SessionID, "p2", "/edit notes.txt")
	request := c.untilAsked(1)
	require.NoError(t, syscall.Kill(readRecord(t, record).children[0], syscall.SIGKILL))
	require.Equal(t, event.StopAgentExit, c.untilTurnEnds("p2").StopReason)
	crashed := c.seen()
	requireAborted(t, crashed, request)

	c.prompt(session.SessionID, "p3", "/plan (again)")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p3").StopReason)
	given := readRecord(t, record)
	require.Len(t, given.children, 2)
	require.Empty(t, given.rivals)
	require.Equal(t, 1, given.prompts["/edit notes.txt"], "the interrupted prompt was sent again")
	started := payloads[event.AgentStarted](t, c.seen())
	require.NotEmpty(t, started[1].Resumed, "the second agent resumes the first one's session")
	requireTrueScreens(t, h, session.SessionID, c)
	for _, e := range c.seen()[len(crashed):] {
		require.NotContains(t, string(e.Data), "notes.txt", "a logged event was logged again: %s", e.Type)
	}
}

// requireAborted requires that the request and its tool call were closed.
func requireAborted(t *testing.T, log []event.Event, request event.PermissionRequest) {
	t.Helper()
	outcomes := payloads[event.PermissionOutcome](t, log)
	require.Len(t, outcomes, 1)
	require.Equal(t, request.PermissionID, outcomes[0].PermissionID)
	require.Equal(t, event.OutcomeCancelled, outcomes[0].Outcome)
	aborted := 0
	for _, u := range payloads[event.ToolCallUpdate](t, log) {
		if u.Synthetic {
			aborted++
			require.Equal(t, request.ToolCallID, u.ToolCallID)
			require.Equal(t, event.ToolFailed, u.Status)
		}
	}
	require.Equal(t, 1, aborted, "the unfinished tool is closed once")
}

// TestFault41HubKill9MidTurn kills the hub while a tool waits for a permission. An
// agent process that outlived it must be gone before the next agent starts.
func TestFault41HubKill9MidTurn(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/edit notes.txt")
	request := c.untilAsked(1)
	h.kill()
	h.start()
	require.Equal(t, event.StopHubRestart, c.untilTurnEnds("p1").StopReason)
	requireAborted(t, c.seen(), request)
	c.prompt(session.SessionID, "p2", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
	given := readRecord(t, record)
	require.Empty(t, given.rivals, "the old agent was alive when the new one started")
	require.Len(t, given.children, 2)
	require.Equal(t, 1, given.prompts["/edit notes.txt"])
	requireTrueScreens(t, h, session.SessionID, c)
}

// TestFault42GrandchildSetsidIsSwept lets a helper of the agent leave its process
// group and session, then kills the hub. The next hub kills the helper at its
// start.
func TestFault42GrandchildSetsidIsSwept(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := `setsid sh -c 'trap "" TERM HUP; echo $$ >"$0"; while :; do sleep 60; done' ` + pidFile + ` </dev/null >/dev/null 2>&1 & exec "$@"`
	command := append([]string{"sh", "-c", script, "sh"}, demo().Command...)
	h := newHub(t, settings{agents: map[string]agent{"demo": {Command: command}}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/plan")
	c.untilTurnEnds("p1")
	var pid int
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(pidFile)
		return err == nil && json.Unmarshal(data, &pid) == nil && pid > 0
	}, patience, 10*time.Millisecond)
	h.kill()
	require.False(t, zombie(pid), "the helper outlives the hub that was killed")
	h.start()
	require.True(t, zombie(pid), "the helper is gone once the next hub listens")
	c.prompt(session.SessionID, "p2", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
}

// halt stops a process, and waits until none of its threads runs: the first one to see the signal
// stops the others, which may answer until then.
func halt(t *testing.T, pid int) {
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			_, state, _ := strings.Cut(string(stat), ") ")
			if err == nil && !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return true
	}, patience, time.Millisecond)
}

// TestFault44AnAgentThatHangsMidTurnIsCancelled cancels a turn of an agent that
// ignores its input, and one of an agent stopped by SIGSTOP. Both turns end, their
// open tool calls and questions are closed, the processes are gone, and the next
// prompt works.
func TestFault44AnAgentThatHangsMidTurnIsCancelled(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]struct {
		text  string
		after func(pid int)
	}{
		"deaf":    {"/hang", func(int) {}},
		"stopped": {"/ask", func(pid int) { halt(t, pid) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := filepath.Join(t.TempDir(), "record")
			h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
			session := h.create("demo")
			c := h.screen("screen", session, 0)
			c.prompt(session.SessionID, "p1", hang.text)
			c.until("a tool call that is under way", func(events []event.Event, _ *wire.State) bool {
				return len(payloads[event.ToolCall](t, events)) == 1
			})
			hang.after(readRecord(t, record).children[0])
			c.prompt(session.SessionID, "p2", "/plan")
			c.cancel(session.SessionID)
			require.Equal(t, event.StopCancelled, c.untilTurnEnds("p1").StopReason)
			require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason, "the next agent takes the queued prompt")
			given := readRecord(t, record)
			require.Empty(t, given.rivals, "the hung agent was alive when the next one started")
			require.Len(t, given.children, 2)
			require.Equal(t, 1, given.prompts[hang.text])
			requireTrueScreens(t, h, session.SessionID, c)
			closed := 0
			for _, u := range payloads[event.ToolCallUpdate](t, c.seen()) {
				if u.Synthetic {
					closed++
				}
			}
			require.Equal(t, 1, closed, "its tool is closed once")
		})
	}
}

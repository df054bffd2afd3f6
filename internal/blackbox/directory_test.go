package blackbox_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

func TestASecondHubOnADirectoryIsRefusedAndTheFirstUnharmed(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	_, errs, code := h.run("serve", "--addr", "127.0.0.1:0", "--open=false")
	require.Equal(t, 4, code, errs)
	require.Equal(t, 1, strings.Count(strings.TrimSpace(errs), "\n")+1, "one line with the remedy: %q", errs)
	require.Contains(t, errs, h.data)
	c.prompt(session.SessionID, "p1", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)
	requireTrueScreens(t, h, session.SessionID, c)
}

// TestAStaleLockFileStopsNobody leaves a LOCK file with the pid of a running
// process that is not a hub, as after a reused pid. Only the kernel's lock counts.
func TestAStaleLockFileStopsNobody(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	h.stop()
	lock := filepath.Join(h.data, "LOCK")
	require.NoError(t, os.WriteFile(lock, []byte("pid 1 since yesterday\n"), 0o600))
	h.start()
	_, err := h.hub.Health(t.Context())
	require.NoError(t, err)
}

func TestADirectoryThatCannotBeWrittenIsAClearError(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		h := newHub(t, settings{})
		h.stop()
		requireReadOnlyRefusal(t, h)
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	requireOneLine(t, exec.Command(binary(), "serve", "--addr", "127.0.0.1:0", "--open=false", "--data", filepath.Join(dir, "data")))
}

// requireReadOnlyRefusal remounts the directory read-only in a mount namespace of
// the hub: root may write despite file modes.
func requireReadOnlyRefusal(t *testing.T, h *hub) {
	script := `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99; shift; exec "$@"`
	args := append([]string{"-m", "sh", "-c", script, "sh", h.data, binary()}, h.args("serve", "--addr", "127.0.0.1:0", "--open=false")...)
	cmd := exec.Command("unshare", args...)
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespaces here: %v %s", err, out)
	}
	requireOneLine(t, cmd)
}

func requireOneLine(t *testing.T, cmd *exec.Cmd) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 99 {
		t.Skipf("mounts are not allowed here: %s", errs.String())
	}
	require.Error(t, err)
	require.NotEqual(t, 2, cmd.ProcessState.ExitCode(), "a panic, or a usage error: %s", errs.String())
	require.NotContains(t, errs.String(), "goroutine ")
	last := strings.TrimSpace(errs.String())
	require.NotEmpty(t, last)
	require.Regexp(t, `read-only|permission|written`, last)
}

func TestTheHubEndsCleanlyOnSIGTERMInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{agents: map[string]agent{"demo": paced()}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/slow 3600") // an hour; the test does not wait for it
	c.until("the agent at work", hasType(event.TypeAgentMessage))
	h.stop() // requires exit code 0
	h.requireNoAgents()
	log := onDisk(t, h, session.SessionID)
	ends := payloads[event.TurnEnd](t, log)
	require.LessOrEqual(t, len(ends), 1)
	h.start()
	c.untilTurnEnds("p1")
	c.prompt(session.SessionID, "p2", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
	requireTrueScreens(t, h, session.SessionID, c)
	require.Len(t, payloads[event.TurnEnd](t, c.seen()), 2)
}

// TestTheLogIsPlainJSONForAnyTool reads the log as jq would.
func TestTheLogIsPlainJSONForAnyTool(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/markdown")
	c.untilTurnEnds("p1")
	data, err := os.ReadFile(filepath.Join(h.data, "sessions", session.SessionID, "events.jsonl"))
	require.NoError(t, err)
	for line := range bytes.Lines(data) {
		var e map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(line, &e))
		for _, key := range []string{"seq", "time", "type", "data", "crc"} {
			require.Contains(t, e, key)
		}
		require.True(t, bytes.HasPrefix(line, []byte(`{"seq":`)), "%.40s", line)
	}
}

package blackbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// longPast has the built-in agent keep a session of many small updates and one prompt of
// many pieces, of that many bytes.
func longPast(t *testing.T, state, workspace string, size int) (id string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(state, 0o700))
	f, err := os.Create(filepath.Join(state, "demo-long.jsonl"))
	require.NoError(t, err)
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, `{"id":"demo-long","cwd":%q}`+"\n", workspace)
	words := strings.Repeat("x", 100)
	for written, i := 0, 0; written < size; i++ {
		kind, text := "agent_message_chunk", words
		if i%1000 == 0 || i < 60_000 && i >= 10_000 {
			kind = "user_message_chunk"
		}
		n, err := fmt.Fprintf(out, `{"sessionUpdate":%q,"content":{"type":"text","text":%q}}`+"\n", kind, text)
		require.NoError(t, err)
		written += n
	}
	require.NoError(t, errors.Join(out.Flush(), f.Close()))
	return "demo-long"
}

// The hub of this test has no race detector, so that its memory can be measured.
func TestALongPastIsAdoptedInLittleMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	program := filepath.Join(t.TempDir(), "abide")
	buildProgram(t, program, "../../cmd/abide")
	state := filepath.Join(t.TempDir(), "state")
	h := newHub(t, settings{program: program, agents: map[string]agent{"demo": {Command: []string{program, "demo-agent", "--speed", "0", "--state", state}}}})
	size := 24 << 20
	if soak.On() {
		size = 100 << 20
	}
	id := longPast(t, state, h.workspace, size)
	session, err := h.hub.Adopt(t.Context(), "demo", wire.Adopt{AgentSessionID: id, Workspace: h.workspace})
	require.NoError(t, err)
	peak := peakMiB(t, h.cmd.Process.Pid)
	t.Logf("the hub's memory: %d MiB, %d events", peak, session.EventCount)
	require.Less(t, peak, mostMemory, "MiB of the hub")
	log := onDisk(t, h, session.SessionID)
	notes := payloads[event.Note](t, log)
	require.Equal(t, "abide/adopted", notes[len(notes)-1].Method)
	require.Equal(t, event.TypeAgentStarted, log[1].Type, "its start is before its past")
	blobs, err := filepath.Glob(filepath.Join(h.data, "sessions", session.SessionID, "blobs", "*"))
	require.NoError(t, err)
	for _, blob := range blobs {
		text, err := os.ReadFile(blob)
		require.NoError(t, err)
		if strings.Contains(string(text), "more bytes of this prompt are left out") {
			require.Greater(t, len(text), 4<<20)
			return
		}
	}
	t.Fatal("the long prompt is missing")
}

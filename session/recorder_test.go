package session_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// recordIn names the data directory in which this test binary, started again,
// records a session instead of testing.
const recordIn = "ABIDE_RECORD_IN"

// TestRecordingProcess is no test: it is the second process of those below.
func TestRecordingProcess(t *testing.T) {
	dir := os.Getenv(recordIn)
	if dir == "" {
		t.Skip("only as a process of another test")
	}
	recorder, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	l, err := recorder.Create(t.Context(), event.SessionStart{Agent: "fake", Workspace: dir})
	require.NoError(t, err)
	for _, p := range []event.Payload{event.UserPrompt{PromptID: "theirs", Text: "do it"}, event.TurnStart{PromptID: "theirs"}, event.AgentMessage{MessageID: "m", Text: "at work"}} {
		d, err := event.NewDraft(p, 1, time.Now())
		require.NoError(t, err)
		_, _, err = l.Append(t.Context(), d)
		require.NoError(t, err)
	}
	fmt.Printf("\nrecording %s\n", l.ID())
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	file, err := os.OpenFile(filepath.Join(dir, "sessions", l.ID(), "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"seq":5,"time":"2026-02-21T14:03:07.123456Z","type":"agent_mess`)
	require.NoError(t, err)
	fmt.Printf("\nin mid-line\n")
	_, _ = in.ReadString('\n') // killed here
}

// startRecording starts a process that records; advance lets it begin a line it
// does not end.
func startRecording(t *testing.T, dir string) (id string, process *exec.Cmd, advance func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRecordingProcess$")
	cmd.Env = append(os.Environ(), recordIn+"="+dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	await := func(prefix string) string {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return strings.TrimSpace(rest)
			}
		}
		require.Fail(t, "the recording process ended")
		return ""
	}
	return await("recording "), cmd, func() {
		_, err := in.Write([]byte("\n"))
		require.NoError(t, err)
		await("in mid-line")
	}
}

func TestARecordingProcessKilledInMidLineLeavesItsSessionToTheHub(t *testing.T) {
	real := func(_ *session.Options, o *store.Options) { o.FS = nil } // fsnotify
	for _, first := range []string{"the hub", "the recorder"} {
		t.Run(first+" starts first", func(t *testing.T) {
			h := &hub{t: t, dir: t.TempDir(), workspace: t.TempDir(), agents: newAgents()}
			t.Cleanup(h.close)
			if first == "the hub" {
				h.open(real)
			}
			id, process, advance := startRecording(t, h.dir)
			if first != "the hub" {
				h.open(real)
			}
			require.Eventually(t, func() bool { _, listed := h.store.Listed(id); return listed }, patience, tick)
			b := h.session(id)
			await(t, b, "their turn", func(s session.State) bool { return s.Turn.State == session.TurnPrompting })
			_, err := b.Prompt(ctxOf(t), ask("mine"))
			require.ErrorIs(t, err, session.ErrConflict)
			require.ErrorContains(t, err, "another abide records this session", "the error says who has it")
			d, err := event.NewDraft(event.AgentMessage{MessageID: "x", Text: "no"}, 1, time.Now())
			require.NoError(t, err)
			_, _, err = b.Log().Append(ctxOf(t), d)
			require.ErrorIs(t, err, store.ErrReadOnly, "one writer to a session")
			require.Eventually(t, func() bool { return b.Log().Marks().Visible == 4 }, patience, tick)
			advance()
			require.EqualValues(t, 4, b.Log().Marks().Visible, "half a line is no event")

			require.NoError(t, process.Process.Kill())
			awaitIdle(t, b)
			requireLawful(t, b, true)
			require.Equal(t, event.StopHubRestart, payloads[event.TurnEnd](t, b)[0].StopReason)
			require.Equal(t, queue.Received, prompt(t, b, "mine").Outcome)
		})
	}
}

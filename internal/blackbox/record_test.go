package blackbox_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// editor is an ACP client whose agent is recorded.
type editor struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	lines   *bufio.Scanner
	stderr  bytes.Buffer
	session string
	ids     int
	heard   strings.Builder // text of all messages
}

// record starts an agent behind the recorder.
func (h *hub) record(more ...string) *editor {
	h.t.Helper()
	e := &editor{t: h.t}
	e.cmd = exec.Command(h.program, h.args("record", append(append([]string{"--agent", "recorded"}, more...), "--", binary(), "demo-agent", "--speed", "20")...)...)
	e.cmd.Dir = h.t.TempDir()
	e.cmd.Env = slices.Concat(os.Environ(), []string{"XDG_STATE_HOME=" + h.t.TempDir()}, h.env)
	e.cmd.Stderr = &e.stderr
	var err error
	e.stdin, err = e.cmd.StdinPipe()
	require.NoError(h.t, err)
	out, err := e.cmd.StdoutPipe()
	require.NoError(h.t, err)
	e.lines = bufio.NewScanner(out)
	e.lines.Buffer(nil, 32<<20)
	require.NoError(h.t, e.cmd.Start())
	h.t.Cleanup(func() { e.cmd.Process.Kill() })
	e.ask("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, nil)
	var began struct{ SessionID string }
	require.NoError(h.t, json.Unmarshal(e.ask("session/new", map[string]any{"cwd": e.cmd.Dir, "mcpServers": []any{}}, nil), &began))
	e.session = began.SessionID
	return e
}

// ask sends a request and reads until its response. It calls at with the number of
// each line.
func (e *editor) ask(method string, params any, at func(line int)) json.RawMessage {
	e.t.Helper()
	e.ids++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": e.ids, "method": method, "params": params})
	require.NoError(e.t, err)
	_, err = e.stdin.Write(append(request, '\n'))
	require.NoError(e.t, err)
	for n := 1; e.lines.Scan(); n++ {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Params struct {
				Update struct {
					SessionUpdate string
					Content       json.RawMessage
				}
				Options []struct{ OptionID, Kind string }
			}
		}
		require.NoError(e.t, json.Unmarshal(e.lines.Bytes(), &m))
		switch {
		case m.Method == "session/request_permission":
			answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
				"outcome": map[string]string{"outcome": "selected", "optionId": m.Params.Options[0].OptionID}}})
			_, err := e.stdin.Write(append(answer, '\n'))
			require.NoError(e.t, err)
		case m.Params.Update.SessionUpdate == "agent_message_chunk":
			var block struct{ Text string }
			require.NoError(e.t, json.Unmarshal(m.Params.Update.Content, &block))
			e.heard.WriteString(block.Text)
		case m.Method == "":
			return m.Result
		}
		if at != nil {
			at(n)
		}
	}
	return nil // the recorder or the agent has ended
}

func (e *editor) prompt(text string, at func(line int)) {
	e.t.Helper()
	e.ask("session/prompt", map[string]any{"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": text}}}, at)
}

// recordedSession waits for the session's end and returns its events.
func (h *hub) recordedSession(name string) []event.Event {
	h.t.Helper()
	var info wire.SessionInfo
	require.Eventually(h.t, func() bool {
		page, err := h.hub.List(h.t.Context(), client.ListQuery{Text: name})
		if err != nil || len(page.Sessions) != 1 {
			return false
		}
		info = page.Sessions[0]
		return info.Status == state.StatusEnded
	}, patience, 20*time.Millisecond, "the session was not closed")
	var all []event.Event
	for after := event.Seq(0); ; {
		page, err := h.hub.EventsAfter(h.t.Context(), info.SessionID, after, 500)
		require.NoError(h.t, err)
		if len(page.Events) == 0 {
			return all
		}
		all, after = append(all, page.Events...), page.LastSeq
	}
}

// requireHeard requires that the log has every line the editor received, once.
func (e *editor) requireHeard(events []event.Event, turns int) {
	e.t.Helper()
	var said strings.Builder
	for _, m := range payloads[event.AgentMessage](e.t, events) {
		said.WriteString(string(m.Text))
	}
	require.Equal(e.t, e.heard.String(), said.String(), "something is missing or there twice")
	require.Len(e.t, payloads[event.UserPrompt](e.t, events), turns)
	require.Len(e.t, payloads[event.TurnEnd](e.t, events), turns)
	require.Len(e.t, payloads[event.SessionEnd](e.t, events), 1)
}

func TestARecordedAgentIsASessionAndAKilledHubMissesNothing(t *testing.T) {
	h := newHub(t, settings{})
	e := h.record("--name", "overheard")
	e.prompt("hello", nil)
	e.prompt("tell me more", func(line int) {
		if line == 3 {
			h.kill()
		}
	})
	e.prompt("and while the hub is away", nil)
	h.start()
	e.prompt("and once it is back", nil)
	e.stdin.Close()
	require.NoError(t, e.cmd.Wait(), e.stderr.String())
	require.Empty(t, e.stderr.String())
	events := h.recordedSession("overheard")
	e.requireHeard(events, 4)
	require.Len(t, payloads[event.AgentStarted](t, events), 1)
}

func TestAKilledAgentEndsItsRecordingWithItsOwnCode(t *testing.T) {
	h := newHub(t, settings{})
	e := h.record("--name", "killed")
	e.prompt("hello", func(line int) {
		if line == 1 {
			require.NoError(t, exec.Command("pkill", "-KILL", "-P", strconv.Itoa(e.cmd.Process.Pid)).Run())
		}
	})
	var exit *exec.ExitError
	require.True(t, errors.As(e.cmd.Wait(), &exit))
	require.Equal(t, 128+int(syscall.SIGKILL), exit.ExitCode())
	events := h.recordedSession("killed")
	e.requireHeard(events, 1)
	require.Equal(t, "killed", payloads[event.AgentExit](t, events)[0].Signal)
}

// TestAKilledRecorderLosesNothingThatTheEditorGot kills the recorder, which closes the
// agent's pipes: while the hub is there, while it is away, and while both are killed.
// What the recorder left is handed over by the hub.
func TestAKilledRecorderLosesNothingThatTheEditorGot(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(h *hub, e *editor){
		"hub there": func(_ *hub, e *editor) { require.NoError(t, e.cmd.Process.Kill()) },
		"hub away": func(h *hub, e *editor) {
			h.kill()
			e.prompt("and while the hub is away", func(line int) {
				if line == 4 {
					require.NoError(t, e.cmd.Process.Kill())
				}
			})
			h.start()
		},
		"both at once": func(h *hub, e *editor) {
			require.NoError(t, e.cmd.Process.Kill())
			h.kill()
			h.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, settings{})
			e := h.record("--name", "orphaned")
			e.prompt("hello", nil)
			e.prompt("tell me more", func(line int) {
				if line == 3 && name != "hub away" {
					kill(h, e)
				}
			})
			if name == "hub away" {
				kill(h, e)
			}
			require.Error(t, e.cmd.Wait())
			events := h.recordedSession("orphaned")
			var said strings.Builder
			for _, m := range payloads[event.AgentMessage](t, events) {
				said.WriteString(string(m.Text))
			}
			// A line may be in the log that the editor did not get any more.
			require.True(t, strings.HasPrefix(said.String(), e.heard.String()), "the editor got %q, the log has %q", e.heard.String(), said.String())
			require.NotEmpty(t, payloads[event.TurnEnd](t, events))
			require.Len(t, payloads[event.TurnEnd](t, events), len(payloads[event.UserPrompt](t, events)))
			require.Equal(t, event.SessionEnd{Reason: "the recorder was killed", By: "hub"}, payloads[event.SessionEnd](t, events)[0])
			require.Eventually(t, func() bool { return inFolder(h.data+".waiting", "*") == 0 }, patience, 10*time.Millisecond)
		})
	}
}

// A recorder without a hub leaves its file to the hub that is started later.
func TestAKilledOfflineRecorderIsCompletedByTheHub(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	h.stop()
	e := h.record("--name", "offline", "--offline")
	e.prompt("hello", func(line int) {
		if line == 3 {
			require.NoError(t, e.cmd.Process.Kill())
		}
	})
	require.Error(t, e.cmd.Wait())
	h.start()
	events := h.recordedSession("offline")
	var said strings.Builder
	for _, m := range payloads[event.AgentMessage](t, events) {
		said.WriteString(string(m.Text))
	}
	require.True(t, strings.HasPrefix(said.String(), e.heard.String()))
	require.Equal(t, "the recorder was killed", payloads[event.SessionEnd](t, events)[0].Reason)
}

// A recorder hands over what another one left at the same hub, from another data
// directory.
func TestTheNextRecorderHandsOverWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	far := *h
	far.data = filepath.Join(t.TempDir(), "far")
	token := h.token("--name", "far")
	far.env = []string{"ABIDE_TOKEN=" + token}
	e := far.record("--name", "far", "--hub", "http://"+h.addr)
	e.prompt("hello", nil)
	h.kill()
	e.prompt("and while the hub is away", func(line int) {
		if line == 3 {
			require.NoError(t, e.cmd.Process.Kill())
		}
	})
	require.Error(t, e.cmd.Wait())
	require.Equal(t, 1, inFolder(far.data+".waiting", "*.jsonl"))
	h.start()
	next := far.record("--name", "next", "--hub", "http://"+h.addr)
	next.stdin.Close()
	require.NoError(t, next.cmd.Wait(), next.stderr.String())
	events := h.recordedSession("far")
	var said strings.Builder
	for _, m := range payloads[event.AgentMessage](t, events) {
		said.WriteString(string(m.Text))
	}
	require.True(t, strings.HasPrefix(said.String(), e.heard.String()))
	require.Len(t, payloads[event.UserPrompt](t, events), 2)
	require.Contains(t, next.stderr.String(), "handed over what the killed recorder")
}

func TestWithoutAHubARecordingIsMadeOnlyOffline(t *testing.T) {
	h := newHub(t, settings{})
	h.stop()
	_, _, code := h.run("record", "--", "true")
	require.Equal(t, 3, code)
	e := h.record("--name", "offline", "--offline")
	e.prompt("hello", nil)
	before := len(h.logged())
	require.False(t, h.tryStart(), "the recorder holds LOCK")
	require.Contains(t, h.logged()[before:], "is in use")
	e.stdin.Close()
	require.NoError(t, e.cmd.Wait(), e.stderr.String())
	h.start()
	e.requireHeard(h.recordedSession("offline"), 1)
	_, told, code := h.run("record", "--offline", "--", "true")
	require.NotZero(t, code, "the hub holds LOCK")
	require.Contains(t, told, "is in use")
}

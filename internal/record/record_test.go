package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/record"
	"github.com/abidehub/abide/session/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// away is a hub that accepts nothing until back is closed.
type away struct {
	back chan struct{}

	mu    sync.Mutex
	lines [][]byte
	ended string
}

func (a *away) Put(_ context.Context, lines [][]byte) (event.Seq, error) {
	select {
	case <-a.back:
	default:
		return 0, errors.New("the hub is away")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, lines...)
	return event.Seq(len(a.lines)), nil
}

func (a *away) End(_ context.Context, reason string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = reason
	return nil
}

// said returns the text of the messages that arrived.
func (a *away) said(t *testing.T) string {
	t.Helper()
	var said strings.Builder
	for _, line := range a.lines {
		var e struct {
			Type event.Type
			Data event.AgentMessage
		}
		require.NoError(t, json.Unmarshal(line, &e))
		if e.Type == event.TypeAgentMessage {
			said.WriteString(string(e.Data.Text))
		}
	}
	return said.String()
}

// whole collects an agent's output and signals when all of it has arrived.
type whole struct {
	bytes.Buffer
	want int
	came chan struct{}
}

func (w *whole) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.Len() >= w.want && w.came != nil {
		close(w.came)
		w.came = nil
	}
	return n, err
}

func TestARecordingThatWaitsForTooMuchStopsAndTheAgentGoesOn(t *testing.T) {
	const chunks = 200
	answers := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}` + "\n"
	var agent, all strings.Builder
	agent.WriteString(answers)
	for n := range chunks {
		text := fmt.Sprintf("chunk %03d. ", n)
		all.WriteString(text)
		fmt.Fprintf(&agent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n", text)
	}
	client := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}` + "\n"
	for name, test := range map[string]struct {
		waiting int64
		stops   bool
	}{
		"more than may wait": {waiting: 8 << 10, stops: true},
		"room enough":        {waiting: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			to := &away{back: make(chan struct{})}
			out := &whole{want: agent.Len(), came: to.back} // the hub is back once the agent's output is complete
			dir := filepath.Join(t.TempDir(), "waiting")
			stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			require.NoError(t, err)
			defer stderr.Close()
			code, err := record.Run(t.Context(), record.Options{
				Command: []string{"sh", "-c", `read a; read b; printf '%s' "$0"; exit 7`, agent.String()},
				Agent:   "fake", Stdin: io.NopCloser(strings.NewReader(client)), Stdout: out, Stderr: stderr, To: to, Waiting: test.waiting,
				Dir: dir, Left: record.Left{SessionID: "s1", RecorderID: "r1", After: 2},
			})
			require.NoError(t, err)
			require.Equal(t, 7, code, "the exit code is the command's")
			require.Equal(t, agent.String(), out.String(), "the editor gets every byte")
			said := to.said(t)
			require.Empty(t, namesIn(t, dir), "everything was handed over")
			told, err := os.ReadFile(stderr.Name())
			require.NoError(t, err)
			if !test.stops {
				require.Equal(t, "the agent ended", to.ended)
				require.Empty(t, told)
				require.Equal(t, all.String(), said)
				return
			}
			require.Equal(t, 1, strings.Count(string(told), "the recording stops, the agent continues"), string(told))
			require.Equal(t, "the recording stopped early: too many events wait for the hub", to.ended)
			require.NotEmpty(t, said)
			require.Less(t, len(said), all.Len())
			require.True(t, strings.HasPrefix(all.String(), said), "the spooled lines must arrive in order, without a gap")
		})
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

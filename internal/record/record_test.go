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
	"github.com/abidehub/abide/session/store"
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
				Agent:   "fake", Stdin: io.NopCloser(strings.NewReader(client)), Stdout: out, Stderr: stderr, Waiting: test.waiting, Dir: dir,
				Begin: func(_ context.Context, agent string) (record.Destination, record.Left, error) {
					require.Equal(t, "fake", agent)
					return to, record.Left{SessionID: "s1", RecorderID: "r1", After: 2}, nil
				},
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

// TestASessionIsNamedAfterWhatItsAgentSays records without a hub: an agent that begins no
// session leaves none, and one that does is called what it says of itself.
func TestASessionIsNamedAfterWhatItsAgentSays(t *testing.T) {
	hello := func(info string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1` + info + `}}` + "\n"
	}
	const began = `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}` + "\n"
	client := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}` + "\n"
	for name, test := range map[string]struct{ given, says, want string }{
		"its title":             {says: hello(`,"agentInfo":{"name":"fancy","title":"Fancy Agent","version":"1"}`) + began, want: "Fancy Agent"},
		"its name":              {says: hello(`,"agentInfo":{"name":"fancy","version":"1"}`) + began, want: "fancy"},
		"a given one":           {given: "mine", says: hello(`,"agentInfo":{"name":"fancy","version":"1"}`) + began, want: "mine"},
		"it says nothing":       {says: hello("") + began, want: "sh"},
		"it says no name":       {says: hello(`,"agentInfo":{"name":"a\u0007b","version":"1"}`) + began, want: "sh"},
		"it begins no session":  {says: hello(`,"agentInfo":{"name":"fancy","version":"1"}`)},
		"it is no such program": {says: "hello\n"},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			offline, err := record.OpenOffline(data)
			require.NoError(t, err)
			var out, stderr bytes.Buffer
			_, err = record.Run(t.Context(), record.Options{
				Command: []string{"sh", "-c", `read a; read b; printf '%s' "$0"`, test.says}, Agent: test.given,
				Stdin: io.NopCloser(strings.NewReader(client)), Stdout: &out, Stderr: &stderr, Dir: record.Dir(data),
				Begin: func(ctx context.Context, agent string) (record.Destination, record.Left, error) {
					return offline.Begin(ctx, agent, "/w", "")
				},
			})
			require.NoError(t, err)
			require.NoError(t, offline.Close())
			require.Equal(t, test.says, out.String(), "the editor gets every byte")
			require.Empty(t, stderr.String())
			s, err := store.Open(data, store.Options{})
			require.NoError(t, err)
			defer s.Close()
			var agents []string
			for _, m := range s.List() {
				agents = append(agents, m.Agent)
			}
			if test.want == "" {
				require.Empty(t, agents)
				require.NoDirExists(t, record.Dir(data))
				return
			}
			require.Equal(t, []string{test.want}, agents)
			require.Empty(t, namesIn(t, record.Dir(data)))
		})
	}
}

// A recording has the bytes of the wire: nothing is escaped as for a web page.
func TestARecordingKeepsTheBytesOfTheWire(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	offline, err := record.OpenOffline(data)
	require.NoError(t, err)
	says := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"a & <b>","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}` + "\n"
	client := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}` + "\n"
	_, err = record.Run(t.Context(), record.Options{
		Command: []string{"sh", "-c", `read a; read b; printf '%s' "$0"`, says}, Agent: "mine",
		Stdin: io.NopCloser(strings.NewReader(client)), Stdout: io.Discard, Stderr: io.Discard, Dir: record.Dir(data),
		Begin: func(ctx context.Context, agent string) (record.Destination, record.Left, error) {
			return offline.Begin(ctx, agent, "/w", "")
		},
	})
	require.NoError(t, err)
	require.NoError(t, offline.Close())
	var all bytes.Buffer
	require.NoError(t, filepath.WalkDir(filepath.Join(data, "sessions"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}))
	require.Contains(t, all.String(), `"raw":{`)
	require.Contains(t, all.String(), "a & <b>")
	require.NotContains(t, all.String(), `\u0026`)
	require.NotContains(t, all.String(), `\u003c`)
}

// TestASessionBeginsOnceItsHubIsBack begins a session at a hub that restarts meanwhile,
// and at one that refuses.
func TestASessionBeginsOnceItsHubIsBack(t *testing.T) {
	const (
		client = `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}` + "\n"
		began  = `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}` + "\n"
	)
	for name, test := range map[string]struct {
		err   error
		tries int
		says  string
	}{
		"away":    {errors.New("connection refused"), 3, ""},
		"refused": {&record.FinalError{Err: errors.New("no such folder")}, 1, "no such folder"},
	} {
		t.Run(name, func(t *testing.T) {
			offline, err := record.OpenOffline(filepath.Join(t.TempDir(), "data"))
			require.NoError(t, err)
			stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			require.NoError(t, err)
			defer stderr.Close()
			var out bytes.Buffer
			tries := 0
			_, err = record.Run(t.Context(), record.Options{
				Command: []string{"sh", "-c", `read a; printf '%s' "$0"`, began}, Agent: "fake",
				Stdin: io.NopCloser(strings.NewReader(client)), Stdout: &out, Stderr: stderr, Dir: t.TempDir(),
				Begin: func(ctx context.Context, agent string) (record.Destination, record.Left, error) {
					if tries++; tries < 3 {
						return nil, record.Left{}, test.err
					}
					return offline.Begin(ctx, agent, "/w", "")
				},
			})
			require.NoError(t, err)
			require.NoError(t, offline.Close())
			require.Equal(t, began, out.String(), "the editor gets every byte")
			require.Equal(t, test.tries, tries)
			said, err := os.ReadFile(stderr.Name())
			require.NoError(t, err)
			require.Contains(t, string(said), test.says)
			require.Equal(t, test.says == "", len(said) == 0)
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

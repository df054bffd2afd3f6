package acp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// traceDir holds recorded conversations with real agents, ownTraceDir those with the
// demo agent.
const (
	traceDir    = "testdata/agents"
	ownTraceDir = "testdata/demo"
)

// step is one line of a trace.
type step struct {
	Dir string          `json:"dir"` // c>a, a>c, err or meta
	Msg json.RawMessage `json:"msg"`
}

func (s step) message() incoming {
	var m incoming
	if err := json.Unmarshal(s.Msg, &m); err != nil {
		panic(err)
	}
	return m
}

// readTrace returns the messages of a trace.
func readTrace(file string) ([]step, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var steps []step
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, len(data)+1)
	for scanner.Scan() {
		var s step
		if err := json.Unmarshal(scanner.Bytes(), &s); err != nil {
			return nil, err
		}
		if s.Dir == "c>a" || s.Dir == "a>c" {
			steps = append(steps, s)
		}
	}
	return steps, scanner.Err()
}

// traces lists the recorded traces of the demo agent and of real agents.
func traces(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, dir := range []string{ownTraceDir, traceDir} {
		found, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		require.NoError(t, err)
		require.NotEmpty(t, found, dir)
		files = append(files, found...)
	}
	return files
}

// playReplay plays the agent's side of the trace in ACP_TEST_TRACE. It waits for
// the client's messages at their places in the trace, and uses the request ids, the
// folder and the terminals of this client. It refuses a request that the trace does
// not have.
func playReplay(f *fake) int {
	steps, err := readTrace(os.Getenv("ACP_TEST_TRACE"))
	if err != nil {
		panic(err)
	}
	ids := map[string]json.RawMessage{} // the trace's request ids in this run
	names := map[string]string{}        // the trace's folder and terminals in this run
	for _, s := range steps {
		m := s.message()
		if s.Dir == "c>a" {
			got := f.until(m)
			ids[string(m.ID)] = got.ID
			if folder := folderOf(m.Params); folder != "" {
				names[folder] = folderOf(got.Params)
			}
			if terminal := terminalOf(m.Result); terminal != "" {
				names[quoted(terminal)] = quoted(terminalOf(got.Result))
			}
			continue
		}
		line := s.Msg
		if m.Method == "" {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(s.Msg, &fields); err != nil {
				panic(err)
			}
			fields["id"] = ids[string(m.ID)]
			line, _ = json.Marshal(fields)
		}
		f.line("%s", renamed(string(line), names))
	}
	f.next()
	return 0
}

// until reads until the trace's message arrives. Where another one arrives that the
// trace's client sends at another place, the agent fails.
func (f *fake) until(want incoming) incoming {
	for {
		got := f.next()
		switch {
		case want.Method == "" && got.Method == "" && string(got.ID) == string(want.ID), want.Method != "" && got.Method == want.Method:
			return got
		case got.Method == "session/prompt":
			fmt.Fprintf(os.Stderr, "replay: the client sent a prompt; the trace has %s %s\n", want.Method, want.ID)
			os.Exit(8)
		case got.Method != "" && got.ID != nil:
			f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not in the trace"}}`, got.ID)
		}
	}
}

func folderOf(params json.RawMessage) string {
	var p struct{ Cwd string }
	_ = json.Unmarshal(params, &p) // most have none
	return p.Cwd
}

func terminalOf(result json.RawMessage) string {
	var r struct{ TerminalID string }
	_ = json.Unmarshal(result, &r) // most have none
	return r.TerminalID
}

func quoted(s string) string { return `"` + s + `"` }

// renamed replaces names in a line.
func renamed(line string, names map[string]string) string {
	for from, to := range names {
		line = strings.ReplaceAll(line, from, to)
	}
	return line
}

// canonical normalises JSON for comparison.
func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v), "%s", raw)
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func traceName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".jsonl") }

func shorten(s string) string { return fmt.Sprintf("%.200s", s) }

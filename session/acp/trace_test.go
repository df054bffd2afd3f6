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

// traceDir holds recorded conversations with real agents, if there are any.
// ownTraceDir holds those with the demo agent.
const (
	traceDir    = "../../../shared/acp-traces"
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

// traces lists the recorded traces of the demo agent, and those of real agents if
// there are any.
func traces(t *testing.T) []string {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(ownTraceDir, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, own)
	files, err := filepath.Glob(filepath.Join(traceDir, "*.jsonl"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Logf("no traces of real agents in %s: only the demo agent's are played", traceDir)
	}
	return append(own, files...)
}

// playReplay plays the agent's side of the trace in ACP_TEST_TRACE. It waits for
// the client's messages at their places in the trace, and uses the request ids of
// this client. It refuses a request that the trace does not have.
func playReplay(f *fake) int {
	steps, err := readTrace(os.Getenv("ACP_TEST_TRACE"))
	if err != nil {
		panic(err)
	}
	ids := map[string]json.RawMessage{} // the trace's request ids in this run
	for _, s := range steps {
		m := s.message()
		if s.Dir == "c>a" {
			f.until(m, ids)
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
		f.line("%s", line)
	}
	f.next()
	return 0
}

// until reads until the trace's message arrives.
func (f *fake) until(want incoming, ids map[string]json.RawMessage) {
	for {
		got := f.next()
		switch {
		case want.Method == "" && got.Method == "" && string(got.ID) == string(want.ID):
			return
		case want.Method != "" && got.Method == want.Method:
			ids[string(want.ID)] = got.ID
			return
		case got.Method != "" && got.ID != nil:
			f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not in the trace"}}`, got.ID)
		}
	}
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

package acp_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// replayed plays a trace through an Agent and acts like the trace's client.
func replayed(t *testing.T, file string) ([]step, *sink) {
	t.Helper()
	absolute, err := filepath.Abs(file)
	require.NoError(t, err)
	steps, err := readTrace(absolute)
	require.NoError(t, err)
	s := newSink()
	cfg := config(t, "replay")
	cfg.Env["ACP_TEST_TRACE"] = absolute
	cfg.Env["ACP_TEST_WIRE"] = os.Getenv("ACP_TEST_WIRE_OF_REPLAY")
	for _, st := range steps {
		if m := st.message(); m.Method == "session/load" {
			var p struct{ SessionID string }
			require.NoError(t, json.Unmarshal(m.Params, &p))
			cfg.Resume = p.SessionID
			cfg.Known = func(context.Context) (*acp.Known, error) { return &acp.Known{}, nil }
		}
	}
	a := start(t, cfg, s)
	asked, prompts := 0, 0
	for _, st := range steps {
		m := st.message()
		if st.Dir != "c>a" {
			continue
		}
		switch {
		case m.Method == "session/prompt":
			if prompts > 0 {
				ended(t, s, fmt.Sprint("p", prompts))
			}
			prompts++
			require.NoError(t, a.Prompt(prompt(fmt.Sprint("p", prompts), promptText(t, m.Params))))
		case m.Method == "session/cancel":
			require.NoError(t, a.Cancel())
		case m.Method == "session/list":
			ended(t, s, fmt.Sprint("p", prompts))
			_, _, err := a.List(context.Background(), "")
			require.NoError(t, err)
		case m.Method == "" && answersAPerson(m.Result):
			asked++
			answerLike(t, a, s, asked, m.Result)
		}
	}
	for i := range prompts {
		ended(t, s, fmt.Sprint("p", i+1))
	}
	// The trace may have lines after the last response.
	last := steps[len(steps)-1]
	if want := last.message(); last.Dir == "a>c" && want.Method == "session/update" {
		s.wait(t, "the last line", func(p event.Payload) bool {
			for _, line := range rebuild(p) {
				if canonical(t, line) == canonical(t, updateOf(want.Params)) {
					return true
				}
			}
			return false
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	require.NoError(t, a.Stop(ctx))
	<-a.Done()
	return steps, s
}

func promptText(t *testing.T, params json.RawMessage) string {
	var p struct{ Prompt []struct{ Text string } }
	require.NoError(t, json.Unmarshal(params, &p))
	return p.Prompt[0].Text
}

func answersAPerson(result json.RawMessage) bool {
	return strings.Contains(string(result), `"outcome"`) || strings.Contains(string(result), `"action"`)
}

// answerLike answers the nth question like the trace's client.
func answerLike(t *testing.T, a *acp.Agent, s *sink, n int, result json.RawMessage) {
	t.Helper()
	require.Eventually(t, func() bool { return len(of[event.PermissionRequest](s)) >= n }, waitFor, time.Millisecond)
	var r struct {
		Outcome struct{ Outcome, OptionID string }
		Action  string
		Content json.RawMessage
	}
	require.NoError(t, json.Unmarshal(result, &r))
	o := event.PermissionOutcome{
		PermissionID: of[event.PermissionRequest](s)[n-1].PermissionID,
		Outcome:      event.Outcome(r.Outcome.Outcome), OptionID: r.Outcome.OptionID, Content: r.Content,
	}
	if r.Action != "" {
		o.Outcome, o.OptionID = event.OutcomeSelected, r.Action
	}
	require.NoError(t, a.Answer(o))
}

func updateOf(params json.RawMessage) json.RawMessage {
	var p struct{ Update json.RawMessage }
	if json.Unmarshal(params, &p) != nil {
		return params
	}
	return p.Update
}

func TestEveryLineOfTheRecordedTracesIsKeptInOrder(t *testing.T) {
	for _, file := range traces(t) {
		t.Run(traceName(file), func(t *testing.T) {
			steps, s := replayed(t, file)
			require.Empty(t, of[event.Error](s))
			exit := exitOf(t, s)
			require.Equal(t, "stopped", exit.Reason)
			require.Empty(t, exit.StderrTail)

			// Except for the start and for requests, the log has the order of the
			// wire: each line is searched after the previous one.
			var kept []string
			payloads := s.all()
			for i, p := range payloads {
				for _, line := range rebuild(p) {
					kept = append(kept, canonical(t, withExit(line, payloads[:i])))
				}
			}
			started := 2 // skip the responses to initialize and session/new
			at := started
			dropped := history(steps)
			for i, st := range steps {
				m := st.message()
				if st.Dir != "a>c" {
					continue
				}
				want := canonical(t, lineOf(t, m))
				if dropped[i] {
					require.NotContains(t, kept, want, "the history is in the log twice")
					continue
				}
				if contains(kept[:started], want) {
					continue
				}
				found := index(kept[at:], want)
				require.GreaterOrEqual(t, found, 0, "lost or out of order: %s", shorten(want))
				at += found + 1
			}
		})
	}
}

// withExit restores the terminal's exit in a tool call update. It is in the event
// before it.
func withExit(line json.RawMessage, before []event.Payload) json.RawMessage {
	var o object
	if len(before) == 0 || json.Unmarshal(line, &o) != nil || o["_meta"] != nil {
		return line
	}
	last, ok := before[len(before)-1].(event.TerminalOutput)
	if !ok || last.Exit == nil || last.ToolCallID != o["toolCallId"] {
		return line
	}
	var signal any
	if last.Exit.Signal != "" {
		signal = last.Exit.Signal
	}
	o["_meta"] = object{"terminal_exit": object{"exit_code": last.Exit.Code, "signal": signal, "terminal_id": last.TerminalID}}
	return o.json()
}

// lineOf returns the part of a line that the log must have.
func lineOf(t *testing.T, m incoming) json.RawMessage {
	switch {
	case m.Method == "session/update":
		return updateOf(m.Params)
	case m.Method == "session/request_permission":
		var o object
		require.NoError(t, json.Unmarshal(m.Params, &o))
		delete(o, "sessionId")
		return o.json()
	case m.Method != "":
		return m.Params
	case m.Error != nil:
		return m.Error
	}
	return m.Result
}

// history marks the lines that replay a loaded session. The log does not repeat
// them.
func history(steps []step) map[int]bool {
	marked := map[int]bool{}
	loading := ""
	for i, st := range steps {
		m := st.message()
		switch {
		case st.Dir == "c>a" && m.Method == "session/load":
			loading = string(m.ID)
		case st.Dir == "a>c" && m.Method == "" && string(m.ID) == loading:
			loading = ""
		case loading != "" && m.Method == "session/update":
			marked[i] = true
		}
	}
	return marked
}

func index(list []string, want string) int {
	for i, s := range list {
		if s == want {
			return i
		}
	}
	return -1
}

func contains(list []string, want string) bool { return index(list, want) >= 0 }

func TestRecordedTracesGiveTheTranscriptsOfTheGoldenFiles(t *testing.T) {
	if *update {
		recordDemo(t)
	}
	for _, file := range traces(t) {
		t.Run(traceName(file), func(t *testing.T) {
			steps, s := replayed(t, file)
			matchGolden(t, filepath.Join("testdata", "traces", traceName(file)+".jsonl"), listed(t, s.all()))
			matchGolden(t, filepath.Join("testdata", "transcripts", traceName(file)+".json"), folded(t, steps, s.all()))
		})
	}
}

func matchGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// folded is the session as a person reads it: the trace's prompts and the agent's
// answer to each.
func folded(t *testing.T, steps []step, payloads []event.Payload) string {
	t.Helper()
	var prompts []event.Payload
	for _, st := range steps {
		if m := st.message(); m.Method == "session/prompt" {
			prompts = append(prompts, prompt(fmt.Sprint("p", len(prompts)+1), promptText(t, m.Params)))
		}
	}
	var tr transcript.Transcript
	turn := 0
	apply := func(p event.Payload) {
		draft, err := event.NewDraft(p, turn, time.Unix(0, 0).UTC())
		require.NoError(t, err)
		require.NoError(t, tr.Apply(event.Event{Seq: tr.LastSeq + 1, Time: draft.Time, Type: draft.Type, Turn: draft.Turn, Data: draft.Data}))
	}
	begin := func() {
		if turn < len(prompts) {
			turn++
			apply(prompts[turn-1])
		}
	}
	begin()
	for _, p := range payloads {
		apply(p)
		if p.EventType() == event.TypeTurnEnd {
			begin()
		}
	}
	data, err := json.Marshal(&tr)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	data, err = json.MarshalIndent(abridge(v), "", "  ")
	require.NoError(t, err)
	return madeID.ReplaceAllString(string(data), `"$1-$2"`) + "\n"
}

var madeID = regexp.MustCompile(`"([pm])-[0-9a-f]{8}-(\d+)"`)

// listed prints one payload per line for golden files. Generated ids are numbered,
// long values are shortened to their start and hash, and chunks of a message are
// joined.
func listed(t *testing.T, payloads []event.Payload) string {
	t.Helper()
	var out strings.Builder
	for i := 0; i < len(payloads); i++ {
		p := payloads[i]
		note := ""
		if m, ok := p.(event.AgentMessage); ok && m.Raw == nil && m.Content == nil {
			n := 1
			for ; i+1 < len(payloads); i, n = i+1, n+1 {
				next, ok := payloads[i+1].(event.AgentMessage)
				if !ok || next.MessageID != m.MessageID || next.Raw != nil || next.Content != nil {
					break
				}
				m.Text += next.Text
			}
			p, note = m, fmt.Sprintf(`,"chunks":%d`, n)
		}
		data, err := json.Marshal(p)
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(data, &v))
		v = abridge(v)
		if started, ok := v.(map[string]any); ok && p.EventType() == event.TypeAgentStarted {
			started["pid"] = 0
		}
		data, err = json.Marshal(v)
		require.NoError(t, err)
		fmt.Fprintf(&out, `{"type":%q%s,"data":%s}`+"\n", p.EventType(), note, madeID.ReplaceAllString(string(data), `"$1-$2"`))
	}
	return out.String()
}

// abridge shortens long strings.
func abridge(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > 300 {
			return fmt.Sprintf("%.60s… (%d bytes, sha256 %x)", v, len(v), sha256.Sum256([]byte(v)))
		}
	case []any:
		for i := range v {
			v[i] = abridge(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = abridge(v[key])
		}
	}
	return v
}

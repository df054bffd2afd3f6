package acp_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

var (
	update      = flag.Bool("update", false, "rewrite the golden files")
	recordAgain = flag.Bool("record-demo", false, "record the traces of the demo agent again")
)

// replay is a trace that was played through an Agent.
type replay struct {
	steps []step
	sink  *sink
	// names are the names of this run: its folder and terminals, with those of the
	// trace.
	names map[string]string
	// files and terminals are whether the trace's client served them.
	files, terminals bool
	// refused is the error of a start that the trace's agent refused.
	refused error
}

// replayed plays a trace through an Agent and acts like the trace's client.
func replayed(t *testing.T, file string) replay {
	t.Helper()
	absolute, err := filepath.Abs(file)
	require.NoError(t, err)
	steps, err := readTrace(absolute)
	require.NoError(t, err)
	s := newSink()
	cfg := config(t, "replay")
	cfg.Env["ACP_TEST_TRACE"] = absolute
	cfg.Env["ACP_TEST_WIRE"] = os.Getenv("ACP_TEST_WIRE_OF_REPLAY")
	r := replay{steps: steps, sink: s, names: map[string]string{}}
	refused := false
	begins := map[string]bool{}
	for _, st := range steps {
		m := st.message()
		switch {
		case m.Method == "session/new", m.Method == "session/load":
			begins[string(m.ID)] = true
			r.names[cfg.Workspace] = folderOf(m.Params)
			var p struct{ SessionID string }
			require.NoError(t, json.Unmarshal(m.Params, &p))
			if p.SessionID != "" {
				cfg.Resume = p.SessionID
				cfg.Known = func(context.Context) (*acp.Known, error) { return &acp.Known{}, nil }
			}
		case st.Dir == "a>c" && m.Method == "":
			refused = refused || begins[string(m.ID)] && m.Error != nil
		case m.Method == "initialize":
			var p struct {
				ClientCapabilities struct {
					FS       struct{ ReadTextFile bool }
					Terminal bool
				}
			}
			require.NoError(t, json.Unmarshal(m.Params, &p))
			cfg.Files, cfg.Terminals = p.ClientCapabilities.FS.ReadTextFile, p.ClientCapabilities.Terminal
		}
	}
	r.files, r.terminals = cfg.Files, cfg.Terminals
	furnish(t, cfg.Workspace, steps)
	if refused {
		ctx, cancel := context.WithTimeout(context.Background(), waitFor)
		defer cancel()
		_, r.refused = acp.Start(ctx, cfg, s)
		require.Error(t, r.refused)
		first[event.AgentExit](t, s)
		return r
	}
	a := start(t, cfg, s)
	r.act(t, a)
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
	var terminals []string
	for _, st := range steps {
		if terminal := terminalOf(st.message().Result); st.Dir == "c>a" && terminal != "" {
			terminals = append(terminals, terminal)
		}
	}
	for _, p := range s.all() {
		if o, ok := p.(event.TerminalOutput); ok && ofTheHub(o) && r.names[o.TerminalID] == "" {
			require.NotEmpty(t, terminals)
			r.names[o.TerminalID], terminals = terminals[0], terminals[1:]
		}
	}
	return r
}

// act does what the trace's client did.
func (r replay) act(t *testing.T, a *acp.Agent) {
	t.Helper()
	asked, prompts := 0, 0
	for _, st := range r.steps {
		m := st.message()
		if st.Dir != "c>a" {
			continue
		}
		switch {
		case m.Method == "session/prompt":
			if prompts > 0 {
				ended(t, r.sink, fmt.Sprint("p", prompts))
			}
			prompts++
			require.NoError(t, a.Prompt(prompt(fmt.Sprint("p", prompts), promptText(t, m.Params))))
		case m.Method == "session/cancel":
			require.NoError(t, a.Cancel())
		case m.Method == "session/set_mode":
			var p struct{ ModeID string }
			require.NoError(t, json.Unmarshal(m.Params, &p))
			require.NoError(t, a.SetMode(context.Background(), p.ModeID, event.Actor{Name: "test"}))
		case m.Method == "session/set_config_option":
			var p struct {
				ConfigID string
				Value    any
			}
			require.NoError(t, json.Unmarshal(m.Params, &p))
			require.NoError(t, a.SetConfigOption(context.Background(), p.ConfigID, p.Value, event.Actor{Name: "test"}))
		case m.Method == "session/list":
			ended(t, r.sink, fmt.Sprint("p", prompts))
			err := a.ListPast(context.Background())
			require.NoError(t, err)
		case m.Method == "" && answersAPerson(m.Result):
			asked++
			answerLike(t, a, r.sink, asked, m.Result)
		case m.Method != "" && !slices.Contains([]string{"initialize", "session/new", "session/load", "session/close"}, m.Method):
			require.Fail(t, "no replay sends what the trace's client sent", m.Method)
		}
	}
	for i := range prompts {
		ended(t, r.sink, fmt.Sprint("p", i+1))
	}
}

// serves reports whether the trace's client serves a method. The log then has what
// was done, and not the request.
func (r replay) serves(method string) bool {
	return r.files && strings.HasPrefix(method, "fs/") || r.terminals && strings.HasPrefix(method, "terminal/")
}

// ofTheHub reports whether output is of a terminal that the hub runs.
func ofTheHub(o event.TerminalOutput) bool { return madeID.MatchString(quoted(o.TerminalID)) }

// furnish writes the files that the trace's agent read in its folder.
func furnish(t *testing.T, workspace string, steps []step) {
	t.Helper()
	folder, reads := "", map[string]string{}
	for _, st := range steps {
		m := st.message()
		var p struct{ Path, Content string }
		switch {
		case folderOf(m.Params) != "":
			folder = folderOf(m.Params)
		case m.Method == "fs/read_text_file":
			require.NoError(t, json.Unmarshal(m.Params, &p))
			reads[string(m.ID)] = strings.TrimPrefix(p.Path, folder)
		case st.Dir == "c>a" && m.Method == "" && reads[string(m.ID)] != "" && m.Result != nil:
			require.NoError(t, json.Unmarshal(m.Result, &p))
			require.NoError(t, os.WriteFile(filepath.Join(workspace, reads[string(m.ID)]), []byte(p.Content), 0o600))
		}
	}
}

// payloads returns the events of the agent's lines and of the hub's answers. Output
// of terminals that the hub ran is left out: it comes at any moment.
func (r replay) payloads() []event.Payload {
	return slices.DeleteFunc(r.sink.all(), func(p event.Payload) bool {
		o, ok := p.(event.TerminalOutput)
		return ok && ofTheHub(o)
	})
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
	seen := 0
	question := s.wait(t, fmt.Sprint("question ", n), func(p event.Payload) bool {
		if _, ok := p.(event.PermissionRequest); ok {
			seen++
		}
		return seen == n
	}).(event.PermissionRequest)
	var r struct {
		Outcome struct{ Outcome, OptionID string }
		Action  string
		Content json.RawMessage
	}
	require.NoError(t, json.Unmarshal(result, &r))
	o := event.PermissionOutcome{
		PermissionID: question.PermissionID,
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
			r := replayed(t, file)
			exit := exitOf(t, r.sink)
			require.Empty(t, exit.StderrTail)
			if r.refused != nil {
				require.Len(t, of[event.Error](r.sink), 1)
				require.Equal(t, "start_failed", exit.Reason)
				require.Equal(t, loginsOf(t, r.steps), loginsIn(r.refused))
				return
			}
			require.Empty(t, of[event.Error](r.sink))
			require.Equal(t, "stopped", exit.Reason)

			// Except for the start and for requests, the log has the order of the
			// wire: each line is searched after the previous one.
			var kept []string
			payloads := r.payloads()
			calls := resent{}
			for i, p := range payloads {
				for _, line := range append(rebuild(p), calls.lines(p)...) {
					kept = append(kept, renamed(canonical(t, withExit(line, payloads[:i])), r.names))
				}
			}
			started := 2 // skip the responses to initialize and session/new
			at := started
			dropped := history(r.steps)
			for i, st := range r.steps {
				m := st.message()
				if st.Dir != "a>c" || r.serves(m.Method) || string(m.Result) == "{}" {
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
			require.Equal(t, r.servedIn(t), r.served(), "files and terminals of the hub")
		})
	}
}

// loginsOf returns the ids of the ways to log in that the trace's agent offers.
func loginsOf(t *testing.T, steps []step) (ids []string) {
	t.Helper()
	for _, st := range steps {
		var r struct{ AuthMethods []struct{ ID string } }
		if m := st.message(); st.Dir == "a>c" && m.Result != nil {
			require.NoError(t, json.Unmarshal(m.Result, &r))
			for _, method := range r.AuthMethods {
				ids = append(ids, method.ID)
			}
		}
	}
	return ids
}

// loginsIn returns the ids of the ways to log in that an error names.
func loginsIn(err error) (ids []string) {
	var wanted *acp.AuthError
	if errors.As(err, &wanted) {
		for _, method := range wanted.Methods {
			ids = append(ids, method.ID)
		}
	}
	return ids
}

// servedIn returns the files and the output of terminals that the trace's client gave and
// took, by the events that say so.
func (r replay) servedIn(t *testing.T) map[event.Type][]string {
	t.Helper()
	asked, out := map[string]incoming{}, map[event.Type][]string{}
	for _, st := range r.steps {
		m := st.message()
		if st.Dir == "a>c" && r.serves(m.Method) {
			asked[string(m.ID)] = m
		}
		if st.Dir == "a>c" || m.Result == nil || asked[string(m.ID)].Method == "" {
			continue
		}
		var p struct{ Path, Output string }
		require.NoError(t, json.Unmarshal(asked[string(m.ID)].Params, &p))
		require.NoError(t, json.Unmarshal(m.Result, &p))
		switch asked[string(m.ID)].Method {
		case "fs/read_text_file":
			out[event.TypeFileRead] = append(out[event.TypeFileRead], p.Path)
		case "fs/write_text_file":
			out[event.TypeFileWrite] = append(out[event.TypeFileWrite], p.Path)
		case "terminal/output":
			out[event.TypeTerminalOutput] = append(out[event.TypeTerminalOutput], p.Output)
		}
	}
	return out
}

// served is servedIn of the events of a replay.
func (r replay) served() map[event.Type][]string {
	out := map[event.Type][]string{}
	for _, p := range r.sink.all() {
		switch p := p.(type) {
		case event.FileRead:
			out[event.TypeFileRead] = append(out[event.TypeFileRead], renamed(p.Path, r.names))
		case event.FileWrite:
			out[event.TypeFileWrite] = append(out[event.TypeFileWrite], renamed(p.Path, r.names))
		case event.TerminalOutput:
			if ofTheHub(p) && p.Data != "" {
				out[event.TypeTerminalOutput] = append(out[event.TypeTerminalOutput], string(p.Data))
			}
		}
	}
	return out
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
	if *recordAgain {
		recordDemo(t)
	}
	for _, file := range traces(t) {
		t.Run(traceName(file), func(t *testing.T) {
			r := replayed(t, file)
			matchGolden(t, filepath.Join("testdata", "traces", traceName(file)+".jsonl"), r.listed(t))
			matchGolden(t, filepath.Join("testdata", "transcripts", traceName(file)+".json"), r.folded(t))
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
func (r replay) folded(t *testing.T) string {
	t.Helper()
	var prompts []event.Payload
	for _, st := range r.steps {
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
	for _, p := range r.payloads() {
		apply(p)
		if p.EventType() == event.TypeTurnEnd {
			begin()
		}
	}
	data, err := json.Marshal(&tr)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal([]byte(renamed(string(data), r.names)), &v))
	data, err = json.MarshalIndent(abridge(v), "", "  ")
	require.NoError(t, err)
	return madeID.ReplaceAllString(string(data), `"$1-$2"`) + "\n"
}

var madeID = regexp.MustCompile(`"([pmt])-[0-9a-f]{8}-(\d+)"`)

// listed prints one payload per line for golden files. Generated ids are numbered,
// long values are shortened to their start and hash, and chunks of a message are
// joined.
func (r replay) listed(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	payloads := r.payloads()
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
		require.NoError(t, json.Unmarshal([]byte(renamed(string(data), r.names)), &v))
		v = abridge(v)
		switch fields := v.(map[string]any); p.EventType() {
		case event.TypeAgentStarted:
			fields["pid"] = 0
		case event.TypeAgentExit:
			if r.refused != nil { // it may exit before it is ended
				delete(fields, "code")
				delete(fields, "signal")
			}
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

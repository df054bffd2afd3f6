package acp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// recorded returns stdin and stdout and writes the traffic to a trace.
func recorded(path string) (io.Reader, io.Writer) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	mu := &sync.Mutex{}
	return io.TeeReader(os.Stdin, &recordedSide{dir: "c>a", file: file, mu: mu}), io.MultiWriter(&recordedSide{dir: "a>c", file: file, mu: mu}, os.Stdout)
}

// recordedSide writes one direction's lines to a trace.
type recordedSide struct {
	dir  string
	rest []byte
	mu   *sync.Mutex // guards the file
	file *os.File
}

func (r *recordedSide) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = append(r.rest, p...)
	for {
		line, rest, whole := bytes.Cut(r.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		r.rest = rest
		if len(bytes.TrimSpace(line)) == 0 || !json.Valid(line) {
			continue // a trace has messages only
		}
		entry, err := json.Marshal(step{Dir: r.dir, Msg: line})
		if err != nil {
			return 0, err
		}
		if _, err := r.file.Write(append(entry, '\n')); err != nil {
			return 0, err
		}
	}
}

// recordDemo records the traces of the demo agent again.
func recordDemo(t *testing.T) {
	t.Helper()
	for name, prompts := range map[string][]string{
		"demo-tour":    {"show me around", "/markdown"},
		"demo-edit":    {"/edit notes.txt", "/plan"},
		"demo-reject":  {"/ask reject"},
		"demo-form":    {"/form"},
		"demo-strange": {"/term", "/early", "/unknown", "/late", "/slow 0"},
		"demo-ends":    {"/refuse", "/maxtokens", "/error"},
		"demo-cancel":  {"/ask cancel", "/plan"},
	} {
		s := newSink()
		cfg := config(t, "demo")
		file := filepath.Join(t.TempDir(), "trace")
		cfg.Env["ACP_TEST_RECORD"] = file
		a := start(t, cfg, s)
		asked := 0
		for _, text := range prompts {
			require.NoError(t, a.Prompt(prompt(text, text)))
			s.wait(t, "a question or the end", func(p event.Payload) bool {
				end, ended := p.(event.TurnEnd)
				return ended && end.PromptID == text || len(of[event.PermissionRequest](s)) > asked
			})
			if questions := of[event.PermissionRequest](s); len(questions) > asked {
				option := questions[asked].Options[0]
				if strings.HasSuffix(text, " reject") {
					option = questions[asked].Options[len(questions[asked].Options)-1]
				}
				o := event.PermissionOutcome{PermissionID: questions[asked].PermissionID, Outcome: event.OutcomeSelected, OptionID: option.OptionID}
				if questions[asked].Form != nil {
					o.Content = json.RawMessage(`{"name":"Ada","loud":true,"times":3}`)
				}
				if strings.HasSuffix(text, " cancel") {
					o = event.PermissionOutcome{PermissionID: o.PermissionID, Outcome: event.OutcomeCancelled}
				}
				require.NoError(t, a.Answer(o))
				if o.Outcome == event.OutcomeCancelled {
					require.NoError(t, a.Cancel())
				}
				asked++
			}
			ended(t, s, text)
		}
		finish(t, a, s)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		// The trace must not contain local paths.
		data = bytes.ReplaceAll(data, []byte(cfg.Workspace), []byte("/home/dev/project"))
		data = regexp.MustCompile(regexp.QuoteMeta(os.TempDir())+`/[\w.-]+`).ReplaceAll(data, []byte("/home/dev/scratch"))
		require.NoError(t, os.WriteFile(filepath.Join(ownTraceDir, name+".jsonl"), data, 0o644))
	}
}

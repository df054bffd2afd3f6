package snapshot_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/snapshot"
	"github.com/abidehub/abide/session/state"
)

// What the snapshots of recorded agents say in short: plan, files with size or "?", commands.
func TestSnapshotsOfRecordedAgents(t *testing.T) {
	files, err := filepath.Glob("../acp/testdata/traces/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	got := map[string]string{}
	for _, file := range files {
		s := traced(t, file)
		var said []string
		for _, one := range s.AgentContext.CompletedTasks {
			said = append(said, "done "+one)
		}
		for _, one := range s.AgentContext.Suggestions {
			said = append(said, "next "+one)
		}
		for _, f := range s.Files {
			size := "?"
			if f.Size != nil {
				size = fmt.Sprint(*f.Size)
			}
			said = append(said, fmt.Sprintf("file %s %s", filepath.Base(f.Path), size))
		}
		for _, o := range s.Outputs {
			said = append(said, fmt.Sprintf("%s %.30q", o.Type, string(o.Content)))
		}
		got[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = strings.Join(said, "\n")
	}
	for name, want := range map[string]string{
		"claude":       "file hello.txt 17\ncommand \"touch created.txt && echo hi-f\"\nstdout \"```console\\nhi-from-shell\\n```\"",
		"codex":        "command \"touch created.txt; seq 1 5\"\nstdout \"1\\n2\\n3\\n4\\n5\\n\"",
		"opencode":     "file hello.txt 19\ncommand \"touch created.txt && echo hi-f\"\nstdout \"hi-from-shell\\n\"",
		"kimi":         "file hello.txt 15\ncommand \"Running: touch created.txt && \"",
		"claude-error": "",
		"demo-tour":    "done Read what is there\ndone Add a greeting\ndone Check the result\ndone Sum up\nfile GREETING.md 46\ncommand \"`check --all`\"\nstdout \"\\x1b[32m✓\\x1b[0m checking README.md\\n\"",
	} {
		require.Equal(t, want, got[name], name)
	}
}

// traced is the snapshot of a trace, as one turn.
func traced(t *testing.T, file string) *state.Snapshot {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	f, seq := snapshot.NewFold("0123456789abcdef"), event.Seq(0)
	for line := range strings.Lines(string(data)) {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		seq++
		e.Seq, e.Turn = seq, 1
		f.Take(e)
	}
	return f.Settled()
}

package state_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// story returns the events of a committed log with every kind of event.
func story(t *testing.T) []event.Event {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "event", "testdata", "story.jsonl"))
	require.NoError(t, err)
	var events []event.Event
	for line := range strings.Lines(string(text)) {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		events = append(events, e)
	}
	return events
}

// encoded returns the parts of a fold by name, and the format of its file.
func encoded(t *testing.T, f *state.Fold) (parts map[string]json.RawMessage, format int) {
	t.Helper()
	data, err := f.Encode("0123456789abcdef")
	require.NoError(t, err)
	var file struct {
		Format int
		Fold   map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &file))
	return file.Fold, file.Format
}

// TestAStoredFoldIsReadAsItWasWritten folds a committed log with every kind of event,
// and compares what each event changes with what it changed when this format was
// introduced. A hub would use a fold that an earlier build wrote of the same log.
func TestAStoredFoldIsReadAsItWasWritten(t *testing.T) {
	var f state.Fold
	before, format := encoded(t, &f)
	var lines bytes.Buffer
	write := func(line any) {
		encoder := json.NewEncoder(&lines)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(line))
	}
	write(map[string]int{"format": format})
	kinds := map[event.Type]bool{}
	for _, e := range story(t) {
		kinds[e.Type] = true
		f.ApplyEvent(e)
		now, _ := encoded(t, &f)
		changed := maps.Clone(now)
		maps.DeleteFunc(changed, func(name string, part json.RawMessage) bool { return bytes.Equal(part, before[name]) })
		for name := range before {
			if now[name] == nil {
				changed[name] = json.RawMessage("null")
			}
		}
		before = now
		write(struct {
			Seq     event.Seq                  `json:"seq"`
			Type    event.Type                 `json:"type"`
			Changed map[string]json.RawMessage `json:"changed"`
		}{e.Seq, e.Type, changed})

		stored, err := f.Encode("0123456789abcdef")
		require.NoError(t, err)
		again, _, err := state.Decode(stored)
		require.NoError(t, err)
		twice, err := again.Encode("0123456789abcdef")
		require.NoError(t, err)
		require.Equal(t, string(stored), string(twice), "a stored fold must say everything, seq %d", e.Seq)
	}
	for _, k := range event.Kinds() {
		require.True(t, kinds[k.EventType()], "add %s to story.jsonl", k.EventType())
	}

	golden := filepath.Join("testdata", "fold.jsonl")
	want, err := os.ReadFile(golden)
	require.True(t, err == nil || os.IsNotExist(err), "%v", err)
	head, _, _ := strings.Cut(lines.String(), "\n")
	if known := strings.HasPrefix(string(want), head+"\n"); known {
		require.True(t, strings.HasPrefix(lines.String(), string(want)),
			"a fold of this log is not what an earlier build stored: raise foldFormat, then run this test with -update\n%s", lines.String())
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, lines.Bytes(), 0o644))
		return
	}
	require.Equal(t, string(want), lines.String(), "run this test with -update")
}

package session_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// answers returns a session's state, list line, events and the outcome of its
// prompt as text.
func answers(t *testing.T, b *session.BackgroundSession) string {
	t.Helper()
	data, err := json.Marshal([]any{b.State(), b.Info(), shape(t, b), prompt(t, b, promptID(0)).Outcome})
	require.NoError(t, err)
	return string(data)
}

// otherFold returns a fold.json with another mode than the log and the given header
// fields.
func otherFold(t *testing.T, data []byte, header map[string]any) []byte {
	t.Helper()
	file := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(data, &file))
	file["fold"] = json.RawMessage(strings.Replace(string(file["fold"]), `"mode_id":"plan"`, `"mode_id":"other"`, 1))
	sum := crc32.Checksum(file["fold"], crc32.MakeTable(crc32.Castagnoli))
	file["crc"] = json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("%08x", sum)))
	for name, value := range header {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		file[name] = raw
	}
	out, err := json.Marshal(file)
	require.NoError(t, err)
	return out
}

func TestDerivedFilesCostNothingButTime(t *testing.T) {
	h := newDiskHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(
		toolCall("t1", event.ToolInProgress), event.Title{Title: "Named by the agent"}, event.Mode{ModeID: "plan"}, message("Done so far."),
	))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	id := b.ID()
	require.NoError(t, h.store.Derived().Write("of-all.json", []byte("{}")))
	h.close()
	inSession := filepath.Join("sessions", id, "derived")
	fold := filepath.Join(inSession, "fold.json")
	whole, err := os.ReadFile(filepath.Join(h.dir, fold))
	require.NoError(t, err, "no fold was stored")
	var head struct{ Seq event.Seq }
	require.NoError(t, json.Unmarshal(whole, &head))

	// reopened returns the answers of another hub on a copy of the directory, with
	// data as fold.json; nil removes the derived files.
	reopened := func(t *testing.T, data []byte) string {
		t.Helper()
		c := &hub{t: t, dir: t.TempDir(), workspace: h.workspace, agents: newAgents()}
		copyDir(t, h.dir, c.dir)
		if data == nil {
			require.NoError(t, os.RemoveAll(filepath.Join(c.dir, inSession)))
			require.NoError(t, os.RemoveAll(filepath.Join(c.dir, "derived")))
		} else {
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, fold), data, 0o600))
		}
		c.open()
		t.Cleanup(c.close)
		said := answers(t, c.session(id))
		c.close()
		after, err := os.ReadFile(filepath.Join(c.dir, fold))
		require.NoError(t, err)
		if !strings.Contains(said, `"other"`) {
			require.Equal(t, string(whole), string(after), "the same fold is written again")
		}
		return said
	}
	want := reopened(t, whole)
	require.Contains(t, want, `"plan"`)
	require.Contains(t, reopened(t, otherFold(t, whole, nil)), `"other"`, "fold.json is not used")
	for name, data := range map[string][]byte{
		"deleted":               nil,
		"empty":                 {},
		"cut short":             whole[:len(whole)/2],
		"with another checksum": otherFold(t, whole, map[string]any{"crc": "00000000"}),
		"of another epoch":      otherFold(t, whole, map[string]any{"epoch": "0123456789abcdef"}),
		"beyond the log":        otherFold(t, whole, map[string]any{"seq": head.Seq + 1}),
		"of another format":     otherFold(t, whole, map[string]any{"format": 99}),
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, want, reopened(t, data)) })
	}
}

package session_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// A line whose seq is far too high but whose checksum is right counts, and
// placeholders stand for the events before it. The session must stay fast despite
// the many placeholders.
func TestALineWithANumberFarAheadDoesNotMakeTheSessionUnusable(t *testing.T) {
	h := newDiskHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(event.Mode{ModeID: "plan"}))
	await(t, b, "the mode", func(s session.State) bool { return s.Mode != nil })
	c := &hub{t: t, dir: t.TempDir(), workspace: h.workspace, agents: newAgents()}
	copyDir(t, h.dir, c.dir)
	path := filepath.Join(c.dir, "sessions", b.ID(), "events.jsonl")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	const far = 4_000_000_000_000
	line := `{"seq":4000000000000,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"by hand"}`
	line += fmt.Sprintf(`,"crc":"%08x"}`+"\n", crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)))
	require.NoError(t, os.WriteFile(path, append(whole, line...), 0o600))

	c.open()
	defer func() {
		require.NoError(t, c.manager.Close(ctxOf(t)))
		require.NoError(t, c.store.Close())
		report, err := store.Check(ctxOf(t), c.dir, "")
		require.NoError(t, err)
		for _, p := range report.Problems {
			require.Contains(t, []string{"hole"}, p.Kind)
		}
	}()
	again := c.session(b.ID()) // within patience
	require.Equal(t, "plan", again.State().Mode.ModeID, "the events before the hole must count")
	require.Equal(t, session.TurnIdle, again.State().Turn.State)
	log := again.Log()
	page, err := log.ReadBefore(ctxOf(t), far+1, 10)
	require.NoError(t, err)
	require.EqualValues(t, far-9, page.First)
	require.EqualValues(t, far, page.Last)
	page, err = log.ReadBefore(ctxOf(t), far/2, 1<<30)
	require.NoError(t, err)
	require.EqualValues(t, far/2-1, page.Last)
	require.LessOrEqual(t, page.Count, 10_000)
	batch, err := log.ReadAfter(ctxOf(t), 1, 64<<10)
	require.NoError(t, err)
	require.LessOrEqual(t, len(batch.JSON), 64<<10)
	require.EqualValues(t, 2, batch.First)
}

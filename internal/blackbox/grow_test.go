package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
	"github.com/stretchr/testify/require"
)

// TestAnOutputThatIsResentWithEachUpdateCostsOnce has a command of 57 KB, of which the
// agent sends all it has so far 1,500 times.
func TestAnOutputThatIsResentWithEachUpdateCostsOnce(t *testing.T) {
	t.Parallel()
	const updates = 1500
	var output strings.Builder
	for i := range updates {
		fmt.Fprintf(&output, "step %5d of %5d compiles and links\n", i+1, updates)
	}
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", fmt.Sprintf("/grow %d", updates))
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)

	log := onDisk(t, h, session.SessionID)
	require.Equal(t, output.String(), outputIn(t, log))
	require.Equal(t, output.String(), outputIn(t, c.seen()), "who followed has it, too")
	// The end of the call repeats the output: a crash leaves it whole, too.
	for n := len(log) - 1; log[n].Seq > log[len(log)-1].Seq-20; n-- {
		require.True(t, strings.HasPrefix(output.String(), outputIn(t, log[:n])))
	}
	file, err := os.Stat(filepath.Join(h.data, "sessions", session.SessionID, "events.jsonl"))
	require.NoError(t, err)
	require.Less(t, file.Size(), int64(400_000))

	opened, bytes := openWhole(t, h, session.SessionID)
	require.Equal(t, output.String(), outputIn(t, opened))
	require.Less(t, bytes, 150_000)

	shown, errs, code := h.run("show", "--full", session.SessionID)
	require.Zero(t, code, errs)
	exported, errs, code := h.run("export", "--format", "markdown", session.SessionID)
	require.Zero(t, code, errs)
	for i := range strings.Lines(output.String()) {
		require.Contains(t, shown, strings.TrimSpace(i))
		require.Contains(t, exported, i)
	}
}

// outputIn is the text of the first tool call.
func outputIn(t *testing.T, log []event.Event) string {
	t.Helper()
	var told transcript.Transcript
	for _, e := range log {
		require.NoError(t, told.Apply(e))
	}
	for _, turn := range told.Turns {
		for _, entry := range turn.Entries {
			if entry.Tool == nil {
				continue
			}
			content := string(entry.Tool.Whole())
			_, text, _ := strings.Cut(content, `"text":"`)
			text, _, _ = strings.Cut(text, `"`)
			return strings.ReplaceAll(text, `\n`, "\n")
		}
	}
	return ""
}

// openWhole reads a session as the app does, newest page first. It returns the events
// and how many bytes the frames with them had.
func openWhole(t *testing.T, h *hub, session string) (log []event.Event, bytes int) {
	t.Helper()
	w := h.raw("/api/ws")
	w.write(`{"type":"observe","request_id":"r","session_id":"` + session + `","tail":50,"merge":true}`)
	for {
		loaded := w.next("events_loaded").(*wire.EventsLoaded)
		bytes += w.size
		log = append(slices.Clone(loaded.Events), log...)
		if !loaded.HasMore {
			return log, bytes
		}
		w.write(fmt.Sprintf(`{"type":"load_events","request_id":"r","session_id":%q,"epoch":%q,"before_seq":%d,"limit":500,"merge":true}`, session, loaded.Epoch, loaded.FirstSeq))
	}
}

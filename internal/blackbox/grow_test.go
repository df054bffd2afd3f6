package blackbox_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
	"github.com/stretchr/testify/require"
)

// TestAnOutputThatIsResentWithEachUpdateCostsOnce has a command of 10 KB, of which the
// agent sends all it has so far 300 times; in make soak 57 KB, 1,500 times.
func TestAnOutputThatIsResentWithEachUpdateCostsOnce(t *testing.T) {
	t.Parallel()
	t.Run("content", func(t *testing.T) {
		if soak.On() {
			costsOnce(t, "content", 1500, 400_000, 150_000)
		} else {
			costsOnce(t, "content", 300, 100_000, 60_000)
		}
	})
	for _, form := range []string{"fence", "shorter", "both", "output", "string", "meta"} {
		t.Run(form, func(t *testing.T) { costsOnce(t, form, 150, 80_000, 50_000) })
	}
}

// costsOnce bounds the bytes of the log, and of what opening it sends.
func costsOnce(t *testing.T, form string, updates int, inLog int64, sent int) {
	var output strings.Builder
	for i := range updates {
		fmt.Fprintf(&output, "step %5d of %5d compiles and links\n", i+1, updates)
	}
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", fmt.Sprintf("/grow %d %s", updates, form))
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)

	log := onDisk(t, h, session.SessionID)
	if form != "meta" { // that is in raw alone
		require.Equal(t, output.String(), outputIn(t, log))
		require.Equal(t, output.String(), outputIn(t, c.seen()), "who followed has it, too")
		// The end of the call repeats the output: a crash leaves it whole, too.
		for n := len(log) - 1; log[n].Seq > log[len(log)-1].Seq-20; n-- {
			require.True(t, strings.HasPrefix(output.String(), outputIn(t, log[:n])))
		}
	}
	file, err := os.Stat(filepath.Join(h.data, "sessions", session.SessionID, "events.jsonl"))
	require.NoError(t, err)
	require.Less(t, file.Size(), inLog)

	opened, bytes := openWhole(t, h, session.SessionID)
	require.Less(t, bytes, sent)
	if form == "meta" {
		return
	}
	require.Equal(t, output.String(), outputIn(t, opened))

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
			var blocks []struct {
				Content struct{ Text string }
			}
			_ = json.Unmarshal(entry.Tool.Whole(), &blocks) // absent where the output is elsewhere
			if len(blocks) > 0 {
				text := strings.TrimPrefix(blocks[0].Content.Text, "```\n")
				return strings.TrimSuffix(text, "```")
			}
			if shown := entry.Tool.Output(""); shown != "" {
				return strings.TrimSuffix(shown, "\n") + "\n"
			}
			return ""
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

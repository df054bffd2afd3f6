package screen

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func TestMain(m *testing.M) {
	seed.FixRapid()
	os.Exit(m.Run())
}

// However pages and live events come, a window is a part of the log without a gap, in
// order, and bounded.
func TestAWindowHasNoGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const all = 30_000
		log := func(from, to event.Seq) (events []event.Event) {
			for seq := max(1, from); seq <= min(to, all); seq++ {
				events = append(events, event.Event{Seq: seq, Data: []byte("{}")})
			}
			return events
		}
		w := window{min: 1, end: 20_000}
		w.reset(log(19_501, 20_000))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := event.Seq(rapid.IntRange(1, pageEvents).Draw(t, "page"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				w.prepend(log(w.first()-n, w.first()+2)) // with some that are known
			case 1:
				w.append(log(w.last()-2, w.last()+n), true)
			case 2:
				w.append(log(w.last()-2, w.last()+n), false)
			case 3:
				w.append(log(w.end+1, w.end+n), rapid.Bool().Draw(t, "drop")) // live, perhaps beyond the window
			case 4:
				w.reset(log(w.end-n, w.end))
			}
			bytes := 0
			for i, e := range w.events {
				require.Equal(t, w.first()+event.Seq(i), e.Seq)
				bytes += len(e.Data)
			}
			require.Equal(t, bytes, w.bytes)
			require.LessOrEqual(t, len(w.events), heldEvents+1)
			require.LessOrEqual(t, w.last(), w.end)
		}
	})
}

// No row is wider than the terminal, each has its whole style, and nothing is lost.
func TestRowsFitTheTerminal(t *testing.T) {
	pieces := []string{"word ", "日本語", "e\u0301", "👩‍👩‍👧 ", "a-long-word-without-an-end-", "\t", "\x1b[2m", "\x1b[0m", "\x1b[31m", "x"}
	rapid.Check(t, func(t *rapid.T) {
		var line strings.Builder
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(pieces)-1)).Draw(t, "line") {
			line.WriteString(pieces[i])
		}
		width := rapid.IntRange(2, 90).Draw(t, "width")
		var shown strings.Builder
		for _, row := range cells.Wrap([]string{line.String()}, 7, width) {
			require.LessOrEqual(t, ansi.StringWidth(row.Text), width)
			require.Equal(t, 7, row.Line)
			if i := strings.LastIndex(row.Text, "\x1b["); i >= 0 && ansi.StringWidth(line.String()) > width {
				require.True(t, strings.HasPrefix(row.Text[i:], cells.Reset), "%q", row.Text)
			}
			shown.WriteString(ansi.Strip(row.Text))
		}
		letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
		require.Equal(t, letters(ansi.Strip(line.String())), letters(shown.String()))
	})
}

func TestASearchMarksWhatItFinds(t *testing.T) {
	for _, c := range []struct{ text, query, want string }{
		{"Fix the Importer", "import", "Fix the [Import]er"},
		{"ÄRGER ärger", "ärger", "[ÄRGER] [ärger]"},
		{"İstanbul", "stan", "İ[stan]bul"},
		{"nothing", "x", "nothing"},
		{"\x1b[2mdim\x1b[0m text", "im t", "d[im t]ext"},
		{"any", "", "any"},
	} {
		got := strings.NewReplacer(cells.Inverse, "[", cells.Reset, "]").Replace(cells.Mark(c.text, c.query))
		require.Equal(t, c.want, got, fmt.Sprint(c))
	}
}

// A restore shows how far it is over what is read, and fits a narrow terminal.
func TestARestoreLiesOverTheSession(t *testing.T) {
	body := []string{"one", "two"}
	require.Equal(t, body, overlay(body, nil, 40, 10))
	for _, columns := range []int{20, 40, 200} {
		drawn := overlay([]string{"one"}, &wire.Restore{Done: 3, Total: 7, Tokens: 12_000, Percent: 42}, columns, 10)
		require.Len(t, drawn, 10)
		for _, row := range drawn {
			require.LessOrEqual(t, ansi.StringWidth(row), columns)
		}
		text := strings.Join(drawn, "\n")
		require.Contains(t, text, "Ctrl-X cancels")
		if columns > 20 {
			require.Contains(t, text, "[####......] 3/7")
		}
	}
}

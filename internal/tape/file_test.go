package tape

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

// eventLines returns n events from seq first on, one second apart.
func eventLines(first, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"seq":%d,"time":"2026-02-21T14:%02d:%02dZ","type":"agent_message","turn":1,"data":{"message_id":"m","text":"%d "}}`+"\n", first+i, i/60, i%60, first+i)
	}
	return b.String()
}

func fileOf(t *testing.T, text string) (*File, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "session.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	f, err := Open(file)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, f.Close()) })
	}
	return f, err
}

func TestAnEventOfAFileIsFoundFromEveryPlace(t *testing.T) {
	for _, end := range []string{"\n", ""} {
		f, err := fileOf(t, strings.TrimSuffix(eventLines(40, 3*fileStep+7), "\n")+end)
		require.NoError(t, err)
		p := playback.NewPlayer(f, f.first)
		require.NoError(t, p.Load(t.Context()))
		require.Equal(t, event.Seq(40+3*fileStep+6), p.Last())
		for _, at := range []event.Seq{345, 40, 139, 140, 141, 39, 346} {
			require.NoError(t, p.Seek(t.Context(), at))
			require.Equal(t, at, p.Seq())
			b, err := f.ReadAfter(t.Context(), at, 1)
			require.NoError(t, err)
			if at < p.Last() {
				events, err := b.Events()
				require.NoError(t, err)
				require.Equal(t, at+1, events[0].Seq)
				require.Len(t, events, b.Count)
			}
		}
	}
}

func TestAFileThatIsNoSessionIsToldByItsLine(t *testing.T) {
	for text, says := range map[string]string{
		"":                                  "no events",
		"hello\n":                           "line 1",
		eventLines(1, 3) + "{\n":            "line 4",
		eventLines(1, 3) + eventLines(9, 1): "event 9, after event 3",
		strings.Repeat("x", longestLine+1):  "token too long",
		eventLines(1, 2) + "\n" + eventLines(3, 1): "line 3",
	} {
		_, err := fileOf(t, text)
		require.ErrorContains(t, err, says)
	}
}

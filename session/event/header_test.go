package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

func TestGlancingAtABatchYieldsEveryKindAsDecodingDoes(t *testing.T) {
	golden, err := os.ReadFile("testdata/events.jsonl")
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(golden), []byte("\n"))
	b := event.Batch{First: 1, Last: event.Seq(len(lines)), Count: len(lines), JSON: bytes.Join(lines, []byte(","))}
	want, err := b.Events()
	require.NoError(t, err)
	i := 0
	for g := range b.Headers() {
		require.Equal(t, want[i].Type, g.Type)
		require.Equal(t, lines[i], g.JSON)
		got, err := g.Event()
		require.NoError(t, err)
		require.Equal(t, want[i], got)
		i++
	}
	require.Equal(t, b.Count, i)
}

// FuzzHeaders requires that lines that decode as events are returned as those
// events, and that no other line causes a panic or an endless loop.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{
		`{"seq":1,"time":"2026-02-21T14:03:07.123456Z","type":"note","turn":2,"data":{"a":"},{\"\\"}}`,
		`{"seq":1,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{}},{"seq":2,"time":"2026-02-21T14:03:07.123456Z","type":"title","data":{"title":"x"},"type":"note"}`,
		`{"seq":1,"time":"2026-02-21T14:03:07.123456Z","type":"agent_message","data":{"message_id":"m","text":"plain ✓"}}`,
		`{"data":{},"seq":3,"type":"a\u0062c","time":"2026-02-21T14:03:07+01:00"}`,
		`{"seq":1,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":[}`, `{`, `"`, `]`, `,`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := event.Batch{First: 1, Last: 1, Count: 1, JSON: text}
		want, wantErr := b.Events()
		if bytes.ContainsAny(text, " \t\r\n") {
			wantErr = errors.New("no batch of a log has blanks between its events")
		}
		var got []event.Event
		for g := range b.Headers() {
			require.NotEmpty(t, g.JSON)
			e, err := g.Event()
			if wantErr != nil {
				continue
			}
			require.NoError(t, err, "%s", g.JSON)
			if g.Type != "" {
				require.Equal(t, e.Type, g.Type)
			}
			if seq, m, ok := g.Chunk(); ok {
				p, err := e.Payload()
				require.NoError(t, err)
				require.Equal(t, p, m)
				require.Equal(t, e.Seq, seq)
			}
			got = append(got, e)
		}
		if wantErr != nil {
			return
		}
		require.Len(t, got, len(want))
		for i := range want {
			require.True(t, want[i].Time.Equal(got[i].Time))
			got[i].Time = want[i].Time
			w, err := json.Marshal(want[i])
			require.NoError(t, err)
			g, err := json.Marshal(got[i])
			require.NoError(t, err)
			require.Equal(t, string(w), string(g))
		}
	})
}

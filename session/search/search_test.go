package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/search"
)

func line(seq int, kind, data string) string {
	return fmt.Sprintf(`{"seq":%d,"time":"2026-02-21T14:03:07.123456Z","type":"%s","turn":1,"data":%s,"crc":"00000000"}`+"\n", seq, kind, data)
}

func source(t testing.TB, files map[string]string, maxSeq event.Seq) []search.Source {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return []search.Source{{SessionID: "20260221-140307-aaaaaaaa", Dir: dir, MaxSeq: maxSeq}}
}

func all(t testing.TB, sources []search.Source, text string, limit int) (seqs []event.Seq) {
	t.Helper()
	q, err := search.NewQuery(text, limit, time.Minute)
	require.NoError(t, err)
	var from search.Place
	for {
		r, err := q.Run(context.Background(), sources, from)
		require.NoError(t, err)
		for _, h := range r.Hits {
			seqs = append(seqs, h.Seq)
		}
		if r.Done {
			return seqs
		}
		from = r.Next
	}
}

func TestAPhraseIsFoundAcrossChunks(t *testing.T) {
	log := line(1, "agent_message", `{"message_id":"m","text":"the quick bro"}`) +
		line(2, "usage", `{}`) +
		line(3, "agent_message", `{"message_id":"m","text":"wn f\u006fx"}`) +
		line(4, "agent_message", `{"message_id":"n","text":" jumps"}`)
	sources := source(t, map[string]string{"events.jsonl": log}, 4)
	require.Equal(t, []event.Seq{1}, all(t, sources, "BROWN FOX", 10))
	require.Equal(t, []event.Seq{3}, all(t, sources, "fox", 10))
	require.Empty(t, all(t, sources, "fox jumps", 10), "two messages are two passages")
}

func TestSealedFilesAreSearchedAndWhatIsNotVisibleIsNot(t *testing.T) {
	sources := source(t, map[string]string{
		"events-0000000000000001-0000000000000002.jsonl": line(1, "user_prompt", `{"text":"needle"}`) + line(2, "usage", `{}`),
		"events.jsonl": line(3, "tool_call", `{"title":"Needle"}`) + "garbage\n" + line(4, "tool_call", `{"title":"run","raw_input":{"command":"grep needle"}}`) +
			line(5, "user_prompt", `{"text":"needle"}`),
	}, 4)
	require.Equal(t, []event.Seq{4, 3, 1}, all(t, sources, "needle", 10))
	require.Equal(t, []event.Seq{4, 3, 1}, all(t, sources, "needle", 1), "by cursor too")
}

func TestEveryEventOfALongFileIsFoundOnce(t *testing.T) {
	var log strings.Builder
	const events = 6_000
	pad := strings.Repeat("x", 300)
	for i := 1; i <= events; i++ {
		text := pad
		if i%1000 == 0 {
			text += strings.Repeat("y", 500_000) // lines longer than a probe
		}
		log.WriteString(line(i, "user_prompt", fmt.Sprintf(`{"text":"needle %s"}`, text)))
	}
	sources := source(t, map[string]string{"events.jsonl": log.String()}, events)
	seqs := all(t, sources, "needle", 500)
	require.Len(t, seqs, events)
	for i, seq := range seqs {
		require.Equal(t, event.Seq(events-i), seq)
	}
}

func BenchmarkSearch(b *testing.B) {
	var log strings.Builder
	const events = 200_000
	for i := 1; i <= events; i++ {
		log.WriteString(line(i, "agent_message", fmt.Sprintf(`{"message_id":"m%d","text":"some words the agent streamed"}`, i/40)))
	}
	sources := source(b, map[string]string{"events.jsonl": log.String()}, events)
	b.SetBytes(int64(log.Len()))
	for b.Loop() {
		require.Empty(b, all(b, sources, "nowhere", 10))
	}
}

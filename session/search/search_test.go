package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

func line(seq int, kind, data string) string {
	body := fmt.Sprintf(`{"seq":%d,"time":"2026-02-21T14:03:07.123456Z","type":"%s","turn":1,"data":%s`, seq, kind, data)
	return fmt.Sprintf(`%s,"crc":"%08x"}`+"\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
}

func source(t testing.TB, files map[string]string, maxSeq event.Seq) []search.Source {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return sourceIn(dir, maxSeq)
}

// sourceIn is the session whose files lie in a directory.
func sourceIn(dir string, maxSeq event.Seq) []search.Source {
	lines := func() ([]journal.Part, error) { return store.Lines(store.OS(), dir) }
	return []search.Source{{SessionID: "20260221-140307-aaaaaaaa", Lines: lines, MaxSeq: maxSeq}}
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

func TestASnippetBeginsAndEndsWithWholeWords(t *testing.T) {
	words := strings.Repeat("abcdefg ", 40)
	endless := strings.Repeat("ж", 300)
	for _, c := range []struct{ about, text, begins, ends string }{
		{"words around", words + "needle " + words, "abcdefg abcdefg", "abcdefg abcdefg"},
		{"a line before", words + "\n\n" + strings.Repeat("x", 78) + " needle.", "xxx", "needle."},
		{"all of a short text", "  a needle in hay  ", "a needle", "in hay"},
		{"no end of a word", endless + "needle" + endless, "…жж", "жж…"},
		{"the end of a long word", endless + " needle " + endless, "needle", "needle"},
		{"the edge between two words", strings.Repeat("y", 100) + " " + strings.Repeat("z", 79) + " needle", "zzz", "needle"},
	} {
		text, err := json.Marshal(c.text)
		require.NoError(t, err)
		sources := source(t, map[string]string{"events.jsonl": line(1, "user_prompt", `{"text":`+string(text)+`}`)}, 1)
		q, err := search.NewQuery("NEEDLE", 10, time.Minute)
		require.NoError(t, err)
		r, err := q.Run(context.Background(), sources, search.Place{})
		require.NoError(t, err)
		require.Len(t, r.Hits, 1, c.about)
		hit := r.Hits[0]
		require.True(t, strings.HasPrefix(hit.Snippet, c.begins), "%s: %q", c.about, hit.Snippet)
		require.True(t, strings.HasSuffix(hit.Snippet, c.ends), "%s: %q", c.about, hit.Snippet)
		units := utf16.Encode([]rune(hit.Snippet))
		require.Equal(t, "needle", string(utf16.Decode(units[hit.Ranges[0][0]:hit.Ranges[0][1]])), c.about)
	}
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

func BenchmarkSearchWithoutAHit(b *testing.B) {
	output := `"` + strings.Repeat(`\u001b[32mok\u001b[0m \"internal/store\" 0.41s\n`, 60) + `"`
	kinds := map[string]func(i int) (kind, data string){
		"chunks": func(i int) (string, string) {
			return "agent_message", fmt.Sprintf(`{"message_id":"m%d","text":"some words the agent streamed"}`, i/40)
		},
		"tools": func(i int) (string, string) {
			return "tool_call_update", fmt.Sprintf(`{"tool_call_id":"t%d","title":"Run the tests","status":"completed","content":[{"type":"content","content":{"type":"text","text":%s}}],"raw_output":%s}`, i, output, output)
		},
		"prompts": func(i int) (string, string) {
			return "user_prompt", fmt.Sprintf(`{"prompt_id":"p%d","text":%s}`, i, output)
		},
		"unsearched": func(i int) (string, string) {
			return "terminal_output", fmt.Sprintf(`{"terminal_id":"t%d","data":%s}`, i, output)
		},
	}
	for name, kind := range kinds {
		b.Run(name, func(b *testing.B) {
			var log strings.Builder
			dir := b.TempDir()
			log.WriteString(line(1, "session_start", fmt.Sprintf(`{"format":1,"session_id":%q,"epoch":"00000000000000aa"}`, filepath.Base(dir))))
			seq := 1
			for log.Len() < 32<<20 {
				seq++
				k, data := kind(seq)
				log.WriteString(line(seq, k, data))
			}
			require.NoError(b, os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(log.String()), 0o600))
			sources := sourceIn(dir, event.Seq(seq))
			b.SetBytes(int64(log.Len()))
			b.ReportAllocs()
			for b.Loop() {
				require.Empty(b, all(b, sources, "nowhere", 10))
			}
		})
	}
}

// long is a log of several windows without a hit.
func long(t testing.TB) []search.Source {
	var log strings.Builder
	seq := 0
	for log.Len() < 16<<20 {
		seq++
		log.WriteString(line(seq, "usage", `{"raw":"`+strings.Repeat("x", 2000)+`"}`))
	}
	return source(t, map[string]string{"events.jsonl": log.String()}, event.Seq(seq))
}

// canceled is a context that ends after a number of checks.
type canceled struct {
	context.Context
	asked, after int
}

func (c *canceled) Err() error {
	if c.asked++; c.asked > c.after {
		return context.Canceled
	}
	return nil
}

func TestASearchEndsInTheMiddleOfAWindowWhenItsCallerLeaves(t *testing.T) {
	sources := long(t)
	q, err := search.NewQuery("needle", 10, time.Minute)
	require.NoError(t, err)
	ctx := &canceled{Context: context.Background(), after: 5}
	r, err := q.Run(ctx, sources, search.Place{})
	require.ErrorIs(t, err, context.Canceled)
	require.LessOrEqual(t, r.Bytes, int64(5<<20), "not the rest of the files")
	require.Equal(t, 6, ctx.asked, "nor the rest of the window")
}

func TestACallEndsSoonAfterItsTimeAndTheNextGoesOn(t *testing.T) {
	sources := long(t)
	q, err := search.NewQuery("needle", 10, 0)
	require.NoError(t, err)
	var from search.Place
	calls, bytes := 0, int64(0)
	for {
		r, err := q.Run(context.Background(), sources, from)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Bytes, int64(5<<20), "one window, then the time is up")
		calls, bytes, from = calls+1, bytes+r.Bytes, r.Next
		if r.Done {
			break
		}
		require.Equal(t, sources[0].SessionID, from.SessionID)
	}
	require.Greater(t, calls, 3)
	parts, err := sources[0].Lines()
	require.NoError(t, err)
	file, err := parts[0].Open()
	require.NoError(t, err)
	require.GreaterOrEqual(t, bytes, file.Size(), "everything was read")
	require.NoError(t, file.Close())
}

func TestASearchHoldsNoMoreThanAFewWindowsInMemory(t *testing.T) {
	sources := long(t)
	q, err := search.NewQuery("needle", 10, time.Minute)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = q.Run(context.Background(), sources, search.Place{})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12<<20), "whatever the size of the log")
}

func TestPagesStayWholeWhileTheSessionGrows(t *testing.T) {
	var log strings.Builder
	const events = 300
	for i := 1; i <= events; i++ {
		log.WriteString(line(i, "user_prompt", `{"text":"needle"}`))
	}
	dir := t.TempDir()
	active := filepath.Join(dir, "events.jsonl")
	require.NoError(t, os.WriteFile(active, []byte(log.String()), 0o600))
	sources := sourceIn(dir, events)
	q, err := search.NewQuery("needle", 7, time.Minute)
	require.NoError(t, err)
	var from search.Place
	var seqs []event.Seq
	for n := events; ; {
		r, err := q.Run(context.Background(), sources, from)
		require.NoError(t, err)
		for _, h := range r.Hits {
			seqs = append(seqs, h.Seq)
		}
		if from = r.Next; r.Done {
			break
		}
		file, err := os.OpenFile(active, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		for range 20 {
			n++
			_, err = file.WriteString(line(n, "user_prompt", `{"text":"needle"}`))
			require.NoError(t, err)
		}
		require.NoError(t, file.Close())
		sources[0].MaxSeq = event.Seq(n)
		if n == events+100 { // the active file is complete by now
			require.NoError(t, os.Rename(active, filepath.Join(dir, fmt.Sprintf("events-%012d-%012d.jsonl", 1, n))))
			require.NoError(t, os.WriteFile(active, nil, 0o600))
		}
	}
	require.Len(t, seqs, events)
	for i, seq := range seqs {
		require.Equal(t, event.Seq(events-i), seq)
	}
}

func TestADamagedLineCostsOnlyItself(t *testing.T) {
	prompt := `{"text":"needle"}`
	damage := map[string]string{
		"garbage":           strings.Repeat("\x00", 5000) + "\n",
		"half a line":       line(2, "user_prompt", prompt)[:40] + "\n",
		"a number too high": strings.Replace(line(2, "user_prompt", prompt), `{"seq":2`, `{"seq":99`, 1),
		"a very long line":  line(2, "usage", `{"raw":"`+strings.Repeat("n", 5<<20)+`"}`),
		"no end of text":    strings.Replace(line(2, "user_prompt", prompt), `needle"}`, `needle}`, 1),
	}
	for name, bad := range damage {
		t.Run(name, func(t *testing.T) {
			log := line(1, "user_prompt", prompt) + bad + line(3, "user_prompt", prompt) + line(4, "agent_message", `{"message_id":"m","text":"need`)[:60]
			sources := source(t, map[string]string{"events.jsonl": log}, 4)
			require.Equal(t, []event.Seq{3, 1}, all(t, sources, "needle", 10))
		})
	}
}

func TestWordsAreFoundAsTheyAreRead(t *testing.T) {
	log := line(1, "agent_message", `{"message_id":"m","text":"I found it. `+"`keep`"+` drops **every** row"}`) +
		line(2, "agent_message", `{"message_id":"n","text":"Le cafe"}`) +
		line(3, "agent_message", `{"message_id":"n","text":"\u0301 is CLOSED"}`) +
		line(4, "user_prompt", `{"text":"The importer dropped rows"}`)
	sources := source(t, map[string]string{"events.jsonl": log}, 4)
	for query, want := range map[string][]event.Seq{
		"keep drops every row": {1}, `"keep drops every row"`: {1}, "row keep": {1}, `"row keep"`: nil,
		"dropped importer": {4}, `"dropped importer"`: nil, `importer "dropped rows"`: {4},
		"café closed": {3}, "cafe\u0301": {2}, `"café is"`: {2}, "keep importer": nil, `"`: nil,
	} {
		require.Equal(t, want, all(t, sources, query, 10), query)
	}
	q, err := search.NewQuery("row keep", 10, time.Minute)
	require.NoError(t, err)
	r, err := q.Run(context.Background(), sources, search.Place{})
	require.NoError(t, err)
	var marked []string
	for _, at := range r.Hits[0].Ranges {
		marked = append(marked, string(utf16.Decode(utf16.Encode([]rune(r.Hits[0].Snippet))[at[0]:at[1]])))
	}
	require.Equal(t, []string{"keep", "row"}, marked)
	_, err = search.NewQuery("**", 10, time.Minute)
	require.ErrorContains(t, err, "add a word")
}

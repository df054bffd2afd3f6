package acp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
)

const (
	strangeLines = "testdata/bytes/strange.txt"
	goldenEvents = "testdata/bytes/strange.golden"
	goldenSums   = "testdata/bytes/traces.golden"
)

// TestTheBytesOfEachEventAreThoseOfTheGoldenFiles compares checksums of the event
// bytes of each trace: stored events can never be changed.
func TestTheBytesOfEachEventAreThoseOfTheGoldenFiles(t *testing.T) {
	data, err := os.ReadFile(strangeLines)
	require.NoError(t, err)
	var events strings.Builder
	c := acp.NewConversation("", true)
	for line := range bytes.Lines(data) {
		for _, e := range c.Said(bytes.TrimSuffix(line, []byte("\n"))) {
			events.WriteString(e + "\n")
		}
		events.WriteString("\n")
	}
	matchGolden(t, goldenEvents, events.String())
}

func TestTheBytesOfEachTraceAreThoseOfItsGoldenSum(t *testing.T) {
	golden, err := os.ReadFile(goldenSums)
	if !*update {
		require.NoError(t, err)
	}
	sums := map[string]string{}
	if err == nil {
		require.NoError(t, json.Unmarshal(golden, &sums))
	}
	for _, file := range traces(t) {
		got := bytesOf(t, file)
		if *update {
			sums[traceName(file)] = got
			continue
		}
		require.Equal(t, sums[traceName(file)], got, "%s", file)
	}
	if *update {
		data, err := json.MarshalIndent(sums, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(goldenSums, append(data, '\n'), 0o644))
	}
}

// bytesOf returns the number of events of a trace and the checksum of their bytes.
func bytesOf(t *testing.T, file string) string {
	t.Helper()
	steps, err := readTrace(file)
	require.NoError(t, err)
	resume := ""
	for _, s := range steps {
		if m := s.message(); m.Method == "session/load" {
			var p struct{ SessionID string }
			require.NoError(t, json.Unmarshal(m.Params, &p))
			resume = p.SessionID
		}
	}
	c := acp.NewConversation(resume, false)
	sum, n := sha256.New(), 0
	for _, s := range steps {
		if s.Dir == "c>a" {
			c.Sent(s.Msg)
			continue
		}
		for _, e := range c.Said(s.Msg) {
			fmt.Fprintln(sum, e)
			n++
		}
	}
	return fmt.Sprintf("%d events, sha256 %x", n, sum.Sum(nil))
}

// FuzzLine feeds arbitrary lines to the tap. Each line must become valid events,
// unless it is neither a notification nor a request.
func FuzzLine(f *testing.F) {
	data, err := os.ReadFile(strangeLines)
	require.NoError(f, err)
	for line := range bytes.Lines(data) {
		f.Add(bytes.TrimSuffix(line, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") {
			return
		}
		for _, e := range acp.NewConversation("", true).Said(line) {
			_, data, ok := strings.Cut(e, " ")
			require.True(t, ok && utf8.ValidString(data) && json.Valid([]byte(data)) && data[0] == '{', "%q", e)
		}
	})
}

// FuzzObjects compares the members found in a line, read after another line, with
// those that encoding/json finds.
func FuzzObjects(f *testing.F) {
	data, err := os.ReadFile(strangeLines)
	require.NoError(f, err)
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		f.Add(line, line)
	}
	chunk := func(words string) []byte {
		return []byte(`{"method":"session/update","params":{"update":{"content":{"type":"text","text":"` + words + `"},"x":{"text":1}}},"id":null}`)
	}
	for _, words := range []string{
		``, `more words than before`, `a\"b\\`, `\u00e9\ud83d\ude00`, `\ud83d`, `\u00g0`, `\u12`, `\`, `\x`, "tab\there", `é😀`, `"`, `","text":"twice`, `a"},"b":{"c":"d`,
	} {
		f.Add(chunk("one word"), chunk(words))
		f.Add(chunk(words), chunk("one word"))
	}
	for _, text := range []string{
		`{"a":1,"b":[{"c":"}"},"]"],"a":{"d":null}}`, ` { "params" : { "update" : { "content" : [ ] , "_meta" : { } } } , "id" : 1.5e3 } `,
		`{"a\\":"\\\"","\u0061":"\\\\","":"","x":tru}`, `{"a":1}{"b":2}`, `{"a":1,}`, `{"params":{"params":{"a":1},"params":2}}`, `{`, `{"a":"\`,
	} {
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, before, text []byte) {
		if !utf8.Valid(before) || !utf8.Valid(text) {
			return // callers pass valid UTF-8 only
		}
		var want map[string]json.RawMessage
		found, err := acp.Members(before, text)
		if json.Unmarshal(text, &want) != nil || want == nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, found)
		var compare func(within map[string]json.RawMessage, names ...string)
		compare = func(within map[string]json.RawMessage, names ...string) {
			for name, value := range within {
				if value[0] != '{' || len(names) == 4 {
					continue
				}
				path := append(slices.Clone(names), name)
				var inner map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(value, &inner))
				found, err := acp.Members(before, text, path...)
				require.NoError(t, err)
				require.Equal(t, inner, found)
				compare(inner, path...)
			}
		}
		compare(want)
	})
}

// FuzzText compares the decoding of a string with that of encoding/json.
func FuzzText(f *testing.F) {
	for _, text := range []string{`""`, `"a"`, `"\n"`, `"a\"b\\c\/\b\f\r\t"`, `"\\"`, `"\u00e9x\n"`, `"\ud800"`, `"é\né"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		var want string
		if !utf8.Valid(quoted) || len(quoted) == 0 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' || json.Unmarshal(quoted, &want) != nil {
			return
		}
		got, exact := acp.TextOf(quoted)
		require.Equal(t, want, got)
		if !bytes.Contains(quoted, []byte(`\u`)) {
			require.True(t, exact)
		}
	})
}

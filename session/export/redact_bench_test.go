package export_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
)

// hostileTexts are pieces of text that, repeated, would make a search read the same text
// again and again.
func hostileTexts() map[string]string {
	return map[string]string{
		"names": "password=", "names apart": "password= ", "lists": "password: [", "objects": "token: {", "quotes": `password="`, "escaped": `token=\"`, "escapes": `\\\\\"`,
		"cookies": "cookie: a=b; ", "headers": "Authorization: Digest a, ", "keys": "-----BEGIN PRIVATE KEY", "ends": "-----BEGIN PRIVATE KEY----- ", "web tokens": "eyJaaaaaaaaaaaaa-", "dotted": "eyJaaaaaaaaaaa.",
		"services": "ghp_abc", "addresses": "a://b:", "signs": "a://b:c@", "tables": "|password|\n|---|\n", "wide": "|password", "blocks": "password: |\n ", "lines": "password:\n",
		"elements": "<password>", "keyed": `<key name="password">`, "programs": "mysql -p", "users": "curl -u a:", "percent": "%70%61%73%73=", "deep": "%2525252525", "JSON": `{"a":`, "arrays": "[", "unseen": "\u200bpass",
		"base64": "YWFhYWFhYWFhYWFhYWFh/", "paths": "/a/b", "path signs": "/a,b:", "long names": "password_", "spaces": "password                              ", "is": "password is ",
		"for": "password for ", "pairs": `"password","`, "calls": "password(", "wide signs": "ｐ＝", "fallbacks": "token || ", "tags": "token: !a ", "phrases": `a password",`,
		"words": "correct horse battery staple ", "colours": "\x1b[1;", "drives": `C:\a `, "shares": `\\a`, "tildes": "~a/", "files": "file://", "amounts": "&#x41;&",
	}
}

func redacted(tb testing.TB, text string) time.Duration {
	tb.Helper()
	t := &testing.T{}
	known := "zq7Rk2Vn94Xw"
	s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text("password=" + known + " secret=" + strings.Repeat("a", 40) + "1b")}, event.AgentMessage{MessageID: "m", Text: event.Text(text)})
	begun := time.Now()
	require.NoError(tb, prepared(tb, s, export.Redaction{Secrets: true, Paths: true}).Write(tb.Context(), io.Discard, export.JSONL))
	return time.Since(begun)
}

// BenchmarkHostileText prints how long a redaction of 1 MiB of hostile text takes, in that
// of plain text.
func BenchmarkHostileText(b *testing.B) {
	const size = 1 << 20
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	plain := fill("The quick brown fox jumps over the lazy dog, and the log says so in line 12.\n")
	for name, piece := range hostileTexts() {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			var hostile, usual time.Duration
			for b.Loop() {
				hostile += redacted(b, fill(piece))
				usual += redacted(b, plain)
			}
			b.ReportMetric(float64(hostile)/float64(usual), "times-plain")
			b.ReportMetric(usual.Seconds()*1000/float64(b.N), "ms-plain")
		})
	}
}

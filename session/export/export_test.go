package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
)

// log is a session's events in memory.
type log []event.Event

func (l log) Changed() <-chan struct{} { return nil }

func (l log) ReadAfter(_ context.Context, after event.Seq, _ int) (event.Batch, error) {
	if int(after) >= len(l) {
		return event.Batch{}, nil
	}
	data, err := json.Marshal(l[after : after+1])
	return event.Batch{First: after + 1, Last: after + 1, Count: 1, JSON: data[1 : len(data)-1]}, err
}

func sessionOf(t *testing.T, payloads ...event.Payload) export.Session {
	t.Helper()
	var l log
	for i, p := range payloads {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		l = append(l, event.Event{Seq: event.Seq(i + 1), Time: time.Unix(int64(i), 0).UTC(), Type: p.EventType(), Turn: 1, Data: data})
	}
	return export.Session{
		SessionID: "20260221-140307-9f3a11c0", Name: "fix </title><script>", Agent: "demo",
		Workspace: "/srv/secret-project", Log: l, First: 1, Last: event.Seq(len(l)),
		Files: []export.File{{Name: "metadata.json", Data: []byte(`{"workspace":"/srv/secret-project"}`)}},
	}
}

func write(t *testing.T, s export.Session, format export.Format, redact ...string) string {
	t.Helper()
	r, err := export.ParseRedaction(redact)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, prepared(t, s, r).Write(t.Context(), &out, format))
	return out.String()
}

func prepared(tb testing.TB, s export.Session, redact export.Redaction) export.Prepared {
	tb.Helper()
	p, err := export.Prepare(tb.Context(), s, redact)
	require.NoError(tb, err)
	return p
}

// bytesOf returns the searchable bytes of an export: for a zip, its unpacked files.
func bytesOf(t *testing.T, format export.Format, file string) string {
	t.Helper()
	if format != export.Zip {
		return file
	}
	archive, err := zip.NewReader(strings.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var all strings.Builder
	for _, f := range archive.File {
		part, err := f.Open()
		require.NoError(t, err)
		_, err = io.Copy(&all, part)
		require.NoError(t, err)
		all.WriteString("\n" + f.Name + "\n")
	}
	require.Contains(t, all.String(), "events.jsonl")
	return all.String()
}

// seeds are assembled at run time, so that no secret scanner reports this file.
func seeds() map[string]string {
	letters := strings.Repeat("aB3dE6gH", 8)
	return map[string]string{
		"AWS":      "AKIA" + strings.ToUpper(letters[:16]),
		"GitHub":   "ghp_" + letters[:36],
		"GitLab":   "glpat-" + letters[:20],
		"Slack":    "xoxb-" + "123456789012-" + letters[:12],
		"OpenAI":   "sk-proj-" + letters[:40],
		"Google":   "AIza" + letters[:35],
		"npm":      "npm_" + letters[:36],
		"abide":    "abide_" + letters[:43],
		"JWT":      "eyJ" + letters[:12] + ".eyJ" + letters[:12] + "." + letters[:12],
		"address":  "hunter2hunter2",
		"password": "correcthorsebattery",
	}
}

// Proof 5: the exported bytes contain none of the planted secrets, in any field.
func TestNothingThatIsRedactedIsInTheBytes(t *testing.T) {
	picture := strings.Repeat("iVBORw0KGgo", 20)
	var said strings.Builder
	for name, secret := range seeds() {
		switch name {
		case "address":
			secret = "https://ann:" + secret + "@example.com"
		case "password":
			secret = "DB_PASSWORD=" + secret
		}
		said.WriteString(secret + "\n")
	}
	text := said.String() + "/srv/secret-project/a.go and /home/annabel/notes data:image/png;base64," + picture + "\n"
	block := json.RawMessage(`{"type":"image","mimeType":"image/png","data":"` + picture + `"}`)
	raw, err := json.Marshal(map[string]string{"said": text, "/home/annabel/key": "x"})
	require.NoError(t, err)
	list := []event.Payload{event.UserPrompt{PromptID: "p", Text: event.Text(text)}}
	for _, piece := range strings.SplitAfter(text, "e") { // split, as an agent streams it
		list = append(list, event.AgentMessage{MessageID: "m", Text: event.Text(piece)})
	}
	list = append(list,
		event.AgentMessage{MessageID: "m", Content: block, Raw: raw},
		event.AgentThought{MessageID: "t", Text: "a private thought"},
		event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: text, RawInput: raw, RawOutput: raw,
			Content: json.RawMessage(`[{"type":"content","content":{"type":"text","text":"what the tool printed"}}]`)}},
		event.TerminalOutput{TerminalID: "t", Data: "what the terminal printed"},
		event.PermissionRequest{PermissionID: "q", Title: text, Options: []event.PermissionOption{}, ToolCall: raw, Form: raw},
		event.Note{Method: "x", Text: event.Text(text), Raw: raw},
	)
	s := sessionOf(t, list...)
	forbidden := []string{"secret-project", "annabel", picture[:20], "a private thought", "the tool printed", "the terminal printed"}
	for _, secret := range seeds() {
		forbidden = append(forbidden, secret)
	}
	for _, format := range export.Formats() {
		plain := bytesOf(t, format, write(t, s, format))
		require.Contains(t, plain, "annabel", format)
		out := bytesOf(t, format, write(t, s, format, "secrets", "paths", "images", "thoughts", "outputs"))
		for _, bad := range forbidden {
			require.NotContains(t, out, bad, format)
		}
	}
	// A reader who joins the pieces does not find it either.
	var joined strings.Builder
	for line := range strings.Lines(write(t, s, export.JSONL, "secrets", "paths", "images")) {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if p, err := e.Payload(); err == nil {
			if m, ok := p.(event.AgentMessage); ok {
				joined.WriteString(string(m.Text))
			}
		}
	}
	for _, secret := range seeds() {
		require.NotContains(t, joined.String(), secret)
	}
	found, err := prepared(t, s, export.Redaction{Secrets: true, Paths: true, Images: true, Thoughts: true, Outputs: true}).Preview(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(list), found.Events)
	require.Positive(t, found.Secrets)
	require.Positive(t, found.Paths)
	require.Positive(t, found.Images)
	require.Equal(t, []int{1, 2}, []int{found.Thoughts, found.Outputs})
	require.NotContains(t, fmt.Sprint(found), "annabel")
}

func TestARedactionKeepsTheNumberOfEveryEvent(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: "go"},
		event.AgentMessage{MessageID: "m", Text: event.Text("it is " + token[:9])}, event.AgentMessage{MessageID: "m", Text: event.Text(token[9:] + " there")},
		event.TurnEnd{PromptID: "p", StopReason: event.StopEndTurn})
	lines := strings.Split(strings.TrimSpace(write(t, s, export.JSONL, "secrets")), "\n")
	require.Len(t, lines, 4)
	require.Contains(t, lines[1], `"text":"it is [redacted] there"`)
	require.Contains(t, lines[2], `"text":""`)
}

func TestAPageHoldsTheSessionAsInertText(t *testing.T) {
	hostile := `</script><script>document.title="owned"</script><img src=x onerror=alert(1)>`
	out := write(t, sessionOf(t, event.UserPrompt{PromptID: hostile, Text: event.Text(hostile)}, event.AgentMessage{MessageID: hostile, Text: event.Text(hostile)}), export.HTML)
	require.Equal(t, 2, strings.Count(out, "<script"), "the data and the one script of the page")
	player, err := os.ReadFile("player.js") // the app's own renderer names elements
	require.NoError(t, err)
	require.Contains(t, out, string(player))
	out = strings.Replace(out, string(player), "", 1)
	require.NotContains(t, out, "<img")
	require.NotContains(t, out, `document.title="owned"`)
	require.Contains(t, out, "default-src &#39;none&#39;")
	require.NotContains(t, out, "unsafe-")
	require.NotRegexp(t, `<[a-z]+[^>]*\s(src|href)=`, out)
}

func TestAFileIsNamedAfterItsSession(t *testing.T) {
	for name, want := range map[string]string{
		"Ledger: import fix": "ledger-import-fix.html", "": "20260221-140307-9f3a11c0.html", "../../etc/passwd": "etc-passwd.html",
		"Überweisung №1": "überweisung-1.html", "a\"b\r\nc": "a-b-c.html", strings.Repeat("ab ", 40): strings.Repeat("ab-", 19) + "ab.html",
	} {
		require.Equal(t, want, prepared(t, export.Session{SessionID: "20260221-140307-9f3a11c0", Name: name}, export.Redaction{}).FileName(export.HTML))
	}
	secret := sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text("password: " + hidden(1))})
	for _, secret.Name = range []string{"use AKIA" + strings.Repeat("Z", 16), "use " + hidden(1)} {
		require.Equal(t, "use-redacted.md", prepared(t, secret, export.Redaction{Secrets: true}).FileName(export.Markdown))
	}
}

func TestAPageIsHardlyLargerThanItsLog(t *testing.T) {
	var list []event.Payload
	for i := range 4000 {
		list = append(list, event.AgentMessage{MessageID: fmt.Sprint(i), Text: `if a < b && c > d { return "<b>…</b>" }` + event.Text(strings.Repeat(" and so on", 8))})
	}
	s := sessionOf(t, list...)
	lines, page := write(t, s, export.JSONL), write(t, s, export.HTML)
	require.Less(t, float64(len(page)), 1.5*float64(len(lines)))
}

func TestMarkdownSaysHowATurnEnded(t *testing.T) {
	prompt := event.UserPrompt{PromptID: "p", Text: "go"}
	ended := func(reason event.StopReason) event.TurnEnd { return event.TurnEnd{PromptID: "p", StopReason: reason} }
	const silent = "> The agent ended its turn without a word.\n"
	require.Contains(t, write(t, sessionOf(t, prompt, ended(event.StopEndTurn)), export.Markdown), silent)
	require.NotContains(t, write(t, sessionOf(t, prompt, event.AgentMessage{MessageID: "m", Text: "done"}, ended(event.StopEndTurn)), export.Markdown), silent)
	waits := write(t, sessionOf(t, prompt, event.TurnInterrupted{Reason: event.CutPaused}, ended(event.StopInterrupted)), export.Markdown)
	require.Contains(t, waits, "> Waiting for your choice: the turn has not begun.\n")
	require.NotContains(t, waits, "paused")
	require.NotContains(t, waits, "nterrupted")
	cut := write(t, sessionOf(t, prompt, event.TurnInterrupted{Reason: event.CutAgentExit},
		event.TurnEnd{PromptID: "p", StopReason: event.StopAgentExit, Error: &event.Failure{Message: "exit code 3"}}), export.Markdown)
	require.Contains(t, cut, "> Interrupted: the agent ended.\n")
	require.Contains(t, cut, "> **Failed:** exit code 3\n")
}

func TestMarkdownReadsAsATranscript(t *testing.T) {
	out := write(t, sessionOf(t,
		event.UserPrompt{PromptID: "p", Text: "fix\nit"},
		event.AgentMessage{MessageID: "m", Text: "On **"}, event.AgentMessage{MessageID: "m", Text: "it**."},
		event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "Edit a.go", Kind: "edit", Content: json.RawMessage(`[{"type":"diff","path":"a.go","oldText":"a\n","newText":"` + "```" + `\n"}]`)}},
		event.PermissionRequest{PermissionID: "q", Title: "Run it?", Options: []event.PermissionOption{{OptionID: "y", Name: "Allow"}}},
		event.PermissionOutcome{PermissionID: "q", Outcome: event.OutcomeSelected, OptionID: "y", By: "phone"},
		event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "o", Title: "Run", Content: json.RawMessage(`[{"type":"content","content":{"type":"text","text":"` + "```console\\nok\\n```" + `"}}]`)}},
		event.TurnEnd{PromptID: "p", StopReason: event.StopCancelled},
	), export.Markdown)
	require.NotContains(t, out, "console", "the agent's own fence")
	short := write(t, sessionOf(t, event.UserPrompt{PromptID: "p", Text: "say hello\n"}), export.Markdown)
	require.Contains(t, short, "## 1. say hello\n")
	require.Equal(t, 1, strings.Count(short, "say hello"))
	for _, want := range []string{"## Turn 1\n", "```\nok\n```", "> fix\n> it\n", "On **it**.\n", "**edit** `Edit a.go`", "````diff\n-a\n+```\n````", "> **Asked:** Run it? — Allow, by phone", "> **Ended:** cancelled"} {
		require.Contains(t, out, want)
	}
}

package export_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
)

// hidden is a value that has no form of its own.
const hidden = "zq7Rk2Vn94Xw"

// textForms are texts with a secret in them, which has the place of %s.
func textForms() []string {
	return []string{
		"password=%s", "PASSWORD: %s", "passwd = %s", "DB_PASSWORD=%s", "DB_PASS=%s", "MYSQL_PWD=%s", "passphrase: %s", "ssh_passphrase=%s",
		"secret=%s", "CLIENT_SECRET=%s", "token: %s", "GITHUB_TOKEN=%s", "access_token=%s", "api_key=%s", "api-key: %s", "APIKEY=%s",
		"private_key=%s", "access-key=%s", "SIGNING_KEY=%s", "AccountKey=%s;EndpointSuffix=core", "Authorization: %s", "Authorization: token %s",
		"Authorization: Bearer %s", "Proxy-Authorization: Basic %s", "Cookie: %s", "Set-Cookie: %s", "Cookie: a=1; sid=%s",
		"https://user:%s@host/x", "postgres://app:%s@db:5432/x", "https://host/x?token=%s", "https://host/x?a=1&access_token=%s&b=2",
		"https://host/x?api_key=%s", "mysql --password=%s", "mysql --password %s", "deploy --api-key %s now", "x --token=%s", `"password": "%s"`,
		`{'secret': '%s'}`, "export TOKEN='%s'", `set SECRET="%s"`, "the password is %s",
	}
}

// valueForms are values of a tool's input with a secret in them.
func valueForms() map[string]any {
	object := func(name string) any { return map[string]any{name: hidden} }
	inner, _ := json.Marshal(map[string]any{"deep": object("api_key")})
	return map[string]any{
		"password": object("password"), "pass": object("pass"), "pwd": object("pwd"), "db_pass": object("db_pass"), "token": object("token"),
		"authToken": object("auth_token"), "Authorization": object("Authorization"), "Cookie": object("Cookie"), "signing_key": object("signing_key"),
		"deep":       map[string]any{"a": []any{map[string]any{"b": object("client_secret")}}},
		"pair":       []any{map[string]any{"name": "DB_PASS", "value": hidden}},
		"key pair":   map[string]any{"key": "api_key", "value": hidden},
		"flag":       []any{"mysql", "--password", hidden, "-v"},
		"short flag": []any{"tool", "--api-key", hidden},
		"JSON text":  string(inner),
		"list text":  `["--token","` + hidden + `"]`,
		"argument":   "--password=" + hidden,
		"header":     []any{"Authorization: token " + hidden},
		"environment": map[string]any{"env": []any{
			"SIGNING_KEY=" + hidden,
		}},
	}
}

func TestSixtyFormsOfASecretAreRemovedInEveryFormat(t *testing.T) {
	require.GreaterOrEqual(t, len(textForms())+len(valueForms()), 60)
	gone := func(name string, s export.Session) {
		t.Helper()
		for _, format := range export.Formats() {
			file := bytesOf(t, format, write(t, s, format, "secrets"))
			for _, part := range []string{hidden, hidden[:7], hidden[5:], strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(hidden)), "=")} {
				require.NotContains(t, file, part, "%s as %s", name, format)
			}
		}
	}
	prompt := event.UserPrompt{PromptID: "p", Text: "go"}
	tool := event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "run"}}
	say := func(text string) event.Payload { return event.AgentMessage{MessageID: "m", Text: event.Text(text)} }
	for _, form := range textForms() {
		text := "Use " + fmt.Sprintf(form, hidden) + " here."
		cut := strings.Index(text, hidden) + 6
		gone(form, sessionOf(t, prompt, say(text)))
		gone(form+", by chunk", sessionOf(t, prompt, say(text[:cut]), say(text[cut:])))
		gone(form+", by another event", sessionOf(t, prompt, say(text[:cut]), tool, say(text[cut:])))
	}
	for _, form := range textForms() {
		text := "Use " + fmt.Sprintf(form, hidden) + " here."
		cut := strings.Index(text, hidden) + 6
		begun := tool
		begun.Content, _ = json.Marshal([]any{map[string]any{"type": "content", "content": map[string]string{"type": "text", "text": text[:cut]}}})
		added := func(text string) event.Payload {
			return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "c", ContentAdded: event.Text(text)}}
		}
		gone(form+", in an output that grows", sessionOf(t, prompt, begun, added(text[cut:cut+2]), say("so"), added(text[cut+2:])))
	}
	for name, value := range valueForms() {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		call := event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "run", RawInput: raw}}
		encoded := base64.StdEncoding.EncodeToString([]byte(hidden))
		gone(name, sessionOf(t, prompt, say("it was "+hidden+" or "+encoded), call, say(" then "+hidden)))
		gone(name+", elsewhere by another event", sessionOf(t, prompt, say("it was "+hidden[:6]), call, say(hidden[6:])))
	}
}

func TestTextThatIsNotASecretStays(t *testing.T) {
	for _, text := range []string{"the token count is 12", "by_id 9f3a11c07b2d4e55", "a password manager", "key = value", "tokens: 1200", "https://host:8080/x@y"} {
		out := write(t, sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text), Actor: "ann", ByID: "9f3a11c07b2d4e55"}), export.JSONL, "secrets")
		require.NotContains(t, out, "[redacted]", text)
	}
}

func TestPathsOutsideOfWorkspaceAndHomeAreRemovedInEveryFormat(t *testing.T) {
	texts := []string{
		"see /data/hushhush/notes.txt", "cd /data/hushhush && ls", "PATH=/data/hushhush/bin:/opt/hushhush/bin", `open("/var/hushhush/x")`,
		"file:///data/hushhush/x", "(/mnt/hushhush/a b)", "/etc/hushhush/conf", "`/tmp/hushhush/x`", `C:\hushhush\notes.txt`, `\\server\hushhush\x`,
		"--config=/srv/hushhush/c.yaml", "[x](/data/hushhush/y)", "/data/hushhush", "a:/data/hushhush/b",
	}
	for _, text := range texts {
		raw, err := json.Marshal(map[string]any{"command": text, "list": []string{text}})
		require.NoError(t, err)
		named, err := json.Marshal(map[string]any{"file_path": "/data/my hushhush", "cwd": "/my data/hushhush"})
		require.NoError(t, err)
		s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text)}, event.AgentMessage{MessageID: "m", Text: event.Text(text)},
			event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: text, RawInput: raw}},
			event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "d", Title: "read", RawInput: named}},
			event.FileRead{Path: "/data/hushhush/my file", Bytes: 1}, event.TerminalOutput{TerminalID: "t", Data: event.Text(text)})
		for _, format := range export.Formats() {
			out := bytesOf(t, format, write(t, s, format, "paths"))
			require.NotContains(t, out, "hushhush", "%s as %s", text, format)
		}
	}
}

func TestTextThatIsNotAPathStays(t *testing.T) {
	for _, text := range []string{
		"https://example.org/a/b?c=/d", "and/or", "1/2/3", "/help me", "/usr/bin/env python", "2>/dev/null", "</div>", "src/a/b.go", "./a/b", "~/notes/x", "a // b",
	} {
		out := write(t, sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text)}), export.JSONL, "paths")
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.Contains(t, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(out), strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(encoded)))
	}
}

func TestTheIDOfACredentialIsNoSecret(t *testing.T) {
	const id = "9f3a11c07b2d4e55"
	texts := []string{"From now on abide answers for token:" + id + ": allow", "token_id=" + id, `access_key_id: "` + id + `"`, "tokenId: " + id}
	for _, text := range texts {
		s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text), Actor: "token:" + id, ByID: id},
			event.PermissionOutcome{PermissionID: "q", Outcome: event.OutcomeSelected, OptionID: "yes", By: "token:" + id, ByID: id})
		for _, format := range export.Formats() {
			require.NotContains(t, bytesOf(t, format, write(t, s, format, "secrets")), "[redacted]", "%s as %s", text, format)
		}
	}
	out := write(t, sessionOf(t, event.UserPrompt{PromptID: "p", Text: "token: " + id}), export.JSONL, "secrets")
	require.NotContains(t, out, id, "a value given to the name token is a secret")
}

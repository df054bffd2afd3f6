package export_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

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
		// A list, an array, a pair.
		`["Authorization","%s"]`, `["Authorization", "Bearer %s"]`, `headers.set("Authorization", "Bearer %s")`, `os.Setenv("DB_PASS", "%s")`,
		`passwords: ["%s"]`, `{"passwords":["a","%s"]}`, `{"credentials":{"data":"%s"}}`, `credentials: {data: %s}`, `credentials: {"data": "%s"}`,
		`{"key":"DB_PASS","val":"%s"}`, `[{"name": "DB_PASS", "value": "%s"}]`, "- name: DB_PASS\n  value: %s", "- name: DB_PASS\n  value: \"%s\"",
		`tool "--token" "%s"`, `["--token","%s"]`,
		// Programs.
		"curl -u ann:%s https://host/", "curl -s -u 'ann:%s' https://host/", "wget --user ann --password %s x", "mysql -uroot -p%s db", "mysqldump -p'%s' db",
		"sshpass -p %s ssh host", "docker login -u ann -p %s host", "redis-cli -a %s ping", "unzip -P %s a.zip", "7z x -p%s a.7z", "tool -u ann:%s",
		"curl \\\n  -u ann:%s", "net use /password:%s", "psql 'host=db password=%s'", "machine host login ann password %s",
		"machine host\n  login ann\n  password %s", "requirepass %s", "CREATE USER ann WITH PASSWORD '%s'", "login -Password %s",
		// Addresses.
		"redis://:%s@host:6379/0", "amqp://ann:%s@host", "https://%s@host/x", "mysql://ann:%s/x@host/db", "ann:%s@tcp(127.0.0.1:3306)/db", "https://host/blob?sv=1&sig=%s&se=2",
		"https://host/x#access_token=%s", "https://host/x?X-Amz-Signature=%s", "https://host/?password%%3D%s", "q=%%22password%%22%%3A%%22%s%%22",
		// Escapes.
		`{\"password\":\"%s\"}`, `{\\\"password\\\": \\\"%s\\\"}`, `"{\"a\":{\"token\":\"%s\"}}"`, "&quot;password&quot;:&quot;%s&quot;", `{"\u0070assword":"%s"}`,
		// Markdown.
		"**Password:** `%s`", "**Password**: %s", "Password: `%s`", "- Token: **%s**", "| password | %s |", "| user | password |\n|---|---|\n| ann | %s |",
		" user | password\n------+----------\n ann  | %s", "__API key__: %s", "Secret access key: %s", "Password:\n```\n%s\n```",
		// XML and programs' text.
		"<password>%s</password>", `<password type="text">%s</password>`, `<ns:password>%s</ns:password>`, `<db password="%s"/>`, `<add key="password" value="%s"/>`,
		`<key>password</key><string>%s</string>`, `<entry key="password">%s</entry>`, "<password><![CDATA[%s]]></password>", `<input name="password" value="%s">`,
		`"password" => "%s"`, `:password => '%s'`, `password := "%s"`, `password: str = "%s"`, `const apiKey: string = "%s";`, `config["password"] = "%s"`,
		`if password == "%s" {`, `os.getenv("DB_PASSWORD", "%s")`, `password = b"%s"`, `password="""%s"""`, "password -> %s",
		// YAML.
		"password: |\n  %s\n", "password: >-\n  %s\nuser: ann", "password:\n  %s", "db:\n  password: |-\n    %s\n  user: ann", "passwords:\n  - ann\n  - %s",
		"credentials:\n  user: ann\n  data: %s", "password: # it\n  %s",
		// Characters that are not seen.
		"pass\u200bword: %s", "pa\u00adss\u2060word=%s", "\x1b[1mpassword\x1b[0m: \x1b[32m%s\x1b[0m", "api\u200b_key=%s", "+password: %s", "-  DB_PASS=%s",
	}
}

// valueForms are values of a tool's input with a secret in them.
func valueForms() map[string]any {
	object := func(name string) any { return map[string]any{name: hidden} }
	inner, _ := json.Marshal(map[string]any{"deep": object("api_key")})
	twice, _ := json.Marshal(string(inner))
	return map[string]any{
		"password": object("password"), "pass": object("pass"), "pwd": object("pwd"), "db_pass": object("db_pass"), "token": object("token"),
		"authToken": object("auth_token"), "Authorization": object("Authorization"), "Cookie": object("Cookie"), "signing_key": object("signing_key"),
		"dbPassword1": object("dbPassword1"), "PROD_TOKEN_V2": object("PROD_TOKEN_V2"), "unseen": object("pass\u200bword"),
		"deep":        map[string]any{"a": []any{map[string]any{"b": object("client_secret")}}},
		"pair":        []any{map[string]any{"name": "DB_PASS", "value": hidden}},
		"key pair":    map[string]any{"key": "api_key", "value": hidden},
		"val pair":    map[string]any{"key": "DB_PASS", "val": hidden},
		"Pair":        map[string]any{"Name": "DB_PASS", "Value": hidden},
		"string pair": map[string]any{"name": "password", "stringValue": hidden},
		"list pair":   map[string]any{"name": "Authorization", "values": []any{"Bearer " + hidden}},
		"array":       []any{"Authorization", hidden},
		"arrays":      []any{[]any{"Accept", "*/*"}, []any{"Authorization", "Bearer " + hidden}},
		"in turn":     []any{"Host", "example.org", "X-Api-Key", hidden},
		"header":      []any{"Authorization: token " + hidden},
		"Bearer":      map[string]any{"headers": map[string]any{"Authorization": "Bearer " + hidden}},
		"plural":      map[string]any{"passwords": []any{hidden}},
		"object":      map[string]any{"credentials": map[string]any{"data": hidden}},
		"objects":     map[string]any{"credentials": []any{map[string]any{"user": "ann", "is": []any{hidden}}}},
		"flag":        []any{"mysql", "--password", hidden, "-v"},
		"short flag":  []any{"tool", "--api-key", hidden},
		"user":        []any{"curl", "-u", "ann:" + hidden, "https://host"},
		"user alone":  []any{"-u", "ann:" + hidden},
		"joined":      []any{"/usr/bin/mysql", "-uroot", "-p" + hidden},
		"apart":       map[string]any{"command": "mysql", "args": []any{"-p" + hidden}},
		"curl apart":  map[string]any{"command": "curl", "args": []any{"-u", "ann:" + hidden}},
		"shell":       []any{"sh", "-c", "mysql -p" + hidden},
		"redis":       []any{"redis-cli", "-a", hidden},
		"JSON text":   string(inner),
		"twice":       string(twice),
		"list text":   `["--token","` + hidden + `"]`,
		"argument":    "--password=" + hidden,
		"basic":       map[string]any{"headers": []any{"Authorization: Basic " + encoded("ann:"+hidden)}},
		"encoded":     map[string]any{"password": encoded(hidden)},
		"environment": map[string]any{"env": []any{
			"SIGNING_KEY=" + hidden,
		}},
	}
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// traces are what must not be left of the hidden value.
func traces() []string {
	return []string{hidden, hidden[:7], hidden[5:], strings.TrimRight(encoded(hidden), "="), encoded("ann:" + hidden), encoded("a:" + hidden)[4:], encoded("bob:" + hidden)[8:]}
}

func TestEveryFormOfASecretIsRemovedInEveryFormat(t *testing.T) {
	require.GreaterOrEqual(t, len(textForms())+len(valueForms()), 170)
	removed := func(name string, s export.Session) {
		t.Helper()
		for _, format := range export.Formats() {
			file := bytesOf(t, format, write(t, s, format, "secrets"))
			for _, part := range traces() {
				if strings.Contains(file, part) {
					at := strings.Index(file, part)
					t.Errorf("%q as %s: %s", name, format, file[max(0, at-80):min(len(file), at+40)])
					return
				}
			}
		}
	}
	prompt := event.UserPrompt{PromptID: "p", Text: "go"}
	tool := event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "run"}}
	say := func(text string) event.Payload { return event.AgentMessage{MessageID: "m", Text: event.Text(text)} }
	for _, form := range textForms() {
		text := "Use it:\n" + fmt.Sprintf(form, hidden) + " here."
		if strings.ContainsAny(form, "\n") {
			text = fmt.Sprintf(form, hidden) + "\n"
		}
		cut := strings.Index(text, hidden) + 6
		early := strings.Index(text, hidden) / 2
		for !utf8.RuneStart(text[early]) {
			early--
		}
		removed(form, sessionOf(t, prompt, say(text)))
		removed(form+", by chunk", sessionOf(t, prompt, say(text[:cut]), say(text[cut:])))
		removed(form+", by chunk in its name", sessionOf(t, prompt, say(text[:early]), say(text[early:])))
		removed(form+", by another event", sessionOf(t, prompt, say(text[:cut]), tool, say(text[cut:])))
		removed(form+", in a prompt, elsewhere and in base64", sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text)}, say("it "+hidden+" "+encoded("bob:"+hidden)+" x"+hidden+"y")))

		begun := tool
		begun.Content, _ = json.Marshal([]any{map[string]any{"type": "content", "content": map[string]string{"type": "text", "text": text[:cut]}}})
		added := func(text string) event.Payload {
			return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "c", ContentAdded: event.Text(text)}}
		}
		removed(form+", in an output that grows", sessionOf(t, prompt, begun, added(text[cut:cut+2]), say("so"), added(text[cut+2:])))
	}
	for name, value := range valueForms() {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		call := event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "run", RawInput: raw}}
		removed(name, sessionOf(t, prompt, say("it was "+hidden+" or "+encoded(hidden)+" or "+encoded("a:"+hidden)), call, say(" then "+hidden)))
		removed(name+", elsewhere by another event", sessionOf(t, prompt, say("it was "+hidden[:6]), call, say(hidden[6:])))
		removed(name+", as text", sessionOf(t, prompt, say("it said "+string(raw))))
		removed(name+", as text by another event", sessionOf(t, prompt, say("it said "+string(raw)[:len(raw)/2]), tool, say(string(raw)[len(raw)/2:])))
	}
}

// Each member of the files beside the events is judged as the events are.
func TestSecretsAreRemovedFromTheFilesOfAnArchive(t *testing.T) {
	name := "look at " + hidden
	s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: "password: " + hidden}, event.Title{Title: name},
		event.AgentMessage{MessageID: "m", Text: hidden})
	s.Name = name
	s.Files = []export.File{
		{Name: "metadata.json", Data: []byte(`{"name":"` + name + `","last_line":"` + hidden + `","mode":"token ` + hidden + `","x":{"y":["cut ` + hidden[:7] + `…"]}}`)},
		{Name: "queue.json", Data: []byte(`{"prompts":[{"text":"use -u ann:` + hidden + `"},{"text":"` + hidden + `"}]}`)},
		{Name: "comments.jsonl", Data: []byte(`{"body":"not ` + hidden + `"}` + "\n" + `{"code":"` + encoded("ann:"+hidden) + `"}` + "\n")},
	}
	for _, format := range export.Formats() {
		out := bytesOf(t, format, write(t, s, format, "secrets"))
		for _, part := range traces() {
			require.NotContains(t, out, part, format)
		}
	}
	s = sessionOf(t, event.UserPrompt{PromptID: "p", Text: "password: hunter22"}, event.AgentMessage{MessageID: "m", Text: "`hunter22`"})
	s.Files = []export.File{{Name: "metadata.json", Data: []byte(`{"last_line":"hunter22"}`)}}
	require.NotContains(t, bytesOf(t, export.Zip, write(t, s, export.Zip, "secrets")), "hunter22")
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

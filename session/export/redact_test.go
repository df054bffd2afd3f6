package export_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
)

// hidden is the value with a number, which has no form of its own.
func hidden(n int) string { return fmt.Sprintf("q%03dRk2Vn94w%03dX", n, n) }

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
		// Signs and words between them.
		"password：%s", "password＝%s", "ＰＡＳＳＷＯＲＤ=%s", "password (root): %s", "Password for root: %s", "the password for root is %s", "password is: %s", "password: <%s>", "password → %s",
		"password — %s", "Password\n%s", "* Password\n  %s", "user,password\nann,%s", "password: !!str %s", "curl --user ann:%s x", "curl -uann:%s x", "curl -b sid=%s x", "openssl enc -k %s",
		"ALTER USER ann IDENTIFIED BY '%s'", `login.setPassword("%s")`, `new Credentials("ann", "%s")`, `$password = '%s';`, "TOKEN ?= %s", `process.env.TOKEN || '%s'`, "gh auth login --with-token <<< %s",
		"recovery code: %s", "2FA backup codes: %s", "mot de passe : %s", "пароль: %s", "密码：%s", "sessionid=%s", "//registry/:_authToken=%s", "-Djavax.net.ssl.keyStorePassword=%s",
		// Characters that are not seen.
		"pass\u200bword: %s", "pa\u00adss\u2060word=%s", "\x1b[1mpassword\x1b[0m: \x1b[32m%s\x1b[0m", "api\u200b_key=%s", "+password: %s", "-  DB_PASS=%s",
	}
}

// valueForms are values of a tool's input with a secret in them.
func valueForms(hidden string) map[string]any {
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
		"answer":      map[string]any{"question": "What is the password?", "answer": hidden},
		"title":       map[string]any{"title": "API key", "value": hidden},
		"pass_word":   object("pass_word"), "wide": object("ｐａｓｓｗｏｒｄ"),
		"by name":    map[string]any{"passwords": map[string]any{"ann": hidden}},
		"default":    map[string]any{"password": map[string]any{"type": "string", "default": hidden}},
		"form":       map[string]any{"user[password]": hidden},
		"table":      map[string]any{"columns": []any{"user", "password"}, "rows": []any{[]any{"ann", hidden}}},
		"list pair":  map[string]any{"name": "Authorization", "values": []any{"Bearer " + hidden}},
		"array":      []any{"Authorization", hidden},
		"arrays":     []any{[]any{"Accept", "*/*"}, []any{"Authorization", "Bearer " + hidden}},
		"in turn":    []any{"Host", "example.org", "X-Api-Key", hidden},
		"header":     []any{"Authorization: token " + hidden},
		"Bearer":     map[string]any{"headers": map[string]any{"Authorization": "Bearer " + hidden}},
		"plural":     map[string]any{"passwords": []any{hidden}},
		"object":     map[string]any{"credentials": map[string]any{"data": hidden}},
		"objects":    map[string]any{"credentials": []any{map[string]any{"user": "ann", "is": []any{hidden}}}},
		"flag":       []any{"mysql", "--password", hidden, "-v"},
		"short flag": []any{"tool", "--api-key", hidden},
		"user":       []any{"curl", "-u", "ann:" + hidden, "https://host"},
		"user alone": []any{"-u", "ann:" + hidden},
		"joined":     []any{"/usr/bin/mysql", "-uroot", "-p" + hidden},
		"apart":      map[string]any{"command": "mysql", "args": []any{"-p" + hidden}},
		"curl apart": map[string]any{"command": "curl", "args": []any{"-u", "ann:" + hidden}},
		"shell":      []any{"sh", "-c", "mysql -p" + hidden},
		"redis":      []any{"redis-cli", "-a", hidden},
		"JSON text":  string(inner),
		"twice":      string(twice),
		"list text":  `["--token","` + hidden + `"]`,
		"argument":   "--password=" + hidden,
		"basic":      map[string]any{"headers": []any{"Authorization: Basic " + encoded("ann:"+hidden)}},
		"encoded":    map[string]any{"password": encoded(hidden)},
		"environment": map[string]any{"env": []any{
			"SIGNING_KEY=" + hidden,
		}},
	}
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// traces are what must not be left of a hidden value.
func traces(hidden string) []string {
	return []string{hidden, hidden[:7], hidden[6:], strings.TrimRight(encoded(hidden), "="), encoded("ann:" + hidden), encoded("a:" + hidden)[4:], encoded("bob:" + hidden)[8:]}
}

// Each form has a value of its own: one that was found would be removed in the others, too.
func TestEveryFormOfASecretIsRemovedInEveryFormat(t *testing.T) {
	require.GreaterOrEqual(t, len(textForms())+len(valueForms("")), 200)
	prompt := event.UserPrompt{PromptID: "p", Text: "go"}
	type form struct {
		name, text, hidden string
		raw                json.RawMessage // of those in JSON
		id                 string
	}
	var forms []form
	for i, text := range textForms() {
		f := form{name: text, hidden: hidden(i), id: fmt.Sprint(i)}
		f.text = "Use it:\n" + fmt.Sprintf(text, f.hidden) + " here."
		if strings.Contains(text, "\n") {
			f.text = fmt.Sprintf(text, f.hidden) + "\n"
		}
		forms = append(forms, f)
	}
	for i, name := range slices.Sorted(maps.Keys(valueForms(""))) {
		f := form{name: name, hidden: hidden(500 + i), id: name}
		var err error
		f.raw, err = json.Marshal(valueForms(f.hidden)[name])
		require.NoError(t, err)
		f.text = "it said " + string(f.raw)
		forms = append(forms, f)
	}
	say := func(f form, text string) event.Payload {
		return event.AgentMessage{MessageID: f.id, Text: event.Text(text)}
	}
	call := func(f form) event.Payload {
		return event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: f.id, Title: "run", RawInput: f.raw}}
	}
	at := func(f form, place int) (string, string) {
		for !utf8.RuneStart(f.text[place]) {
			place--
		}
		return f.text[:place], f.text[place:]
	}
	inTwo := func(f form, place int, between ...event.Payload) []event.Payload {
		first, second := at(f, place)
		return slices.Concat([]event.Payload{say(f, first)}, between, []event.Payload{say(f, second)})
	}
	within := func(f form) int { return max(0, strings.Index(f.text, f.hidden)) + 6 }
	for name, events := range map[string]func(form) []event.Payload{
		"whole":                func(f form) []event.Payload { return []event.Payload{say(f, f.text)} },
		"by chunk":             func(f form) []event.Payload { return inTwo(f, within(f)) },
		"by chunk in its name": func(f form) []event.Payload { return inTwo(f, max(0, strings.Index(f.text, f.hidden))/2) },
		"by another event":     func(f form) []event.Payload { return inTwo(f, within(f), call(f)) },
		"in a terminal": func(f form) []event.Payload {
			first, second := at(f, within(f))
			return []event.Payload{event.TerminalOutput{TerminalID: f.id, Data: event.Text(first)}, call(f), event.TerminalOutput{TerminalID: f.id, Data: event.Text(second)}}
		},
		"in an output that grows": func(f form) []event.Payload {
			first, second := at(f, within(f))
			begun, _ := json.Marshal([]any{map[string]any{"type": "content", "content": map[string]string{"type": "text", "text": first}}})
			added := func(text string) event.Payload {
				return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: f.id, ContentAdded: event.Text(text)}}
			}
			return []event.Payload{event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: f.id, Title: "run", Content: begun}}, added(second[:2]), say(f, "so"), added(second[2:])}
		},
		"elsewhere and in base64": func(f form) []event.Payload {
			return []event.Payload{
				say(f, "it was "+f.hidden+" or "+encoded(f.hidden)+" or "+encoded("a:"+f.hidden)), event.UserPrompt{PromptID: f.id, Text: event.Text(f.text)}, call(f),
				say(f, " then x"+f.hidden+"y "+encoded("bob:"+f.hidden)),
			}
		},
		"in JSON": func(f form) []event.Payload {
			return []event.Payload{call(f), say(f, "it was "+f.hidden[:6]), call(f), say(f, f.hidden[6:])}
		},
	} {
		list := []event.Payload{prompt}
		var told []form
		for _, f := range forms {
			if name != "in JSON" || f.raw != nil {
				list = append(list, events(f)...)
				told = append(told, f)
			}
		}
		s := sessionOf(t, list...)
		for _, format := range export.Formats() {
			file := bytesOf(t, format, write(t, s, format, "secrets"))
			if name != "elsewhere and in base64" && !strings.Contains(file, "Rk2") && !strings.Contains(file, "n94w") {
				continue // nothing of any of them
			}
			for _, f := range told {
				for _, part := range traces(f.hidden) {
					if at := strings.Index(file, part); at >= 0 {
						t.Errorf("%q, %s, as %s: %s", f.name, name, format, file[max(0, at-80):min(len(file), at+40)])
						break
					}
				}
			}
		}
	}
}

// Each member of the files beside the events is judged as the events are.
func TestSecretsAreRemovedFromTheFilesOfAnArchive(t *testing.T) {
	hidden := hidden(1)
	name := "look at " + hidden
	s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text("password: " + hidden)}, event.Title{Title: name},
		event.AgentMessage{MessageID: "m", Text: event.Text(hidden)})
	s.Name = name + " and " + hidden[:9] + "…"
	s.Files = []export.File{
		{Name: "metadata.json", Data: []byte(`{"name":"` + name + `","last_line":"` + hidden + `","mode":"token ` + hidden + `","x":{"y":["cut ` + hidden[:7] + `…"]}}`)},
		{Name: "queue.json", Data: []byte(`{"prompts":[{"text":"use -u ann:` + hidden + `"},{"text":"` + hidden + `"}]}`)},
		{Name: "comments.jsonl", Data: []byte(`{"body":"not ` + hidden + `"}` + "\n" + `{"code":"` + encoded("ann:"+hidden) + `"}` + "\n")},
	}
	for _, format := range export.Formats() {
		out := bytesOf(t, format, write(t, s, format, "secrets"))
		for _, part := range traces(hidden) {
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

// pathForms are texts with a path in them that has the word hushhush.
func pathForms() []string {
	return []string{
		"see /data/hushhush/notes.txt", "cd /data/hushhush && ls", "PATH=/data/hushhush/bin:/opt/hushhush/bin", `open("/var/hushhush/x")`,
		"file:///data/hushhush/x", "(/mnt/hushhush/a b)", "/etc/hushhush/conf", "`/tmp/hushhush/x`", `C:\hushhush\notes.txt`, `\\server\hushhush\x`,
		"--config=/srv/hushhush/c.yaml", "[x](/data/hushhush/y)", "/data/hushhush", "a:/data/hushhush/b",
		// Windows.
		`C:\Users\hushhush\x.txt`, `c:\users\hushhush`, `C:/Users/hushhush/x`, `C:\\Users\\hushhush\\x`, `"D:\my data\hushhush\x.txt"`, `\\?\C:\data\hushhush`, `\\\\server\\hushhush\\x`,
		"/c/Users/hushhush/x", "/mnt/c/Users/hushhush/x", "/cygdrive/d/hushhush/x", `cd /d E:\hushhush`, `file:///C:/hushhush/x`, `PATH=C:\bin;D:\hushhush\bin`, "C%3A%5Cdata%5Chushhush",
		// Addresses and escapes.
		"file://localhost/data/hushhush", "FILE:///data/hushhush", "file:/data/hushhush/x", "file://host/hushhush/x", "vscode://file/data/hushhush/x:3", "sqlite:////data/hushhush.db", "sqlite:///data/hushhush.db",
		"unix:///data/hushhush.sock", "file:///data/hush%68ush/x y", "%2Fdata%2Fhushhush%2Fx", "https://host/open?file=/data/hushhush/x", "https://host/open?file=%2Fdata%2Fhushhush", "file%3A%2F%2F%2Fdata%2Fhushhush",
		`"\/data\/hushhush\/x"`, `\u002fdata\u002fhushhush`, "&#x2F;data&#x2F;hushhush", `{\"path\":\"/data/hushhush/x\"}`, "git+file:///data/hushhush",
		// Changes.
		"--- /data/hushhush/a.go\n+++ /data/hushhush/b.go", "+/data/hushhush/x", "-/data/hushhush/x", "-\tx := \"/data/hushhush\"", "rename from /data/hushhush/x", "@@ -1 +1 @@ /data/hushhush/x",
		// Programs and terminals.
		"gcc -I/data/hushhush/include -L/opt/hushhush x.c", "@/data/hushhush/args", "2>/data/hushhush/log", "</data/hushhush/in", "\x1b[34m/data/\x1b[0mhushhush/x", "\x1b]0;/data/hushhush\x07", "ann@host:/data/hushhush$ ls",
		"/data/hushhush/a.go:12:5: undefined", "at f (/data/hushhush/a.js:1:2)", `File "/data/hushhush/a.py", line 3`, "rsync host:/data/hushhush/ .", "docker run -v /data/hushhush:/x", "/data//hushhush/x", "/data/./hushhush",
		"/data/../hushhush/x", "/usr/../data/hushhush/x", "/data/(hushhush)/x", "/data/[hushhush]/x", "/data/a,hushhush/x", "/data/a:hushhush/x", "/data/x{hushhush}/y", "'/data/my hushhush/x'", `/data/my\ hushhush/x`,
		`"/data/it's hushhush/x"`, "/data/a@hushhush/x", "/data/a&hushhush/x", "/data/a#hushhush/x", "/data/ü-hushhush/x", "/data/a+hushhush", "/data/a=hushhush/x", "/data/~hushhush/x", "//data/hushhush/x", "/Data/hushhush",
		"*/data/hushhush/x*", "**/data/hushhush**", "…/data/hushhush/x", "“/data/hushhush/x”", "→/data/hushhush", "/data/pass\u200b/hushhush", "| /data/hushhush/x |", "<path>/data/hushhush</path>", "/data/hushhush/",
		"/hushhush.txt", "#!/opt/hushhush/python", "!/data/hushhush/x", "/data/hush\\\n", "include=/data/hushhush,/opt/hushhush", "[/data/hushhush]", "{/data/hushhush,/x}", "$(cat /data/hushhush/x)",
		// Homes.
		"/home/hushhush/x", "/Users/hushhush", "~hushhush/x", "/export/home/hushhush/y", "/home/hushhush", "file:///home/hushhush", "/var/home/hushhush/x", "-I/home/hushhush/include", "%2Fhome%2Fhushhush",
	}
}

func TestPathsOutsideOfWorkspaceAndHomeAreRemovedInEveryFormat(t *testing.T) {
	tool := event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "x", Title: "run"}}
	lists := map[string][]event.Payload{}
	for i, text := range pathForms() {
		raw, err := json.Marshal(map[string]any{"command": text, "list": []string{text}, text: "x"})
		require.NoError(t, err)
		named, err := json.Marshal(map[string]any{"file_path": "/data/my hushhush", "cwd": "/my data/hushhush", "dir": "/hushhush", "root": `C:\my hushhush`, "uri": "file:///my%20hushhush"})
		require.NoError(t, err)
		cut, id := strings.Index(text, "hush")+4, fmt.Sprint(i)
		say := func(text string) event.Payload { return event.AgentMessage{MessageID: id, Text: event.Text(text)} }
		print := func(text string) event.Payload { return event.TerminalOutput{TerminalID: id, Data: event.Text(text)} }
		for name, list := range map[string][]event.Payload{
			"whole": {event.UserPrompt{PromptID: id, Text: event.Text(text)}, say(text), event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: id, Title: text, RawInput: raw}},
				event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: id + "d", Title: "read", RawInput: named}}, event.FileRead{Path: "/data/hushhush/my file", Bytes: 1}, print(text)},
			"by chunk":         {say(text[:cut]), say(text[cut:])},
			"by another event": {say(text[:cut]), tool, say(text[cut:])},
			"in a terminal":    {print(text[:cut]), tool, print(text[cut:])},
		} {
			lists[name] = append(lists[name], list...)
		}
	}
	for name, list := range lists {
		s := sessionOf(t, list...)
		for _, format := range export.Formats() {
			out := bytesOf(t, format, write(t, s, format, "paths"))
			for _, part := range []string{"hushhush", "hush%68ush", "hush\u200bhush"} {
				if at := strings.Index(out, part); at >= 0 {
					t.Errorf("%s as %s: %s", name, format, out[max(0, at-60):min(len(out), at+20)])
				}
			}
		}
	}
}

func TestPathsOfTheSessionKeepTheirEnds(t *testing.T) {
	for text, want := range map[string]string{
		"see /srv/secret-project/a/b.go:3":      "see /workspace/a/b.go:3",
		"/srv/secret-project":                   "/workspace",
		"/srv/secret-project2/x":                "/elsewhere",
		"/srv/secret-project.":                  "/workspace.",
		"file:///srv/secret-project/a%20b":      "file:///workspace/a%20b",
		"~/.claude/-srv-secret-project/x":       "~/.claude/-workspace/x",
		"/home/ann/notes/x":                     "/home/user/notes/x",
		"%2Fsrv%2Fsecret-project%2Fa":           "/workspace%2Fa",
		`C:\Users\ann\notes`:                    "/home/user/notes",
		"/srv/secret-project/a /srv/other/b.":   "/workspace/a /elsewhere.",
		"--- /srv/secret-project/a\n+++ /x/y\n": "--- /workspace/a\n+++ /elsewhere\n",
	} {
		encoded, err := json.Marshal(want)
		require.NoError(t, err)
		require.Contains(t, write(t, sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text)}), export.JSONL, "paths"), string(encoded), text)
	}
}

func TestTextThatIsNotAPathStays(t *testing.T) {
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	for _, text := range []string{
		"https://example.org/a/b?c=/d", "and/or", "1/2/3", "/help me", "/usr/bin/env python", "2>/dev/null", "</div>", "src/a/b.go", "./a/b", "~/notes/x", "a // b",
		"../a/b", "a/b/c", "https://example.org/a/b", "http://localhost:8080/api/x", "ssh://git@host/a/b.git", "git@github.com:a/b.git", "/** a */", "/* a */", "x = a / b / c", "s/a/b", "$HOME/x/y", "${HOME}/x/y",
		"application/json", "</p></div>", "<br/>", "24/7 and 11/26/2026", "km/h", "@scope/pkg/x", "C: a drive", "a: b", "10:20:30", `a\b`, `\n\t`, `\\d+\\s`, "~5/10", "https://example.org/~ann/x", "--- a/x.go\n+++ b/x.go", "/proc/self/maps",
		"ftp://host/a/b", "- / -", "[a](https://example.org/x/y)", "(see https://example.org/a/b)", "w/o", "n/a", "TCP/IP", "refs/heads/main", "sha256/abc=", "//", "/", "/ /", "//!", "/// doc", `"$ref": "#/defs/Name"`, "/begun/", "https://host/x#/a/b",
	} {
		out := write(t, sessionOf(t, event.UserPrompt{PromptID: "p", Text: event.Text(text)}, event.TerminalOutput{TerminalID: "t", Data: event.Text(text)}), export.JSONL, "paths")
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(plain.Replace(out), plain.Replace(string(encoded))), "%q: %s", text, out)
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

// A terminal prints on while the turns change, and a block beside a text is read, too.
func TestSecretsAreRemovedAcrossTurnsAndFromBlocks(t *testing.T) {
	value, other := hidden(1), hidden(2)
	block := json.RawMessage(`{"type":"resource","resource":{"text":"password: ` + other + `"}}`)
	s := sessionOf(t, event.UserPrompt{PromptID: "p", Text: "go"}, event.TerminalOutput{TerminalID: "t", Data: event.Text("TOKEN=" + value[:8])},
		event.AgentMessage{MessageID: "m", Text: event.Text("it is " + other[:8])}, event.AgentMessage{MessageID: "m", Text: event.Text(other[8:]), Content: block},
		event.TurnEnd{PromptID: "p"}, event.UserPrompt{PromptID: "q", Text: "go on"}, event.TerminalOutput{TerminalID: "t", Data: event.Text(value[8:] + "\n")})
	events := s.Log.(log)
	events[5].Turn, events[6].Turn = 2, 2
	for _, format := range export.Formats() {
		out := bytesOf(t, format, write(t, s, format, "secrets"))
		for _, part := range []string{value[:8], value[8:], other[:8], other[8:]} {
			require.NotContains(t, out, part, format)
		}
	}
}

package export_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
)

// harmless are texts about secrets with none in them.
func harmless() []string {
	return []string{
		// Prose.
		"the token count is 12", "a password manager", "tokens: 1200", "The password is required.", "Enter your password: ", "the token is invalid",
		"password: at least eight characters, one of them a digit", "Password must contain 12 characters", "Forgot your password? Reset it here.",
		"The secret is to keep it simple.", "Secrets are read from the environment.", "token usage: 512", "max_tokens: 4096", "Tokens used: 12,345 of 200,000",
		"I rotated the API key and the access token.", "The key: a string of the user's id", "passphrase: optional", "cookie: half of a credential",
		"Cookie: the browser sends it with each request", "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization header: missing",
		"Basic authentication is enough here.", "basic internationalization", "bearer authentication", "Use --token to log in, or --password-stdin.",
		"PASS: TestRoundTrip2 (0.00s)", "--- PASS: TestTokens/utf8mb4_2 (0.01s)", "pass: 12, fail: 3", "ok  \tgithub.com/x/token\t0.012s",
		"the user must enter a username and a password or a token", "Set the password to something long.", "tokenizer: cl100k_base", "password -> hash",
		"Token: see below", "Authentication: token", "auth: required", "signature: func(x int) string", "The session token expires in 3600 seconds.",
		// Programs.
		`password = os.environ["X"]`, `password = os.environ["DB_PASSWORD"]`, `password := os.Getenv("DB_PASSWORD")`, `const token = process.env.GITHUB_TOKEN;`,
		`password: ${{ secrets.DB_PASSWORD }}`, "PASSWORD=$PASSWORD", `PASSWORD="${DB_PASSWORD}"`, "export TOKEN=$(cat token.txt)", "token = get_token()",
		"password = getpass.getpass()", "def login(user, password):", "func New(token string) *Client {", "password: string;", "token?: string | null", "Password string `json:\"password\"`",
		"if password == \"\" {", "if (token !== undefined) return", "token := r.Header.Get(\"Authorization\")", "self.password = password", "connect(user=user, password=password)",
		"req.body.password", "password=None", "password=args.password", "let token = tokens[0];", "tokens = text.split(\" \")", "token = lexer.next()", "while token.kind != EOF:",
		"Token::Ident(name) => name", "type Token = { kind: string; text: string }", "pub struct Secret<T>(T);", `{"grant_type":"refresh_token","token_type":"bearer"}`,
		`{"properties":{"password":{"type":"string","title":"Password","description":"Your password"}},"required":["user","password"]}`,
		`["username","password"]`, `{"usage":{"input_tokens":812,"output_tokens":4096,"cached_tokens":12000000}}`, `{"max_tokens":4096,"token_count":12}`,
		`{"token":"the","start":0}`, `{"name":"password","in":"body","required":true}`, "secretKeyRef:\n  name: db\n  key: password", "secrets: inherit",
		"secret: /run/secrets/db", "password_file: /run/secrets/db_password", "TOKEN_URL=https://example.org/oauth/token", "TOKEN_TTL=3600", "token_type=bearer",
		"<label for=\"password\">Password</label>", "<input type=\"password\" name=\"password\" placeholder=\"Password\">", "| password | string | the user's password |",
		"| Field | Type |\n|---|---|\n| password | string |\n| token | optional |", "password:\n  type: string\n  minLength: 8", "docker run -u 1000:1000 -p 8080:80 image", "mkdir -p src/pass && ls -a",
		"npm test -- -p config/token.json", "git log -p internal/auth", "chown -R user:group /srv", "postgres://user:password@localhost/db", "https://host:8080/x@y", "ssh://git@github.com/x/y",
		"#include \"token.h\"", "color: $secret-color;", "import { token } from './token2'", "password hashing with argon2id", "key = value", "keys: [a, b]",
		"export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal'", "fetch(url, { credentials: 'omit' })", `headers: ["Authorization", "Content-Type", "X-Request-Id"]`,
		"\tserverSecret := hs.masterSecret.ServerSecret(hs.transcript)", "PrivateKey: bytes.Clone(key),", "privateKey: NonSharedBuffer;", "cfg.ClientAuth = VerifyClientCertIfGiven",
		"SignatureAlgorithm: SHA256WithRSA,", `t.Error("invalid private key: ", err)`, `fmt.Printf("cookies: %s want cookies: %s", a, b)`, "b.getToken=function(){return this.next(),new Ze(this)};",
		"const passOn = ['suggest', 'format', 'onState2b1c']", `{"Unexpected_token_1012":"未預期的語彙基元"}`, `{"dependencies":{"canceltoken":"^1.0.0"}}`, `<a accesskey="n" href="x.html">`,
		"c.set(clientSecret)\nserverSecret := c.get()", "tokens = {'root': [(r'\\d+[eE]', Number), 'instruction-args']}", "removes user and password from an address", "first_pass=3, second_pass: 2a3b4c5d6e",
		"Page PageToken `json:\"page\"`", `headers := []string{"cookie", "strict-transport-security", "user-agent"}`, `"the cookie is secure\n  --sameSite <strict>"`, "Password - see the manual", "Password\nEnter it twice",
		"token for user: ann", "passwords (hashed): argon2id", "pin the version: 1.2.3-rc4", "error code: E1042", "user,password,email\nann,required,ann@example.org", "password || throw new Error('no password given')",
		`{"title":"Check the password","content":"package auth"}`, `{"question":"Shall I reset the password?","answer":"Yes, do it"}`, `{"name":"password","content":"package auth\n\nfunc x()\n"}`,
		// Numbers and ids.
		"by_id 9f3a11c07b2d4e55", "commit 4ee64c1c9f3a11c07b2d4e554ee64c1c9f3a11c0", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"session 20260221-140307-9f3a11c0", "id: 550e8400-e29b-41d4-a716-446655440000", "From now on abide answers for token:9f3a11c07b2d4e55: allow", "token_id=9f3a11c07b2d4e55",
		"access_key_id: \"9f3a11c07b2d4e55\"", "tokenId: 9f3a11c07b2d4e55", "token 9f3a11c07b2d4e55 was revoked", "integrity sha512-Zq7Rk2Vn94XwAbCdEf0123456789+/==",
		"v1.2.3-beta.4", "2026-02-21T14:03:07Z", "password_reset_id=550e8400-e29b-41d4-a716-446655440000", "credential id 9f3a11c07b2d4e55",
	}
}

func TestHarmlessTextStaysByteForByte(t *testing.T) {
	texts := harmless()
	require.GreaterOrEqual(t, len(texts), 100)
	of := func(texts ...string) export.Session {
		list := []event.Payload{event.UserPrompt{PromptID: "p", Text: "go", Actor: "token:9f3a11c07b2d4e55", ByID: "9f3a11c07b2d4e55"}}
		for i, text := range texts {
			raw, err := json.Marshal(map[string]any{"command": text, "args": []string{text}})
			require.NoError(t, err)
			cut := len(text) / 2
			list = append(list, event.UserPrompt{PromptID: "p", Text: event.Text(text)},
				event.AgentMessage{MessageID: string(rune('a' + i)), Text: event.Text(text[:cut])}, event.AgentMessage{MessageID: string(rune('a' + i)), Text: event.Text(text[cut:])},
				event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: text, RawInput: raw}},
				event.TerminalOutput{TerminalID: string(rune('a' + i)), Data: event.Text(text + "\n")})
			if json.Valid([]byte(text)) {
				list = append(list, event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "d", Title: "call", RawInput: json.RawMessage(text)}})
			}
		}
		return sessionOf(t, list...)
	}
	for _, text := range texts {
		for _, format := range []export.Format{export.JSONL, export.Markdown} {
			s := of(text)
			if out := write(t, s, format, "secrets"); strings.Contains(out, "[redacted]") {
				at := strings.Index(out, "[redacted]")
				t.Errorf("%q as %s: %s", text, format, out[max(0, at-60):min(len(out), at+30)])
				break
			}
			if format == export.Markdown {
				require.Equal(t, write(t, s, format), write(t, s, format, "secrets"), text)
			}
		}
	}
	all := of(texts...)
	require.Equal(t, write(t, all, export.Markdown), write(t, all, export.Markdown, "secrets"))
}

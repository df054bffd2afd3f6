package acp

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// stderrKept is how much of the agent's stderr is kept.
	stderrKept = 64 << 10
	// stderrTail is how much of it an event.AgentExit carries.
	stderrTail = 8 << 10
	redacted   = "[redacted]"
	// shortestSecret is the length from which a known secret is redacted: shorter
	// ones occur in ordinary words.
	shortestSecret = 4
	// shortestPassed is that length for a variable in PassEnv whose name is not
	// like a secret's.
	shortestPassed = 8
)

// stderrRing keeps the end of an agent's stderr.
type stderrRing struct {
	secrets []string

	mu   sync.Mutex
	kept []byte // guarded by mu
}

func newStderrRing(secrets []string) *stderrRing { return &stderrRing{secrets: secrets} }

// Write implements io.Writer; it never fails.
func (r *stderrRing) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, p...)
	// Trim at twice the size, so that most writes copy nothing.
	if len(r.kept) > 2*stderrKept {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-stderrKept:]...)
	}
	return len(p), nil
}

// tail returns the end of stderr for a person: whole lines, valid UTF-8, with known
// and probable secrets replaced.
func (r *stderrRing) tail() string {
	r.mu.Lock()
	kept := slices.Clone(r.kept)
	r.mu.Unlock()
	// Redact before cutting: half a secret would not be recognised.
	text := redact(string(kept), r.secrets)
	if len(text) > stderrTail {
		text = text[len(text)-stderrTail:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
	}
	return validText([]byte(text))
}

// validText converts bytes to text that is valid in an event.
func validText(data []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\x00", "\uFFFD")
}

var (
	secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth)`)
	// Named values, well-known token shapes, and credentials within a URL.
	namedSecret = regexp.MustCompile(`(?i)((?:[a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|credentials?|authorization|cookie))["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;]{4,}`)
	bearer      = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}`)
	tokenShape  = regexp.MustCompile(`\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}|\b(?:gh[pousr]|github_pat|glpat|xox[a-z])[_-][A-Za-z0-9_-]{10,}|\bAKIA[A-Z0-9]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)
	urlSecret   = regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`)
	privateKey  = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// secrets returns the values of the config that the hub must never write: variables
// with a name like a secret's, of the agent and of its MCP servers, and the
// servers' headers. inherit is the hub's own environment.
func (c Config) secrets(inherit []string) []string {
	var values []string
	keep := func(value string) {
		if len(value) >= shortestSecret {
			values = append(values, value)
		}
	}
	named := func(env map[string]string) {
		for name, value := range env {
			if secretName.MatchString(name) {
				keep(value)
			}
		}
	}
	named(c.Env)
	for _, entry := range inherit {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !slices.Contains(c.PassEnv, name) {
			continue
		}
		// A variable is passed for the credential in it, whatever its name is,
		// unless its value is a path or an address.
		if secretName.MatchString(name) || len(value) >= shortestPassed && !strings.ContainsAny(value, "/ ") {
			keep(value)
		}
	}
	for _, server := range c.MCPServers {
		named(server.Env)
		for _, value := range server.Headers {
			keep(value)
			if _, credential, ok := strings.Cut(value, " "); ok { // "Bearer …"
				keep(credential)
			}
		}
	}
	// The longest first, so that a secret within another leaves no rest.
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) })
	return values
}

func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	text = privateKey.ReplaceAllString(text, redacted)
	text = namedSecret.ReplaceAllString(text, "${1}"+redacted)
	text = bearer.ReplaceAllString(text, "${1} "+redacted)
	text = tokenShape.ReplaceAllString(text, redacted)
	return urlSecret.ReplaceAllString(text, "${1}"+redacted+"@")
}

// redactJSON replaces known secrets in JSON and keeps it valid. It does not replace
// probable secrets.
func redactJSON(raw json.RawMessage, secrets []string) json.RawMessage {
	text := string(raw)
	for _, secret := range secrets {
		quoted := string(mustJSON(secret))
		text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], redacted)
		text = strings.ReplaceAll(text, secret, redacted)
	}
	if !json.Valid([]byte(text)) { // a secret of digits, or of JSON syntax
		return mustJSON(redacted)
	}
	return json.RawMessage(text)
}

var _ io.Writer = (*stderrRing)(nil)

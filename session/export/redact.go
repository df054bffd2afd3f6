package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Redaction lists the parts that an export leaves out.
type Redaction struct {
	// Secrets are texts of the form of a known token, key or password.
	Secrets bool
	// Paths are the names of the session's directories and of home directories.
	Paths bool
	// Images are pictures.
	Images bool
	// Thoughts are the agent's thoughts.
	Thoughts bool
	// Outputs are the output of tools and terminals.
	Outputs bool
}

// ParseRedaction reads a list such as "secrets,paths".
func ParseRedaction(names []string) (Redaction, error) {
	var r Redaction
	to := map[string]*bool{"secrets": &r.Secrets, "paths": &r.Paths, "images": &r.Images, "thoughts": &r.Thoughts, "outputs": &r.Outputs}
	for _, name := range names {
		if to[name] == nil {
			return r, fmt.Errorf("no redaction %q: there are secrets, paths, images, thoughts and outputs", name)
		}
		*to[name] = true
	}
	return r, nil
}

func (r Redaction) any() bool { return r != Redaction{} }

const (
	gone     = "[redacted]"
	goneHome = "/home/user"
	goneWork = "/workspace"
)

// secretShapes are the forms of secrets: of well-known services, then of anything
// called one. docs/security.md lists them.
func secretShapes() []string {
	return []string{
		`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
		`\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b`,                          // AWS
		`\bgh[pousr]_[A-Za-z0-9]{20,255}`,                                  // GitHub
		`\bgithub_pat_[A-Za-z0-9_]{22,255}`,                                //
		`\bgl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{20,}`,                // GitLab
		`\bxox[abeposr]-[A-Za-z0-9-]{10,}`,                                 // Slack
		`https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+`, //
		`\bsk-[A-Za-z0-9_-]{20,}`,                                          // OpenAI, Anthropic and others
		`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,                           // Stripe
		`\bAIza[0-9A-Za-z_-]{35}`,                                          // Google
		`\bya29\.[0-9A-Za-z_-]{20,}`,                                       //
		`\bnpm_[A-Za-z0-9]{36}`,                                            // npm
		`\bpypi-[A-Za-z0-9_-]{16,}`,                                        // PyPI
		`\bhf_[A-Za-z0-9]{30,}`,                                            // Hugging Face
		`\babide_[A-Za-z0-9_-]{16,}`,                                       // abide
		`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`,  // JWT
		`\b(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}`,                    // HTTP
		`://[^/\s:@"']+:[^/\s@"']+@`,                                       // a password in an address
		`(?i)\b[a-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|access[_-]?key)[a-z0-9_-]*["']?\s*[=:]\s*["']?[^\s"',;&]{8,}`,
	}
}

// redactor removes the parts that a redaction names. It also counts it. One
// goroutine uses it.
type redactor struct {
	Redaction
	secrets, homes, pictures *regexp.Regexp
	dirs                     *strings.Replacer
	has                      []string // the directories that dirs replaces
	found                    Found

	secretsHere, pathsHere, imagesHere int // in this event
}

func newRedactor(s Session, redact Redaction) *redactor {
	r := &redactor{Redaction: redact}
	r.secrets = regexp.MustCompile(strings.Join(secretShapes(), "|"))
	r.homes = regexp.MustCompile(`(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s"'` + "`" + `:;,<>|)]+|/root\b`)
	r.pictures = regexp.MustCompile(`data:image/[a-zA-Z0-9.+-]+;base64,[A-Za-z0-9+/=]+`)
	for _, dir := range []string{s.Workspace, s.ProjectRoot} {
		if len(dir) > 1 && !slices.Contains(r.has, dir) {
			r.has = append(r.has, dir)
		}
	}
	slices.SortFunc(r.has, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, dir := range r.has {
		pairs = append(pairs, dir, goneWork)
	}
	r.dirs = strings.NewReplacer(pairs...)
	return r
}

// event redacts one event.
func (r *redactor) event(e event.Event) (event.Event, error) {
	if !r.any() {
		return e, nil
	}
	var data map[string]any
	d := json.NewDecoder(bytes.NewReader(e.Data))
	d.UseNumber()
	if err := d.Decode(&data); err != nil {
		return e, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	delete(data, "raw") // it repeats the other fields
	r.secretsHere, r.pathsHere, r.imagesHere = 0, 0, 0
	thought := r.Thoughts && e.Type == event.TypeAgentThought
	output := r.Outputs && r.dropOutput(e.Type, data)
	if thought {
		data["text"] = ""
		delete(data, "content")
	}
	out, err := json.Marshal(r.value(data))
	if err != nil {
		return e, err
	}
	e.Data = out
	r.count(e.Seq, thought, output)
	return e, nil
}

// dropOutput removes a tool's output, and reports whether there was any.
func (r *redactor) dropOutput(kind event.Type, data map[string]any) bool {
	switch kind {
	case event.TypeTerminalOutput:
		data["data"] = ""
		return true
	case event.TypeToolCall, event.TypeToolCallUpdate:
	default:
		return false
	}
	_, said := data["raw_output"]
	delete(data, "raw_output")
	entries, _ := data["content"].([]any)
	kept := []any{}
	for _, entry := range entries {
		if object, _ := entry.(map[string]any); object["type"] == "content" {
			said = true
			continue
		}
		kept = append(kept, entry)
	}
	if entries != nil {
		data["content"] = kept
	}
	return said
}

func (r *redactor) count(seq event.Seq, thought, output bool) {
	f := &r.found
	note := func(what string, n int, total *int) {
		if n == 0 {
			return
		}
		*total += n
		if f.Places != nil && len(f.Places) < maxPlaces {
			f.Places = append(f.Places, Place{seq, what, n})
		}
	}
	one := map[bool]int{true: 1}
	note("secrets", r.secretsHere, &f.Secrets)
	note("paths", r.pathsHere, &f.Paths)
	note("images", r.imagesHere, &f.Images)
	note("thoughts", one[thought], &f.Thoughts)
	note("outputs", one[output], &f.Outputs)
}

// value redacts JSON. Names of members are redacted too.
func (r *redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case map[string]any:
		if r.Images {
			r.picture(v)
		}
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[r.text(name)] = r.value(inner)
		}
		return out
	}
	return v
}

// picture empties an object that holds a picture.
func (r *redactor) picture(v map[string]any) {
	kind, _ := v["mimeType"].(string)
	if other, ok := v["media_type"].(string); ok {
		kind = other
	}
	if !strings.HasPrefix(kind, "image/") {
		return
	}
	for _, name := range []string{"data", "blob"} {
		if _, there := v[name]; there {
			v[name] = ""
			r.imagesHere++
		}
	}
}

func (r *redactor) text(s string) string {
	if r.Secrets {
		s = r.secrets.ReplaceAllStringFunc(s, func(string) string { r.secretsHere++; return gone })
	}
	if r.Images {
		s = r.pictures.ReplaceAllStringFunc(s, func(string) string { r.imagesHere++; return gone })
	}
	if r.Paths {
		for _, dir := range r.has {
			r.pathsHere += strings.Count(s, dir)
		}
		s = r.dirs.Replace(s)
		s = r.homes.ReplaceAllStringFunc(s, func(string) string { r.pathsHere++; return goneHome })
	}
	return s
}

// file redacts a file of JSON, or of lines of it.
func (r *redactor) file(data []byte) ([]byte, error) {
	if !r.any() {
		return data, nil
	}
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if err := enc.Encode(r.value(v)); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// maxRun bounds the text of one run of chunks, in bytes.
const maxRun = 4 << 20

// runs joins consecutive chunks of one text before a secret or a path is looked for:
// an agent streams it in pieces. Where something was found, the first chunk of the run
// has the whole text and the others have none, so that the numbers of the events stay.
type runs struct {
	redactor *redactor
	next     func(event.Event) error

	key   string
	held  []event.Event
	texts []string
	bytes int
}

// chunkOf is the text that an event adds to, and the member that holds it.
func chunkOf(e event.Event) (key, member, text string) {
	payload, err := e.Payload()
	if err != nil {
		return "", "", ""
	}
	switch p := payload.(type) {
	case event.AgentMessage:
		return fmt.Sprintf("%s %d %s", e.Type, e.Turn, p.MessageID), "text", string(p.Text)
	case event.AgentThought:
		return fmt.Sprintf("%s %d %s", e.Type, e.Turn, p.MessageID), "text", string(p.Text)
	case event.TerminalOutput:
		return fmt.Sprintf("%s %s", e.Type, p.TerminalID), "data", string(p.Data)
	}
	return "", "", ""
}

func (r *runs) take(e event.Event) error {
	if !r.redactor.any() {
		return r.next(e)
	}
	key, _, text := chunkOf(e)
	if key == "" || key != r.key || r.bytes > maxRun {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if key == "" {
		return r.emit(e)
	}
	r.key, r.bytes = key, r.bytes+len(text)
	r.held, r.texts = append(r.held, e), append(r.texts, text)
	return nil
}

// flush redacts the run that is held.
func (r *runs) flush() error {
	held, texts := r.held, r.texts
	r.key, r.held, r.texts, r.bytes = "", nil, nil, 0
	whole := strings.Join(texts, "")
	if len(held) > 1 && r.redactor.text(whole) != whole {
		for i := range held {
			text := ""
			if i == 0 {
				text = whole
			}
			if err := withText(&held[i], text); err != nil {
				return err
			}
		}
	}
	for _, e := range held {
		if err := r.emit(e); err != nil {
			return err
		}
	}
	return nil
}

func withText(e *event.Event, text string) error {
	_, member, _ := chunkOf(*e)
	var data map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return err
	}
	data[member] = encoded
	e.Data, err = json.Marshal(data)
	return err
}

func (r *runs) emit(e event.Event) error {
	e, err := r.redactor.event(e)
	if err != nil {
		return err
	}
	return r.next(e)
}

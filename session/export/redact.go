package export

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Redaction lists the parts that an export leaves out.
type Redaction struct {
	// Secrets are texts of the form of a known token, key or password.
	Secrets bool
	// Paths are the names of the session's directories and of home directories, and
	// other absolute paths.
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
	goneElse = "/elsewhere"
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
		`(?i)\b(?:proxy-)?authorization["']?\s*[=:]\s*["']?(?:[a-z]+ +)?[^\s"',;]{8,}`,
		`(?i)\b(?:set-)?cookie["']?\s*:\s*[^\r\n"']{8,}`,
		`(?i)(?:\b[a-z0-9_-]*|--?)(?:` + secretNames + `)[a-z0-9_-]*["']?(?:\s*[=:]\s*|\s+is\s+)["']?[^\s"',;&]{8,}`,
		`(?i)\B--?(?:[a-z0-9]+-)*(?:` + secretNames + `) +["']?[^\s"'-][^\s"']{7,}`,
	}
}

// secretNames are the names of secrets, in text, in JSON and of options.
const secretNames = `password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|signing[_-]?key|account[_-]?key|[_-]pass|[_-]pwd`

// secretName reports of a name in JSON whether its value is a secret. The id of a
// credential is none.
func secretName() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:--?)?(?:[a-z0-9]+[_-])*(?:` + secretNames + `|pass|pwd|authorization|cookie|set-cookie)$`)
}

// credentialID is the id of one of abide's credentials, as it names an actor, or a value
// that its name calls an id.
const credentialID = `(?i)^(?:token:[0-9a-f]{16}[.:)\]]*|[a-z0-9_-]*(?:token|key)[_-]?id["']?\s*[=:]\s*["']?[^\s"',;&]+)$`

// redactor removes the parts that a redaction names. It also counts it. One
// goroutine uses it.
type redactor struct {
	Redaction
	secrets, homes, elsewhere, pictures *regexp.Regexp
	name, ids                           *regexp.Regexp
	known                               map[string]bool   // values of secrets, by which they are found elsewhere
	again                               *strings.Replacer // of the known values; nil while they are learned
	joined                              map[event.Seq]string
	contents                            map[event.Seq]json.RawMessage // of tool calls; nil where another event has it
	dirs                                *strings.Replacer
	has                                 []string // the directories that dirs replaces
	found                               Found

	secretsHere, pathsHere, imagesHere int // in this event
}

func newRedactor(s Session, redact Redaction) *redactor {
	r := &redactor{Redaction: redact, name: secretName(), known: map[string]bool{}}
	r.secrets = regexp.MustCompile(strings.Join(secretShapes(), "|"))
	r.homes = regexp.MustCompile(`(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s"'` + "`" + `:;,<>|)]+|/root\b`)
	r.ids = regexp.MustCompile(credentialID)
	r.elsewhere = regexp.MustCompile(otherPath)
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
	if err := decodeNumbers(e.Data, &data); err != nil {
		return e, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if text, ok := r.joined[e.Seq]; ok {
		if _, member, _ := chunkOf(e); member != "" {
			data[member] = text
		}
	}
	if whole, ok := r.contents[e.Seq]; ok {
		if delete(data, "content_added"); whole != nil {
			var content any
			if err := decodeNumbers(whole, &content); err != nil {
				return e, fmt.Errorf("event %d: %w", e.Seq, err)
			}
			data["content"] = content
		}
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

// decodeNumbers decodes JSON and keeps its numbers as they are written.
func decodeNumbers(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
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
	if _, added := data["content_added"]; added {
		said = true
		delete(data, "content_added")
	}
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
			flag, named := "", false
			if i > 0 {
				flag, named = v[i-1].(string)
			}
			if named && strings.HasPrefix(flag, "-") && r.name.MatchString(flag) {
				v[i] = r.secret(v[i])
			} else {
				v[i] = r.value(v[i])
			}
		}
	case map[string]any:
		if r.Images {
			r.picture(v)
		}
		// A pair such as {"name":"DB_PASS","value":"…"}.
		paired := false
		for _, member := range []string{"name", "key"} {
			name, ok := v[member].(string)
			paired = paired || ok && r.name.MatchString(name)
		}
		out := make(map[string]any, len(v))
		for name, inner := range v {
			if r.name.MatchString(name) || paired && name == "value" {
				out[r.text(name)] = r.secret(inner)
			} else {
				out[r.text(name)] = r.path(name, inner)
			}
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

// secret redacts the value of a name that says it is one.
func (r *redactor) secret(v any) any {
	text, ok := v.(string)
	if !ok || !r.Secrets || text == "" || text == gone {
		return r.value(v)
	}
	r.learn(text)
	r.secretsHere++
	return gone
}

const (
	// leastKnown is the length from which the value of a secret is looked for elsewhere,
	// and mostKnown limits how many are.
	leastKnown = 8
	mostKnown  = 2000
)

// learn remembers the value in a secret: behind its name, or in an address before the @.
func (r *redactor) learn(found string) {
	value := strings.TrimRight(found, `"'`)
	if at := strings.LastIndexAny(strings.TrimRight(value, "@="), " =:\"'"); at >= 0 && at+1 < len(value) {
		value = value[at+1:]
	}
	value = strings.TrimRight(value, "@")
	if len(value) >= leastKnown && len(r.known) < mostKnown && value != gone {
		r.known[value] = true
	}
}

// useKnown makes the values that were learned be found wherever they are, in base64, too.
func (r *redactor) useKnown() {
	values := slices.SortedFunc(maps.Keys(r.known), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, value := range values {
		encoded := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "=")
		pairs = append(pairs, value, gone, encoded, gone)
	}
	r.again = strings.NewReplacer(pairs...)
}

// inner redacts a string that holds JSON, member by member.
func (r *redactor) inner(s string) (string, bool) {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return s, false
	}
	d := json.NewDecoder(strings.NewReader(trimmed))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return s, false
	}
	before := r.secretsHere
	v = r.value(v)
	if r.secretsHere == before {
		return s, false
	}
	out, err := json.Marshal(v)
	return string(out), err == nil
}

func (r *redactor) text(s string) string {
	if r.Secrets {
		if inner, ok := r.inner(s); ok {
			s = inner
		}
		s = r.secrets.ReplaceAllStringFunc(s, func(found string) string {
			if strings.HasSuffix(found, gone) || r.ids.MatchString(found) {
				return found
			}
			r.learn(found)
			r.secretsHere++
			return gone
		})
		if r.again != nil {
			if without := r.again.Replace(s); without != s {
				r.secretsHere++
				s = without
			}
		}
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
		s = r.others(s)
	}
	return s
}

// otherPath is an absolute path of at least two names, and what is before it: an address
// has its host there.
const otherPath = `(^|file://|[\s"'` + "`" + `=:;,<>|()\[\]{}&@])((?:/[^/\s"'` + "`" + `:;,<>|()\[\]{}]+){2,}/?|[A-Za-z]:\\+[^\s"'` + "`" + `:;,<>|]+|\\\\+[^\\\s]+\\[^\s"'` + "`" + `:;,<>|]+)`

// others removes the absolute paths outside of the session's and home directories.
// Those of programs, which every machine has, stay.
func (r *redactor) others(s string) string {
	if !strings.ContainsAny(s, `/\`) {
		return s
	}
	var out strings.Builder
	last := 0
	for _, at := range r.elsewhere.FindAllStringSubmatchIndex(s, -1) {
		path := s[at[4]:at[5]]
		if common(path) {
			continue
		}
		out.WriteString(s[last:at[4]] + goneElse)
		last = at[5]
		r.pathsHere++
	}
	return out.String() + s[last:]
}

// common reports whether a path is one that every machine has, or stands for one that
// was removed.
func common(path string) bool {
	top, _, _ := strings.Cut(path[1:], "/")
	return path[0] == '/' && slices.Contains([]string{goneWork[1:], goneElse[1:], "home", "bin", "sbin", "usr", "dev", "proc", "sys"}, top)
}

// pathName reports of a name in JSON whether its value is a path, spaces included.
func pathName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"path", "cwd", "dir", "directory", "file", "root", "workspace", "folder", "filename"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// path redacts the value of a name. A path that it is as a whole goes as a whole.
func (r *redactor) path(name string, v any) any {
	text, ok := v.(string)
	if !ok || !r.Paths || !pathName(name) || !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\r\n") {
		return r.value(v)
	}
	out := r.text(text)
	if common(out) && !strings.HasPrefix(out, goneElse) || out == "/" {
		return out
	}
	if out == text {
		r.pathsHere++
	}
	return goneElse
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

// maxRun bounds the text of one message that is joined, in bytes.
const maxRun = 4 << 20

// message is the text of one message in the pieces that an agent streams, other events
// between them or not.
type message struct {
	seqs []event.Seq
	text strings.Builder
}

// study reads everything before anything is written. It learns the values of secrets,
// and then joins the pieces of each message in which there is something to redact: the
// first piece has the whole text and the others have none, so that the numbers of the
// events stay.
func (r *redactor) study(read func(func(event.Header) error) error) error {
	if err := r.join(read); err != nil {
		return err
	}
	r.useKnown()
	return r.join(read)
}

// join reads everything once.
func (r *redactor) join(read func(func(event.Header) error) error) error {
	learner := *r
	learner.found, learner.joined, learner.contents = Found{}, nil, nil
	r.joined, r.contents = map[event.Seq]string{}, map[event.Seq]json.RawMessage{}
	calls := grownCalls{}
	open := map[string]*message{}
	turn := 0
	settle := func(m *message) {
		whole := m.text.String()
		if learner.text(whole) == whole || len(m.seqs) < 2 {
			return
		}
		for i, seq := range m.seqs {
			if r.joined[seq] = ""; i == 0 {
				r.joined[seq] = whole
			}
		}
	}
	err := read(func(g event.Header) error {
		e, err := g.Event()
		if err != nil {
			return err
		}
		if e.Turn != turn {
			for _, m := range open {
				settle(m)
			}
			clear(open)
			if err := calls.settle(r, &learner); err != nil {
				return err
			}
			turn = e.Turn
		}
		calls.see(e)
		key, _, text := chunkOf(e)
		if key == "" {
			_, err := learner.event(e)
			return err
		}
		m := open[key]
		if m == nil || m.text.Len() > maxRun {
			if m != nil {
				settle(m)
			}
			m = &message{}
			open[key] = m
		}
		m.seqs = append(m.seqs, e.Seq)
		m.text.WriteString(text)
		return nil
	})
	for _, m := range open {
		settle(m)
	}
	return cmp.Or(err, calls.settle(r, &learner))
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

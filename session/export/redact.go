package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/redact"
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

// redactor removes the parts that a redaction names. It also counts it. One
// goroutine uses it.
type redactor struct {
	Redaction
	words    *redact.Redactor
	joined   map[event.Seq]string
	clean    seqs                          // pieces of messages without anything to redact
	contents map[event.Seq]json.RawMessage // of tool calls; nil where another event has it
	outputs  map[event.Seq]json.RawMessage // their raw outputs, in the same way
	found    Found
}

func newRedactor(s Session, parts Redaction) *redactor {
	return &redactor{Redaction: parts, words: redact.New(redact.Parts{Secrets: parts.Secrets, Paths: parts.Paths, Images: parts.Images}, s.Workspace, s.ProjectRoot)}
}

// text redacts a text that is not of an event.
func (r *redactor) text(s string) string { return r.words.Text(s) }

// name redacts the session's name, which may be cut from a prompt.
func (r *redactor) name(s Session) string {
	name, _ := r.words.Excerpt(s.Name).(string)
	return name
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
	_, piece, _ := chunkOf(e)
	if text, ok := r.joined[e.Seq]; ok && piece != "" {
		data[piece] = text
	}
	var kept any
	if r.clean.has(e.Seq) {
		kept = data[piece]
		delete(data, piece)
	}
	if whole, ok := r.contents[e.Seq]; ok {
		delete(data, "content_cut")
		delete(data, "content_added")
		if err := setWhole(data, "content", whole); err != nil {
			return e, fmt.Errorf("event %d: %w", e.Seq, err)
		}
	}
	if whole, ok := r.outputs[e.Seq]; ok {
		delete(data, "output_grown")
		if err := setWhole(data, "raw_output", whole); err != nil {
			return e, fmt.Errorf("event %d: %w", e.Seq, err)
		}
	}
	delete(data, "raw") // it repeats the other fields
	r.words.Count = redact.Count{}
	thought := r.Thoughts && e.Type == event.TypeAgentThought
	output := r.Outputs && r.dropOutput(e.Type, data)
	if thought {
		data["text"] = ""
		delete(data, "content")
	}
	redacted := r.words.Object(data)
	if kept != nil && !thought && !output {
		redacted[piece] = kept
	}
	out, err := json.Marshal(redacted)
	if err != nil {
		return e, err
	}
	e.Data = out
	r.count(e.Seq, thought, output)
	return e, nil
}

// setWhole sets a member, unless another event has its value.
func setWhole(data map[string]any, name string, whole json.RawMessage) error {
	if whole == nil {
		return nil
	}
	var value any
	err := decodeNumbers(whole, &value)
	data[name] = value
	return err
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
	for _, name := range []string{"output_grown", "content_cut", "content_added"} {
		if _, there := data[name]; there {
			said = true
			delete(data, name)
		}
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
	note("secrets", r.words.Count.Secrets, &f.Secrets)
	note("paths", r.words.Count.Paths, &f.Paths)
	note("images", r.words.Count.Images, &f.Images)
	note("thoughts", one[thought], &f.Thoughts)
	note("outputs", one[output], &f.Outputs)
}

// file redacts a file of JSON, or of lines of it. Its texts are cut from those of events.
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
		if err := enc.Encode(r.words.Excerpt(v)); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// maxRun bounds the text of one message that is joined, maxHeld that of all that may go
// on, in bytes.
const (
	maxRun  = 4 << 20
	maxHeld = 32 << 20
)

// message is the text of one message in the pieces that an agent streams, other events
// between them or not.
type message struct {
	terminal bool // it may go on in the next turn
	seqs     []event.Seq
	text     strings.Builder
}

// study reads everything before anything is written. It learns the values of secrets,
// and then joins the pieces of each message in which there is something to redact: the
// first piece has the whole text and the others have none, so that the numbers of the
// events stay. The pieces of other messages stay as they are.
func (r *redactor) study(read func(func(event.Header) error) error) error {
	if err := r.join(read); err != nil {
		return err
	}
	r.words.Search()
	return r.join(read)
}

// join reads everything once.
func (r *redactor) join(read func(func(event.Header) error) error) error {
	learner := *r
	learner.words, learner.found, learner.joined, learner.contents, learner.outputs, learner.clean = r.words.Learner(), Found{}, nil, nil, nil, nil
	r.joined, r.contents, r.outputs, r.clean = map[event.Seq]string{}, map[event.Seq]json.RawMessage{}, map[event.Seq]json.RawMessage{}, nil
	calls := newGrownCalls()
	open := map[string]*message{}
	turn, held := 0, 0
	settle := func(key string, m *message) {
		delete(open, key)
		whole := m.text.String()
		held -= len(whole)
		same := learner.words.Text(whole) == whole
		if len(m.seqs) < 2 {
			return
		}
		for i, seq := range m.seqs {
			if same {
				r.clean.add(seq)
				continue
			}
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
			for key, m := range open {
				if !m.terminal || held > maxHeld { // the output of a terminal goes on
					settle(key, m)
				}
			}
			if err := calls.settle(r, &learner); err != nil {
				return err
			}
			turn = e.Turn
		}
		calls.see(e)
		key, _, text := chunkOf(e)
		if key == "" || bytes.Contains(e.Data, []byte(`"content":`)) { // more than the text
			if _, err := learner.event(e); key == "" || err != nil {
				return err
			}
		}
		m := open[key]
		if m != nil && m.text.Len() > maxRun {
			settle(key, m)
			m = nil
		}
		if m == nil {
			m = &message{terminal: e.Type == event.TypeTerminalOutput}
			open[key] = m
		}
		m.seqs = append(m.seqs, e.Seq)
		m.text.WriteString(text)
		held += len(text)
		return nil
	})
	for key, m := range open {
		settle(key, m)
	}
	return cmp.Or(err, calls.settle(r, &learner))
}

// seqs is a set of seqs, a bit each.
type seqs []uint64

func (s *seqs) add(seq event.Seq) {
	for int(seq/64) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[seq/64] |= 1 << (seq % 64)
}

func (s seqs) has(seq event.Seq) bool { return int(seq/64) < len(s) && s[seq/64]&(1<<(seq%64)) != 0 }

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

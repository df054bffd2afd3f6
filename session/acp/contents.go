package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// contents has the last content and raw output of each unfinished tool call of the turn,
// by the call's id. Some agents resend all output with each update: such an update is
// recorded as the text that it adds. It belongs to the reader.
type contents map[string]callOutput

// mostContents limits how many calls are known. Those of further calls are recorded whole.
const mostContents = 256

const (
	// tailBytes is how much of the end of a text may be another in the next one: the
	// fence behind an output, a last line that is not there each time.
	tailBytes = 512
	// cutFrom is how long a text is at least of which an end is cut.
	cutFrom = 1 << 10
	// mostWhole is how long a value is at most of which an end may be cut: of a longer
	// one, the log has a part.
	mostWhole = 128 << 10
)

// callOutput is what was recorded of a call.
type callOutput struct {
	content, output, meta grownText
	status                event.ToolStatus
}

// grownText identifies a value with a text in it, without holding it.
type grownText struct {
	around [sha256.Size]byte // all bytes but those of the text; zero if there is none
	member string
	head   [sha256.Size]byte // the text without its tail
	tail   string
	length int // of the text
	whole  int // length of the value that was last recorded whole
}

// know notes what was recorded of a call.
func (cs *contents) know(f *fields, t event.ToolCallFields) {
	now, known := (*cs)[t.ToolCallID]
	if t.Status != "" {
		now.status = t.Status
	}
	if now.status.Done() || !known && len(*cs) >= mostContents {
		delete(*cs, t.ToolCallID) // what ends a call is recorded whole
		return
	}
	if t.Content != nil {
		now.content, _ = contentOf(f)
	}
	if t.RawOutput != nil {
		now.output, _ = outputOf(f)
	}
	if t.Raw != nil {
		now.meta, _ = metaOf(f)
	}
	if *cs == nil {
		*cs = contents{}
	}
	(*cs)[t.ToolCallID] = now
}

// grow notes an update of a call. Where its content or its raw output begins with the
// call's former one, it leaves the added text and what else is new in t. exact means that
// the update is all of its line.
func (cs *contents) grow(f *fields, t *event.ToolCallFields, exact bool) {
	before, known := (*cs)[t.ToolCallID]
	whole := *t
	if !known || !exact || t.Status.Done() {
		cs.know(f, whole)
		return
	}
	var left []string
	content, output, metaNow := before.content, before.output, before.meta
	var meta *event.Grown
	if t.Content != nil {
		now, text := contentOf(f)
		if g, ok := before.content.grown(now, text); ok {
			t.Content, t.ContentCut, t.ContentAdded = nil, g.Cut, event.Text(g.Added)
			left, now.whole = append(left, "content"), before.content.whole
		}
		content = now
	}
	if t.RawOutput != nil {
		now, text := outputOf(f)
		if g, ok := before.output.grown(now, text); ok && before.output.whole <= mostWhole && len(g.Added) <= mostWhole {
			t.RawOutput, t.OutputGrown = nil, &g
			left, now.whole = append(left, "rawOutput"), before.output.whole
		}
		output = now
	}
	if t.Raw != nil {
		now, text := metaOf(f)
		if g, ok := before.meta.grown(now, text); ok && before.meta.length >= cutFrom && before.meta.whole <= mostWhole {
			meta, now.whole = &g, before.meta.whole
		}
		metaNow = now
	}
	cs.know(f, whole)
	if now, known := (*cs)[t.ToolCallID]; known {
		now.content, now.output, now.meta = content, output, metaNow
		(*cs)[t.ToolCallID] = now
	}
	if t.Raw != nil && (left != nil || meta != nil) {
		t.Raw = f.without(meta, left...)
	}
	if left == nil {
		return
	}
	if t.Status == before.status {
		t.Status = ""
	}
}

// grown returns what became of a text, if it begins with the former one, but for the end
// of that.
func (before grownText) grown(now grownText, text string) (g event.Grown, ok bool) {
	head := before.length - len(before.tail)
	if before.around == (grownText{}).around || now.around != before.around || now.member != before.member ||
		len(text) < head || sha256.Sum256([]byte(text[:head])) != before.head {
		return g, false
	}
	same := 0
	for rest := text[head:]; same < len(before.tail) && same < len(rest) && before.tail[same] == rest[same]; {
		same++
	}
	for same < len(before.tail) && !utf8.RuneStart(before.tail[same]) {
		same--
	}
	g = event.Grown{Member: now.member, Cut: utf8.RuneCountInString(before.tail[same:]), Added: text[head+same:]}
	return g, g.Cut == 0 || before.length >= cutFrom && before.whole <= mostWhole
}

// of identifies a text in a value.
func (in *objects) of(value []byte, said *member) (g grownText, text string) {
	text, exact := in.textOf(said.value)
	if !exact { // it may end within a character that the next one has whole
		return g, ""
	}
	around := sha256.New()
	around.Write(value[:said.at])
	around.Write([]byte{0})
	around.Write(value[said.at+said.size:])
	around.Sum(g.around[:0])
	return g.ends(text, len(value)), text
}

// ends notes a text, and the length of the value that it is in.
func (g grownText) ends(text string, whole int) grownText {
	head := max(0, len(text)-tailBytes)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	g.head, g.tail = sha256.Sum256([]byte(text[:head])), strings.Clone(text[head:])
	g.length, g.whole = len(text), whole
	return g
}

// contentOf identifies the content in an update by its last text.
func contentOf(f *fields) (g grownText, text string) {
	m := f.taken("content")
	if m == nil || m.value[0] != '[' {
		return g, ""
	}
	var in objects // f's own has moved on to the parts of its line
	in.members = append(in.members, member{})
	last := 0
	for at := in.elements(m.value); at != 0; at = int(in.members[at].next) {
		last = at
	}
	if last == 0 || !in.members[last].apart {
		return g, ""
	}
	block := in.apart(&in.members[last]).inside("content")
	if block == nil {
		return g, ""
	}
	said := block.get("text")
	if said == nil || said.value[0] != '"' {
		return g, ""
	}
	return in.of(m.value, said)
}

// outputOf identifies the raw output in an update by its longest text.
func outputOf(f *fields) (g grownText, text string) {
	m := f.taken("rawOutput")
	if m == nil {
		return g, ""
	}
	var in objects
	if m.value[0] == '"' {
		return in.of(m.value, &member{value: m.value, size: int32(len(m.value))})
	}
	if m.value[0] != '{' {
		return g, ""
	}
	o, err := in.line(m.value)
	if err != nil {
		return g, ""
	}
	var said *member
	for at := o.first; at != 0; at = int(in.members[at].next) {
		if text := &in.members[at]; text.value[0] == '"' && (said == nil || text.size > said.size) {
			said = text
		}
	}
	if said == nil || len(said.name) == 0 {
		return g, ""
	}
	member := string(said.name)
	g, text = in.of(m.value, said)
	g.member = member
	return g, text
}

// metaOf identifies an update's _meta, whose text is its JSON.
func metaOf(f *fields) (g grownText, text string) {
	m := f.taken("_meta")
	if m == nil {
		return g, ""
	}
	g.around[0] = 1 // there is nothing around it
	return g.ends(string(m.value), len(m.value)), string(m.value)
}

// taken is get for a member that may be taken.
func (f *fields) taken(name string) (last *member) {
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		if m := &f.in.members[at]; string(m.name) == name {
			last = m
		}
	}
	return last
}

// without returns the object without some members, and with what became of its _meta, if
// that is not nil.
func (f *fields) without(meta *event.Grown, names ...string) json.RawMessage {
	var b strings.Builder
	separator := "{"
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		if m := &f.in.members[at]; !slices.Contains(names, string(m.name)) {
			b.WriteString(separator)
			b.Write(mustJSON(string(m.name)))
			b.WriteByte(':')
			if string(m.name) == "_meta" && meta != nil {
				b.Write(mustJSON(map[string]*event.Grown{event.MetaGrown: meta}))
			} else {
				b.Write(bytes.TrimSpace(m.value))
			}
			separator = ","
		}
	}
	if separator == "{" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(b.String() + "}")
}

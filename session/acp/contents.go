package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// contents has the last content of each unfinished tool call of the turn, by the call's
// id. Some agents resend all output with each update: such an update is recorded as the
// text that it adds. It belongs to the reader.
type contents map[string]content

// mostContents limits how many calls are known. Those of further calls are recorded whole.
const mostContents = 256

// content identifies a content without holding it.
type content struct {
	around [sha256.Size]byte // all bytes but those of the last text
	text   [sha256.Size]byte // the last text
	length int               // of that text
	status event.ToolStatus
}

// know notes what was recorded of a call.
func (cs *contents) know(f *fields, t event.ToolCallFields) {
	before, known := (*cs)[t.ToolCallID]
	if t.Status == "" {
		t.Status = before.status
	}
	switch {
	case t.Status.Done():
		delete(*cs, t.ToolCallID) // its last content is recorded whole
	case t.Content != nil:
		now, _, ok := contentOf(f)
		if now.status = t.Status; !ok || !known && len(*cs) >= mostContents {
			delete(*cs, t.ToolCallID)
			return
		}
		if *cs == nil {
			*cs = contents{}
		}
		(*cs)[t.ToolCallID] = now
	case known:
		before.status = t.Status
		(*cs)[t.ToolCallID] = before
	}
}

// grow notes an update of a call. If its content begins with the call's former one, it
// leaves the added text and what else is new in t. exact means that the update is all of
// its line.
func (cs *contents) grow(f *fields, t *event.ToolCallFields, exact bool) {
	before, known := (*cs)[t.ToolCallID]
	whole := *t
	defer func() { cs.know(f, whole) }()
	if !known || !exact || t.Status.Done() {
		return
	}
	now, text, ok := contentOf(f)
	if !ok || now.around != before.around || now.length < before.length || sha256.Sum256([]byte(text[:before.length])) != before.text {
		return
	}
	t.Content, t.ContentAdded = nil, event.Text(text[before.length:])
	if t.Status == before.status {
		t.Status = ""
	}
	if t.Raw != nil {
		t.Raw = f.without("content")
	}
}

// contentOf identifies the content in an update. ok is false where it does not end in a
// text.
func contentOf(f *fields) (c content, text string, ok bool) {
	m := f.taken("content")
	if m == nil || m.value[0] != '[' {
		return c, "", false
	}
	var in objects // f's own has moved on to the parts of its line
	in.members = append(in.members, member{})
	last := 0
	for at := in.elements(m.value); at != 0; at = int(in.members[at].next) {
		last = at
	}
	if last == 0 || !in.members[last].apart {
		return c, "", false
	}
	block := in.apart(&in.members[last]).inside("content")
	if block == nil {
		return c, "", false
	}
	said := block.get("text")
	if said == nil || said.value[0] != '"' {
		return c, "", false
	}
	text, exact := in.textOf(said.value)
	if !exact { // it may end within a character that the next content has whole
		return c, "", false
	}
	around := sha256.New()
	around.Write(m.value[:said.at])
	around.Write([]byte{0})
	around.Write(m.value[said.at+said.size:])
	around.Sum(c.around[:0])
	c.text, c.length = sha256.Sum256([]byte(text)), len(text)
	return c, text, true
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

// without returns the object without a member.
func (f *fields) without(name string) json.RawMessage {
	var b strings.Builder
	separator := "{"
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		if m := &f.in.members[at]; string(m.name) != name {
			b.WriteString(separator)
			b.Write(mustJSON(string(m.name)))
			b.WriteByte(':')
			b.Write(bytes.TrimSpace(m.value))
			separator = ","
		}
	}
	if separator == "{" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(b.String() + "}")
}

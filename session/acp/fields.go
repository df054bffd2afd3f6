package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// objectFields parses one object that was not parsed with its line.
func objectFields(text []byte) (*fields, error) { return new(objects).parse(text) }

// fields is one JSON object of the agent, whose members are taken one by one. If
// members are left, or were not understood, the event keeps the agent's own JSON
// besides the fields. The zero value has no members. Fields are valid until the
// next line is read.
type fields struct {
	in    *objects
	first int // of in.members
	// lossy is set if something below a taken member was not understood.
	lossy bool
}

// complete reports whether everything in the object was taken.
func (f *fields) complete() bool { return !f.lossy && f.empty() }

// empty reports whether no member is left.
func (f *fields) empty() bool {
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		if !f.in.members[at].taken {
			return false
		}
	}
	return true
}

// get returns the member of that name, or nil.
func (f *fields) get(name string) *member {
	if f.in == nil {
		return nil
	}
	if at := f.in.find(f.first, name); at != 0 {
		return &f.in.members[at]
	}
	return nil
}

// said is get for a member that is not null.
func (f *fields) said(name string) *member {
	if m := f.get(name); m != nil && m.value[0] != 'n' {
		return m
	}
	return nil
}

// integer takes a whole number. It leaves null, a fraction or another type.
func (f *fields) integer(name string, v *int64) bool {
	m := f.said(name)
	if m == nil {
		return false
	}
	n, err := strconv.ParseInt(string(m.value), 10, 64)
	if err != nil {
		return false
	}
	*v, m.taken = n, true
	return true
}

// count is integer for a field that may be absent.
func (f *fields) count(name string) *int {
	var n int64
	if !f.integer(name, &n) {
		return nil
	}
	count := int(n)
	return &count
}

// number takes a number.
func (f *fields) number(name string, v *float64) bool {
	m := f.said(name)
	if m == nil || m.value[0] != '-' && (m.value[0] < '0' || m.value[0] > '9') {
		return false
	}
	n, err := strconv.ParseFloat(string(m.value), 64)
	if err != nil {
		return false
	}
	*v, m.taken = n, true
	return true
}

// text takes a string. A lone surrogate becomes a replacement character, and the
// object then counts as incomplete.
func (f *fields) text(key string, v *string) bool {
	return f.decode(key, v, (*objects).textOf)
}

// name is text for an id or a kind, which repeats often.
func (f *fields) name(key string, v *string) bool {
	return f.decode(key, v, (*objects).word)
}

func (f *fields) decode(key string, v *string, decode func(*objects, []byte) (string, bool)) bool {
	m := f.get(key)
	if m == nil || m.value[0] != '"' {
		return false
	}
	text, exact := decode(f.in, m.value)
	f.lossy = f.lossy || !exact
	*v, m.taken = text, true
	return true
}

// opt takes a string into a field that events omit when empty. The event cannot
// express an empty string, so it counts as incomplete.
func (f *fields) opt(key string, v *string) {
	if f.name(key, v) && *v == "" {
		f.lossy = true
	}
}

// word takes a string into one of the event package's string types.
func word[T ~string](f *fields, key string, v *T) {
	if m := f.get(key); m == nil || len(m.value) > wordBytes {
		return // not a word of any protocol: it stays in raw
	}
	var s string
	f.opt(key, &s)
	*v = T(s)
}

// Size limits of values shown in one line, or used as a map key. Longer ones stay
// in raw completely.
const (
	labelBytes      = 4 << 10
	identifierBytes = 256
	wordBytes       = 64
	listEntries     = 1000
)

// label takes a string shown in one line. It cuts a longer one.
func (f *fields) label(key string, v *string) bool {
	if !f.text(key, v) {
		return false
	}
	if len(*v) > labelBytes {
		*v = strings.ToValidUTF8((*v)[:labelBytes], "") + "…"
		f.lossy = true
	}
	return true
}

// identifier takes a string that is an id. It replaces a longer one by its hash,
// which is the same each time.
func (f *fields) identifier(key string, v *string) bool {
	if !f.name(key, v) {
		return false
	}
	if len(*v) > identifierBytes {
		*v = fmt.Sprintf("sha256-%x", sha256.Sum256([]byte(*v)))
		f.lossy = true
	}
	return true
}

// raw takes a value unchanged.
func (f *fields) raw(key string, v *json.RawMessage) bool {
	m := f.said(key)
	if m == nil {
		return false
	}
	*v, m.taken = m.value, true
	return true
}

// inside returns the fields of the object under key without taking it. It returns
// nil if there is none.
func (f *fields) inside(key string) *fields {
	m := f.get(key)
	if m == nil || m.value[0] != '{' {
		return nil
	}
	return f.in.apart(m)
}

// object parses and takes the object under key; f is complete only if that is.
func (f *fields) object(key string, read func(*fields)) bool {
	inner := f.inside(key)
	if inner == nil {
		return false
	}
	f.take(key)
	read(inner)
	f.lossy = f.lossy || !inner.complete()
	return true
}

// take marks a member as taken.
func (f *fields) take(key string) {
	if m := f.get(key); m != nil {
		m.taken = true
	}
}

// takeNulls takes the members that are null.
func (f *fields) takeNulls() {
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		if m := &f.in.members[at]; !m.taken && m.value[0] == 'n' {
			m.taken = true
		}
	}
}

// objects parses an array of objects, the first listEntries of them, and reports
// whether it exists.
func (f *fields) objects(key string, read func(*fields)) bool {
	m := f.get(key)
	if m == nil || m.value[0] != '[' {
		return false
	}
	m.taken = true
	n := 0
	for at := f.in.elements(m.value); at != 0; at = int(f.in.members[at].next) {
		if n++; n > listEntries {
			f.lossy = true
			break
		}
		element := &f.in.members[at]
		if !element.apart {
			f.lossy = true
			continue
		}
		inner := f.in.apart(element)
		read(inner)
		f.lossy = f.lossy || !inner.complete()
	}
	return true
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// mustJSON encodes values that cannot fail to encode: structs of strings and
// numbers. The agent's own JSON within keeps its bytes.
func mustJSON(v any) json.RawMessage {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("acp: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(data.Bytes(), []byte("\n"))
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

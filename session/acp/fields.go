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

// objectFields takes one object apart that is not read with its line.
func objectFields(text []byte) (*fields, error) { return new(objects).parse(text) }

// fields is one JSON object of the agent, whose members are taken one by one.
// Members that were not taken, or not understood, are left over: then the event
// keeps the agent's own JSON beside the fields. The zero value has no members.
// Fields may be used until the next line is read.
type fields struct {
	in    *objects
	first int // of in.members
	// lossy is set when something below a taken member was not understood.
	lossy bool
}

// complete reports whether everything the object says was taken.
func (f *fields) complete() bool { return !f.lossy && f.empty() }

// empty reports whether no member is left.
func (f *fields) empty() bool {
	for at := f.first; at != 0; at = f.in.members[at].next {
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

// integer takes a whole number. A null, a fraction or a value of another type
// stays.
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

// text takes a string. A lone surrogate has no UTF-8: the string is taken with
// a replacement character, and the object counts as not understood in full.
func (f *fields) text(key string, v *string) bool {
	return f.decode(key, v, (*objects).textOf)
}

// name is text for an id or a kind, which comes again and again.
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

// opt takes a string into a field that events leave out when it is empty: an
// empty one said something that the event does not.
func (f *fields) opt(key string, v *string) {
	if f.name(key, v) && *v == "" {
		f.lossy = true
	}
}

// word takes a string into one of the event package's string types.
func word[T ~string](f *fields, key string, v *T) {
	if m := f.get(key); m == nil || len(m.value) > wordBytes {
		return // no word of any protocol: it stays in raw
	}
	var s string
	f.opt(key, &s)
	*v = T(s)
}

// Bounds of values that are one line of a screen, or a key of a map: longer ones
// stay in raw, whole.
const (
	labelBytes      = 4 << 10
	identifierBytes = 256
	wordBytes       = 64
	listEntries     = 1000
)

// label takes a string that people read in one glance. A longer one is cut.
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

// identifier takes a string that names something of the agent. A longer one is
// replaced by its hash, which names the same thing every time.
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

// raw takes a value as it is.
func (f *fields) raw(key string, v *json.RawMessage) bool {
	m := f.said(key)
	if m == nil {
		return false
	}
	*v, m.taken = m.value, true
	return true
}

// inside returns the fields of the object under key, which stays. It returns
// nil where there is none.
func (f *fields) inside(key string) *fields {
	m := f.get(key)
	if m == nil || m.value[0] != '{' {
		return nil
	}
	return f.in.apart(m)
}

// object takes the object under key apart; f is complete only if that is.
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

// take takes a member that was read by other means.
func (f *fields) take(key string) {
	if m := f.get(key); m != nil {
		m.taken = true
	}
}

// takeNulls takes the members that are null.
func (f *fields) takeNulls() {
	for at := f.first; at != 0; at = f.in.members[at].next {
		if m := &f.in.members[at]; !m.taken && m.value[0] == 'n' {
			m.taken = true
		}
	}
}

// objects takes an array of objects apart, the first listEntries of them, and
// reports whether it was there.
func (f *fields) objects(key string, read func(*fields)) bool {
	m := f.get(key)
	if m == nil || m.value[0] != '[' {
		return false
	}
	m.taken = true
	n := 0
	for at := f.in.elements(m.value); at != 0; at = f.in.members[at].next {
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
// numbers.
func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("acp: encode %T: %v", v, err))
	}
	return data
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

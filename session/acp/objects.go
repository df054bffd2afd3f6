package acp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// objects parses JSON. It validates each byte once, decodes no value and builds no
// map: a member is a name and a part of the line. Objects under the names of nested
// are parsed in the same pass, others when fields.object asks for them. The zero
// value is ready. It belongs to the reader.
type objects struct {
	scanner
	// members holds the members of all objects of the current line. A member is
	// identified by its index.
	members []member
	// fields holds the fields made from the current line.
	fields   []fields
	template template
	// unquoted is a buffer for a string without its escapes.
	unquoted []byte
	// words caches short strings by their hash, because an agent repeats ids and
	// kinds on each line. They are allocated once.
	words []string
}

// member is one member of an object, or one element of an array. An agent's line is
// shorter than 2 GiB.
type member struct {
	name  []byte // unquoted; nil of an element
	value []byte
	at    int32 // where the value begins in the parsed text
	size  int32 // of the value
	next  int32 // next member of the same object; 0 if none
	inner int32 // first member of the value, if that was parsed; 0 if none
	taken bool
	apart bool
}

// nested reports whether the object under a name is parsed together with its
// parent. These are the names on the path from a line to an agent's text.
func nested(name []byte) bool {
	switch string(name) {
	case "params", "update", "content", "_meta", "terminal_output", "terminal_exit":
		return true
	}
	return false
}

// mostMembers is how much space for members is kept for the next line.
const mostMembers = 1 << 10

var errNoObject = errors.New("not a JSON object")

// line drops the previous line, and validates and parses this one.
func (o *objects) line(text []byte) (*fields, error) {
	clear(o.members) // they point into the line
	o.members = o.members[:0]
	if cap(o.members) > mostMembers {
		o.members = nil
	}
	clear(o.fields)
	o.fields = o.fields[:0]
	if members, ok := o.template.fill(text, o.members); ok {
		o.members = members
		return o.made(o.template.first), nil
	}
	f, err := o.parse(text)
	if err == nil {
		o.template.learn(text, o.members, f.first)
	}
	return f, err
}

// parse validates and parses text, which must be an object. Of members with the same
// name the last counts, and half a surrogate pair is a replacement character, as in
// encoding/json.
func (o *objects) parse(text []byte) (*fields, error) {
	if len(o.members) == 0 {
		o.members = append(o.members, member{}) // 0 is none
	}
	o.scanner = scanner{src: text}
	if o.space() != '{' {
		return nil, errNoObject
	}
	first, err := o.object()
	if err != nil {
		return nil, err
	}
	if o.space(); o.at < len(text) {
		return nil, fmt.Errorf("%d bytes behind the JSON object", len(text)-o.at)
	}
	return o.made(first), nil
}

func (o *objects) made(first int) *fields {
	o.fields = append(o.fields, fields{in: o, first: first})
	return &o.fields[len(o.fields)-1] // it stays there when o.fields is reallocated
}

// object reads an object and returns its first member.
func (o *objects) object() (first int, err error) {
	known := names{in: o}
	last := 0
	empty, err := o.enter('}')
	for more := !empty; more && err == nil; more, err = o.next('}') {
		quoted, err := o.name()
		if err != nil {
			return 0, err
		}
		name := o.unquote(quoted)
		at, err := o.read(name, nested(name))
		if err != nil {
			return 0, err
		}
		if same := known.find(first, name); same != 0 { // the last member of a name counts
			o.members[same].taken = true
		}
		if first == 0 {
			first = at
		} else {
			o.members[last].next = int32(at)
		}
		known.add(first, at)
		last = at
	}
	return first, err
}

// read reads a value and adds it as a member behind its own members. An object is
// parsed if into is set.
func (o *objects) read(name []byte, into bool) (at int, err error) {
	from, inner := o.at, 0
	apart := into && o.at < len(o.src) && o.src[o.at] == '{'
	if apart {
		inner, err = o.object()
	} else {
		err = o.value()
	}
	o.members = append(o.members, member{
		name: name, value: o.src[from:o.at:o.at], at: int32(from), size: int32(o.at - from), inner: int32(inner), apart: apart,
	})
	return len(o.members) - 1, err
}

func (o *objects) unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	name, _ := jsontext.AppendUnquote(nil, quoted) // it was validated; half a surrogate pair is replaced
	return name
}

// elements parses a valid array and the objects in it. It returns the first
// element; 0 if none.
func (o *objects) elements(array []byte) (first int) {
	o.scanner = scanner{src: array}
	last := 0
	empty, err := o.enter(']')
	for more := !empty; more && err == nil; more, err = o.next(']') {
		at, err := o.read(nil, true)
		if err != nil {
			return first
		}
		if first == 0 {
			first = at
		} else {
			o.members[last].next = int32(at)
		}
		last = at
	}
	return first
}

// apart returns the fields of a value that is an object.
func (o *objects) apart(m *member) *fields {
	if m.apart {
		return o.made(int(m.inner))
	}
	f, _ := o.parse(m.value) // it was validated with the line
	return f
}

// fewNames is the number of members up to which an object is searched linearly.
const fewNames = 16

// names finds the member of an object by name while the object is read.
type names struct {
	in    *objects
	n     int
	index map[string]int // of an object with many members
}

// find returns the member of that name; 0 is none. The object begins with first.
func (n *names) find(first int, name []byte) int {
	if n.index != nil {
		return n.index[string(name)]
	}
	return n.in.find(first, string(name))
}

// add adds the last member to the object that begins with first.
func (n *names) add(first, at int) {
	switch n.n++; {
	case n.n < fewNames:
		return
	case n.index == nil:
		n.index = map[string]int{}
		for m := first; m != 0; m = int(n.in.members[m].next) {
			n.index[string(n.in.members[m].name)] = m
		}
	default:
		n.index[string(n.in.members[at].name)] = at
	}
}

// find returns the member of that name that is not taken, of the object that
// begins with first; 0 is none.
func (o *objects) find(first int, name string) int {
	for at := first; at != 0; at = int(o.members[at].next) {
		if m := &o.members[at]; !m.taken && string(m.name) == name {
			return at
		}
	}
	return 0
}

// textOf decodes a JSON string. exact is false if half a surrogate pair was
// replaced.
func (o *objects) textOf(quoted []byte) (text string, exact bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	simple := o.unescape(quoted[1 : len(quoted)-1])
	if !simple {
		o.unquoted, _ = jsontext.AppendUnquote(o.unquoted[:0], quoted)
	}
	text = string(o.unquoted)
	if cap(o.unquoted) > mostUnquoted {
		o.unquoted = nil
	}
	exact = simple || !bytes.Contains(quoted, []byte(`\u`)) || !strings.ContainsRune(text, '\uFFFD') || bytes.Contains(quoted, []byte("\uFFFD"))
	return text, exact
}

// unescape decodes a valid string into unquoted. It returns false for a string with
// a \u escape.
func (o *objects) unescape(said []byte) bool {
	o.unquoted = o.unquoted[:0]
	for {
		at := bytes.IndexByte(said, '\\')
		if at < 0 {
			o.unquoted = append(o.unquoted, said...)
			return true
		}
		char := said[at+1]
		switch char {
		case 'b':
			char = '\b'
		case 'f':
			char = '\f'
		case 'n':
			char = '\n'
		case 'r':
			char = '\r'
		case 't':
			char = '\t'
		case 'u':
			return false
		}
		o.unquoted = append(append(o.unquoted, said[:at]...), char)
		said = said[at+2:]
	}
}

// wordPlaces is how many words are kept at once, and mostUnquoted how much space.
const (
	wordPlaces   = 128
	mostUnquoted = 64 << 10
)

// word is textOf for a string that probably repeats.
func (o *objects) word(quoted []byte) (text string, exact bool) {
	if len(quoted) > wordBytes || bytes.IndexByte(quoted, '\\') >= 0 {
		return o.textOf(quoted)
	}
	said := quoted[1 : len(quoted)-1]
	if len(said) == 0 {
		return "", true
	}
	if o.words == nil {
		o.words = make([]string, wordPlaces)
	}
	// Ids of one kind differ in their last characters.
	place := &o.words[(31*(31*len(said)+int(said[len(said)/2]))+int(said[len(said)-1]))%wordPlaces]
	if *place != string(said) {
		*place = string(said)
	}
	return *place, true
}

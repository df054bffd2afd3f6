package acp

import "bytes"

// template is the last line that was parsed byte by byte. A streaming agent repeats
// the same line with other text: such a line is valid if the template is, and only
// its text must be validated. A template belongs to its objects.
type template struct {
	line    []byte   // a copy
	names   []byte   // of members, one after the other
	members []member // all but their values
	first   int      // of the line's own members
	// from and to delimit the text in line, without its quotes. to is 0 while there
	// is no template.
	from, to int
}

// Limits of a template. Longer lines are rare, and copying one is slow.
const (
	templateBytes   = 4 << 10
	templateMembers = 64
)

// learn makes a template of a line that was just parsed into members. Its own begin
// with first.
func (t *template) learn(line []byte, members []member, first int) {
	t.to = 0
	if len(line) > templateBytes || len(members) > templateMembers {
		return
	}
	for i := len(members) - 1; i > 0; i-- {
		if m := &members[i]; m.value[0] == '"' && (string(m.name) == "text" || string(m.name) == "data") {
			t.from, t.to = int(m.at)+1, int(m.at+m.size)-1
			break
		}
	}
	if t.to == 0 {
		return
	}
	t.first = first
	t.line = append(t.line[:0], line...)
	t.members, t.names = append(t.members[:0], members...), t.names[:0]
	for i := range t.members {
		m := &t.members[i]
		begin := len(t.names)
		t.names = append(t.names, m.name...)
		m.name, m.value = t.names[begin:], nil
	}
}

// fill appends the members of a line that equals the template except for its text,
// and reports whether it does.
func (t *template) fill(line []byte, members []member) ([]member, bool) {
	if t.to == 0 || !bytes.HasPrefix(line, t.line[:t.from]) {
		return members, false
	}
	n := stringEnd(line[t.from:])
	if n < 0 || !bytes.Equal(line[t.from+n:], t.line[t.to:]) {
		return members, false
	}
	longer := t.from + n - t.to
	for _, m := range t.members {
		at, end := int(m.at), int(m.at+m.size)
		if at >= t.to {
			at += longer
		}
		if end > t.to {
			end += longer
		}
		m.at, m.value = int32(at), line[at:end:end]
		members = append(members, m)
	}
	return members, true
}

package acp

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// cuts has the first part of a character that an agent cut between two chunks, by the
// text that the chunks belong to. The character is recorded with the second chunk. It
// belongs to the reader.
type cuts map[chunks][]byte

// chunks identifies a text that comes in chunks.
type chunks struct {
	kind chunkKind
	id   string
}

// mostCuts limits for how many texts a part is kept.
const mostCuts = 64

// text takes a chunk of the text that key identifies. It is fields.text, but for a character
// that is cut.
func (cs *cuts) text(f *fields, name string, key chunks, v *string) bool {
	m := f.get(name)
	if m == nil || m.value[0] != '"' {
		return false
	}
	quoted := m.value
	if before := (*cs)[key]; before != nil {
		quoted = continued(before, quoted)
		delete(*cs, key)
	}
	if at := cutAt(quoted); at > 0 && len(*cs) < mostCuts {
		if *cs == nil {
			*cs = cuts{}
		}
		(*cs)[key] = bytes.Clone(quoted[at : len(quoted)-1])
		quoted = append(bytes.Clone(quoted[:at]), '"')
		f.lossy = true
	}
	text, exact := f.in.textOf(quoted)
	f.lossy = f.lossy || !exact
	*v, m.taken = text, true
	return true
}

// escapeLength is the length of an escape such as \ud83d.
const escapeLength = 6

// unit returns the code unit that the escape at the beginning of s is; 0 for anything
// else.
func unit(s []byte) rune {
	if len(s) < escapeLength || s[0] != '\\' || s[1] != 'u' {
		return 0
	}
	n, _ := strconv.ParseUint(string(s[2:escapeLength]), 16, 16)
	return rune(n)
}

func isHigh(r rune) bool { return 0xD800 <= r && r < 0xDC00 }

// isByte reports whether r stands for a byte that is no UTF-8, see bytesAsEscapes.
func isByte(r rune) bool { return 0xDC80 <= r && r < 0xDD00 }

// cutAt returns where in a quoted text its last character begins, if only a part of
// that is there; 0 otherwise.
func cutAt(quoted []byte) int {
	end := len(quoted) - 1
	var part []byte
	for at := end - escapeLength; at > 0 && len(part) < utf8.UTFMax-1; at -= escapeLength {
		r := unit(quoted[at:end])
		if escaped(quoted, at) || r == 0 {
			break
		}
		if isHigh(r) && len(part) == 0 {
			return at
		}
		if !isByte(r) {
			break
		}
		part = append([]byte{byte(r)}, part...)
		if utf8.RuneStart(part[0]) {
			if utf8.FullRune(part) {
				break
			}
			return at
		}
	}
	return 0
}

// escaped reports whether the backslash at a place is itself escaped.
func escaped(quoted []byte, at int) bool {
	n := 0
	for i := at - 1; i > 0 && quoted[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// continued puts the first part of a character before the text that has the rest.
func continued(before, quoted []byte) []byte {
	joined := append(append([]byte{'"'}, before...), quoted[1:]...)
	if isHigh(unit(before)) {
		return joined
	}
	var part []byte
	for at := 1; at < len(joined) && len(part) < utf8.UTFMax; at += escapeLength {
		r := unit(joined[at:])
		if !isByte(r) {
			break
		}
		part = append(part, byte(r))
		if utf8.Valid(part) {
			return append(append([]byte{'"'}, part...), joined[at+escapeLength:]...)
		}
	}
	return joined
}

// bytesAsEscapes replaces each byte of a line that is no UTF-8 by an escape of half a
// surrogate pair: \udc80 to \udcff. In a text it counts as a replacement character,
// unless it is part of a character that the agent cut. Elsewhere the line is no JSON
// with it, as it was without.
func bytesAsEscapes(line []byte) []byte {
	if utf8.Valid(line) {
		return line
	}
	out := make([]byte, 0, len(line)+4*escapeLength)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if r == utf8.RuneError && n == 1 {
			out = append(append(out, `\udc`...), strconv.FormatUint(uint64(line[0]), 16)...)
		} else {
			out = append(out, line[:n]...)
		}
		line = line[n:]
	}
	return out
}

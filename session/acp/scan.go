package acp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// scanner reads JSON in a text, from at on. It accepts what encoding/json does, if the
// text is valid UTF-8, and decodes nothing. The whole text is in memory, so it is
// several times as fast as a decoder of a stream.
type scanner struct {
	src   []byte
	at    int
	depth int // of the arrays and objects around at
}

// mostDepth limits how deep arrays and objects may be nested, as encoding/json does.
const mostDepth = 10_000

var errDeep = errors.New("arrays and objects are nested too deep")

func (s *scanner) unexpected() error {
	if s.at >= len(s.src) {
		return errors.New("the JSON ends too early")
	}
	return fmt.Errorf("unexpected %q at byte %d", s.src[s.at], s.at)
}

// space skips white space and returns the next byte, or 0 at the end of the text.
func (s *scanner) space() byte {
	for ; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// enter reads the byte that opens an array or object, and reports whether that is
// empty. leave or an error follows.
func (s *scanner) enter(end byte) (empty bool, err error) {
	if s.depth++; s.depth > mostDepth {
		return false, errDeep
	}
	s.at++
	if s.space() != end {
		return false, nil
	}
	s.at++
	s.depth--
	return true, nil
}

// next reads what follows an element: a comma, or the end.
func (s *scanner) next(end byte) (more bool, err error) {
	switch s.space() {
	case ',':
		s.at++
		s.space()
		return true, nil
	case end:
		s.at++
		s.depth--
		return false, nil
	}
	return false, s.unexpected()
}

// name reads the name of a member with its quotes, and the colon.
func (s *scanner) name() ([]byte, error) {
	from := s.at
	if err := s.text(); err != nil {
		return nil, err
	}
	quoted := s.src[from:s.at:s.at]
	if s.space() != ':' {
		return nil, s.unexpected()
	}
	s.at++
	s.space()
	return quoted, nil
}

// value reads a value of any kind.
func (s *scanner) value() error {
	if s.at >= len(s.src) {
		return s.unexpected()
	}
	switch c := s.src[s.at]; c {
	case '"':
		return s.text()
	case '{':
		return s.members()
	case '[':
		return s.elements()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) members() error {
	empty, err := s.enter('}')
	for more := !empty; more && err == nil; {
		if _, err = s.name(); err != nil {
			break
		}
		if err = s.value(); err != nil {
			break
		}
		more, err = s.next('}')
	}
	return err
}

func (s *scanner) elements() error {
	empty, err := s.enter(']')
	for more := !empty; more && err == nil; {
		if err = s.value(); err != nil {
			break
		}
		more, err = s.next(']')
	}
	return err
}

func (s *scanner) literal(word string) error {
	end := s.at + len(word)
	if end > len(s.src) || string(s.src[s.at:end]) != word {
		return s.unexpected()
	}
	s.at = end
	return nil
}

// text reads a string with its quotes.
func (s *scanner) text() error {
	if s.at >= len(s.src) || s.src[s.at] != '"' {
		return s.unexpected()
	}
	n := stringEnd(s.src[s.at+1:])
	if n < 0 {
		return fmt.Errorf("the string at byte %d is invalid", s.at)
	}
	s.at += n + 2
	return nil
}

func (s *scanner) number() error {
	s.accept('-')
	switch {
	case s.accept('0'):
	case s.digits():
	default:
		return s.unexpected()
	}
	if s.accept('.') && !s.digits() {
		return s.unexpected()
	}
	if s.accept('e') || s.accept('E') {
		if !s.accept('+') {
			s.accept('-')
		}
		if !s.digits() {
			return s.unexpected()
		}
	}
	return nil
}

func (s *scanner) accept(c byte) bool {
	if s.at >= len(s.src) || s.src[s.at] != c {
		return false
	}
	s.at++
	return true
}

// digits reads one digit or more.
func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.src) && s.src[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > from
}

// stringEnd returns where a JSON string ends that text begins with, without its
// first quote, or -1 if it is invalid.
func stringEnd(text []byte) int {
	for i := 0; ; {
		i += plain(text[i:])
		switch {
		case i >= len(text):
			return -1
		case text[i] == '"':
			return i
		case text[i] != '\\':
			return -1 // a control character
		case i+1 < len(text) && simpleEscape(text[i+1]):
			i += 2
		case i+5 < len(text) && text[i+1] == 'u' && isHex(text[i+2:i+6]):
			i += 6
		default:
			return -1
		}
	}
}

// plain returns how many bytes text begins with that are neither quote, backslash nor
// control character.
func plain(text []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		v := binary.LittleEndian.Uint64(text[i:])
		quote, back := v^(ones*'"'), v^(ones*'\\')
		// A byte of found is 0x80 if it is one of them. Bytes above the first may be
		// set in error.
		found := ((v - ones*' ') &^ v) | ((quote - ones) &^ quote) | ((back - ones) &^ back)
		if found &= highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

func simpleEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

func isHex(digits []byte) bool {
	for _, c := range digits {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

package redact

import (
	"strings"
	"unicode"
)

// mostJudged bounds how much of a value is looked at, in bytes.
const mostJudged = 256

// kinds counts the characters of a value.
type kinds struct {
	letters, upper, lower, digits, signs, spaces, dots int
	mixed                                              int // capital letters behind small ones
	foreign                                            int // letters of other alphabets
	turns                                              int // changes between letters and digits
}

func kindsOf(value string) (k kinds) {
	value = value[:min(len(value), mostJudged)]
	var before rune
	for _, r := range value {
		letter, digit := unicode.IsLetter(r), r >= '0' && r <= '9'
		switch {
		case letter:
			k.letters++
			if r >= 0x250 {
				k.foreign++
			}
			if unicode.IsUpper(r) {
				k.upper++
				if unicode.IsLower(before) {
					k.mixed++
				}
			} else {
				k.lower++
			}
			if before >= '0' && before <= '9' {
				k.turns++
			}
		case digit:
			k.digits++
			if unicode.IsLetter(before) {
				k.turns++
			}
		case unicode.IsSpace(r):
			k.spaces++
		case r == '.':
			k.dots++
		case strings.ContainsRune("!@#$%^&*+=~|\\/", r):
			k.signs++
		}
		before = r
	}
	return k
}

// words is 1 if the value is one of small letters alone, as words are.
func (k kinds) words() int {
	if k.digits == 0 && k.signs == 0 && k.upper == 0 && k.letters < 16 {
		return 1
	}
	return 0
}

// random reports whether no word of a language looks so.
func (k kinds) random() bool {
	all := k.letters + k.digits + k.signs
	if k.foreign > 0 {
		return false
	}
	return all >= 8 && k.digits > 0 && k.letters > 0 && (k.turns >= 3 || k.turns >= 2 && k.upper > 0 && k.lower > 0 || k.digits >= 3 && k.upper > 1 && k.lower > 1) ||
		all >= 20 && k.mixed*4 >= k.letters
}

package transcript

import "unicode"

// charClass is the class of a rune when tokens are estimated.
type charClass uint8

const (
	classNone charClass = iota
	classLower
	classUpper
	classDigit
	classSpace
	classSign
	classWide // scripts with about a token for each rune
)

func classOf(r rune) charClass {
	switch {
	case r >= 'a' && r <= 'z':
		return classLower
	case r >= 'A' && r <= 'Z':
		return classUpper
	case r >= '0' && r <= '9':
		return classDigit
	case r == ' ' || r == '\n' || r == '\t' || r == '\r':
		return classSpace
	case r < 0x80:
		return classSign
	case r >= 0x1100 && (unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) || unicode.Is(unicode.Hangul, r)):
		return classWide
	case unicode.IsUpper(r):
		return classUpper
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return classLower
	}
	return classWide
}

// tokenCount estimates the tokens of a text as tokenizers of language models cut it:
// words, parts of long words and of names in camel case, up to three digits, runs of
// signs, and white space that is more than one space. The zero value has seen no text.
type tokenCount struct {
	quarters int // of tokens
	class    charClass
	run      int  // runes of the class so far
	newline  bool // the run of white space has a line break
}

// add takes the next rune.
func (c *tokenCount) add(r rune) {
	class := classOf(r)
	if class == classLower && c.class == classUpper && c.run == 1 {
		c.class = classLower // a capital begins a word
	}
	if class != c.class {
		c.class, c.run, c.newline = class, 0, false
	}
	c.run++
	switch class {
	case classLower, classUpper:
		switch {
		case c.run == 1:
			c.quarters += 4
		case class == classUpper && c.run%5 == 0: // capitals are rarely one word
			c.quarters += 4
		case r >= 0x250: // Cyrillic, Greek, Arabic and the like
			c.quarters++
		case c.run%8 == 0:
			c.quarters += 3
		}
	case classDigit:
		if c.run%3 == 1 {
			c.quarters += 4
		}
	case classSign:
		if c.run%3 == 1 {
			c.quarters += 4
		}
	case classSpace:
		if r == '\n' && !c.newline {
			c.newline = true
			c.quarters += 2
		} else if c.run == 2 && !c.newline {
			c.quarters += 4
		}
	case classWide:
		c.quarters += 4
	}
}

func (c *tokenCount) tokens() int { return (c.quarters + 3) / 4 }

// Tokens estimates how many tokens a text has for a language model. Models have
// different tokenizers; for English and code the estimate is within a quarter.
func Tokens(text string) int {
	var c tokenCount
	for _, r := range text {
		c.add(r)
	}
	return c.tokens()
}

// upToTokens is how many bytes of a text have at most that many tokens. It ends at a
// line where there is one in the second half, and never inside a rune.
func upToTokens(text string, limit int) int {
	var c tokenCount
	line := 0
	for at, r := range text {
		if c.add(r); c.tokens() > limit && at > 0 {
			if line > at/2 {
				return line
			}
			return at
		}
		if r == '\n' {
			line = at + 1
		}
	}
	return len(text)
}

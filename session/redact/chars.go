package redact

import (
	"strings"
	"unicode"
)

// Bounds of what belongs to a name, in bytes.
const (
	mostSpace = 64
	mostValue = 4096
	mostGroup = 4096
	// mostColumns bounds the columns of a table that are looked at.
	mostColumns = 64
)

// longestName bounds a name, in bytes.
const longestName = 96

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

func ends(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`<>|", c) >= 0 }

func isWord(c byte) bool { return inName(c) && c != '-' && c < 0x80 }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func skip(t string, i int, chars string, most int) int {
	for n := 0; n < most && i < len(t) && strings.IndexByte(chars, t[i]) >= 0; n++ {
		i++
	}
	return i
}

func identifier(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.$>?!:", r)
	}) < 0
}

// words are the words of a name in lower case, without numbers: dbPassword_2 is db, password.
func words(name string) []string {
	var all []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case unicode.IsDigit(r):
			continue
		case !unicode.IsLetter(r):
			if !unseen(r) {
				end()
			}
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])):
			end()
		}
		word.WriteRune(unicode.ToLower(r))
	}
	end()
	return all
}

// unseen reports of a character whether it has no looks of its own.
func unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0'
}

package auth

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longestName is the most runes of a device's name.
const longestName = 64

// reserved reports names that logs use for the hub, agents, and credentials without
// a name. A browser that asks for one gets its id as its name.
func reserved(name string) bool {
	name = fold(cleanName(name))
	return name == "hub" || name == "agent" ||
		strings.HasPrefix(name, string(KindDevice)+":") || strings.HasPrefix(name, string(KindToken)+":")
}

// fold makes names equal that a person reads as one: those in other widths, styles and
// cases.
func fold(name string) string { return norm.NFKC.String(strings.ToLower(norm.NFKC.String(name))) }

// invisible reports whether Unicode says to draw a character as nothing
// (Default_Ignorable_Code_Point).
func invisible(c rune) bool {
	format := unicode.Is(unicode.Cf, c) && !unicode.Is(unicode.Prepended_Concatenation_Mark, c)
	return format || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// checkName refuses a name that others could take for another one.
func checkName(name string) error {
	if i := strings.IndexFunc(name, invisible); i >= 0 {
		c, _ := utf8.DecodeRuneInString(name[i:])
		return fmt.Errorf("%w: the name %q has the invisible character %U; leave it out", ErrInvalid, name, c)
	}
	if reserved(name) {
		return fmt.Errorf("%w: the name %q is reserved; choose another", ErrInvalid, name)
	}
	return nil
}

// cleanName makes a device's name printable as one line in a list, a log and a
// terminal.
func cleanName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) || invisible(c) {
			return -1
		}
		return c
	}, name)
	return firstRunes(strings.TrimSpace(name), longestName)
}

// freeName returns the name, with a number from 2 on if a device already has it:
// two browsers of one kind give the same name.
func freeName(name string, devices []grantRecord) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(devices, func(g grantRecord) bool { return fold(g.Name) == fold(name) })
	}
	free := name
	for n := 2; name != "" && taken(free); n++ {
		number := fmt.Sprintf(" %d", n)
		free = firstRunes(name, longestName-len(number)) + number
	}
	return free
}

func firstRunes(text string, most int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), most)])
}

package auth

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestName is the most runes of a device's name.
const longestName = 64

// reserved reports names that logs use for the hub, agents, and credentials without
// a name. A browser that asks for one gets its id as its name.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return name == "hub" || name == "agent" ||
		strings.HasPrefix(name, string(KindDevice)+":") || strings.HasPrefix(name, string(KindToken)+":")
}

func reservedError(name string) error {
	return fmt.Errorf("%w: the name %q is reserved; choose another", ErrInvalid, name)
}

// cleanName makes a device's name printable as one line in a list, a log and a
// terminal.
func cleanName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
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
		return slices.ContainsFunc(devices, func(g grantRecord) bool { return g.Name == name })
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

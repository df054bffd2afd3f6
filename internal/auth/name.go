package auth

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reserved reports names by which logs call the hub, agents, and credentials without
// a name. A browser that asks for one goes by its id.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return name == "hub" || name == "agent" ||
		strings.HasPrefix(name, string(KindDevice)+":") || strings.HasPrefix(name, string(KindToken)+":")
}

func reservedError(name string) error {
	return fmt.Errorf("%w: the name %q is reserved; choose another", ErrInvalid, name)
}

// cleanName makes a device's name fit for one line of a list, a log and a terminal.
func cleanName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, name)
	name = strings.TrimSpace(name)
	if runes := []rune(name); len(runes) > 64 {
		name = string(runes[:64])
	}
	return name
}

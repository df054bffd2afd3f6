package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/abidehub/abide/session/event"
)

// PastPrompt begins the ids of the prompts in the past of an adopted session. They never
// waited in a queue.
const PastPrompt = "abide/past-"

// MaxID limits an id that a client chooses, in bytes.
const MaxID = 128

// ownIDs begins the ids that the hub makes, such as PastPrompt.
const ownIDs = "abide/"

// OwnID reports whether only the hub makes such an id.
func OwnID(id string) bool { return strings.HasPrefix(id, ownIDs) }

// CheckID checks an id that a client chooses for what it makes.
func CheckID(what, id string) error {
	switch {
	case id == "" || len(id) > MaxID || !Printable(id):
		return fmt.Errorf("%w: the id of %s has 1 to %d printable bytes", ErrInvalid, what, MaxID)
	case OwnID(id):
		return fmt.Errorf("%w: ids that begin with %s are the hub's own: choose another for %s", ErrInvalid, ownIDs, what)
	}
	return nil
}

// Printable reports whether s is valid UTF-8 of printable runes only.
func Printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// MaxName bounds a session's name, in characters.
const MaxName = 200

// GivenName checks a session's name given by a person, and returns it without the
// blanks around it. An empty name is valid.
func GivenName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > MaxName || name != "" && !Printable(name) {
		return "", fmt.Errorf("%w: a name has at most %d printable characters", ErrInvalid, MaxName)
	}
	if name != "" && strings.IndexFunc(name, seen) < 0 {
		return "", fmt.Errorf("%w: nothing of this name can be seen; use at least one letter, digit or sign", ErrInvalid)
	}
	return name, nil
}

// The limits of a session's tags; maxTag is in characters.
const (
	maxTag  = 40
	maxTags = 20
)

// GivenTags returns the tags that a person gave, trimmed, in NFC, each once. It is nil
// without tags.
func GivenTags(given []string) ([]string, error) {
	var tags []string
	for _, tag := range given {
		tag = norm.NFC.String(strings.TrimSpace(tag))
		if tag == "" || utf8.RuneCountInString(tag) > maxTag || !Printable(tag) || strings.Contains(tag, ",") || strings.IndexFunc(tag, seen) < 0 {
			return nil, fmt.Errorf("%w: a tag has 1 to %d printable characters and no comma", ErrInvalid, maxTag)
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > maxTags {
		return nil, fmt.Errorf("%w: a session has at most %d tags", ErrInvalid, maxTags)
	}
	return tags, nil
}

// SameTag reports whether two tags differ at most in their form of Unicode: an earlier version
// kept tags as they were typed.
func SameTag(a, b string) bool { return a == b || norm.NFC.String(a) == norm.NFC.String(b) }

// seen reports whether a rune is visible by itself. Combining marks are not, nor
// are some blank letters and signs.
func seen(r rune) bool {
	return !unicode.IsMark(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != '\u2800'
}

// maxEndReason bounds the reason of an end, in bytes.
const maxEndReason = 1000

// CheckReason checks the reason of an end.
func CheckReason(reason string) error {
	if len(reason) > maxEndReason || !utf8.ValidString(reason) {
		return fmt.Errorf("%w: a reason has at most %d bytes of text", ErrInvalid, maxEndReason)
	}
	return nil
}

// EndOf returns the event of an end. Without a reason it is "done".
func EndOf(reason string, actor event.Actor) event.SessionEnd {
	return event.SessionEnd{Reason: cmp.Or(reason, "done"), By: actor.Name, ByID: actor.ID}
}

package cli

import (
	"fmt"
	"strings"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// megabytes is the size of a working copy.
func megabytes(c wire.WorkingCopy) string {
	more := ""
	if c.Partly {
		more = "+"
	}
	return sizeWords(c.Bytes) + more
}

// stateOf says what becomes of a copy, in a few words.
func stateOf(c wire.WorkingCopy) string {
	switch {
	case c.Removed:
		return "removed"
	case c.Unfinished:
		return "unfinished"
	case c.Gone:
		return "its folder is gone"
	case c.Unknown != "":
		return plain.Line(c.Unknown)
	}
	var words []string
	if c.Uncommitted > 0 {
		words = append(words, fmt.Sprintf("%d not committed", c.Uncommitted))
	}
	if c.Commits > 0 {
		word := "commits"
		if c.Commits == 1 {
			word = "commit"
		}
		words = append(words, fmt.Sprintf("%d %s of its own", c.Commits, word))
	}
	if len(words) == 0 {
		return "nothing of its own"
	}
	return strings.Join(words, ", ")
}

func usersOf(c wire.WorkingCopy) string {
	if len(c.Sessions) == 0 {
		return "no session"
	}
	var names []string
	for _, u := range c.Sessions {
		name := plain.Line(u.SessionID)
		if u.Trashed {
			name += " (in the trash)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

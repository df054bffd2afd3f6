package cli

import (
	"fmt"
	"strings"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// branchFlags are those of the acts on a branch.
type branchFlags struct {
	message, method string
	yes             bool
}

// branchActs are the acts that take no files.
func branchActs() []string { return []string{"update", "merge", "push", "pull-request", "discard"} }

// acted says what an act did.
func acted(done wire.BranchAct) string {
	line := fmt.Sprintf("%.9s on %s", done.After, plain.Line(done.Branch))
	if done.Remote != "" {
		line += " of " + plain.Line(done.Remote)
	}
	return line
}

// standing is a line about a session's branch.
func standing(b wire.Branch) string {
	line := "branch " + b.Branch
	if b.Branch == "" {
		line = fmt.Sprintf("no branch, commit %.12s", b.Commit)
	}
	if b.Unknown != "" {
		return line + "; changes are unknown: " + b.Unknown
	}
	base := b.Base
	if base == "" {
		base = fmt.Sprintf("%.12s", b.BaseCommit)
	}
	switch {
	case b.Merged && b.Behind > 0:
		line += fmt.Sprintf(": merged into %s, which has %d more", base, b.Behind)
	case b.Merged:
		line += ": merged into " + base
	case b.Compared:
		line += fmt.Sprintf(": %d ahead of %s, %d behind", b.Ahead, base, b.Behind)
	}
	line += fmt.Sprintf("; %d not committed", b.Uncommitted)
	if b.Push != nil && b.Push.Pushed {
		line += "; pushed to " + b.Push.Remote
	} else if b.Push != nil {
		line += "; not pushed to " + b.Push.Remote
	}
	if b.Signing != "" {
		line += "; commits made here are " + b.Signing
	}
	if len(b.Conflicts) > 0 {
		line += "; conflicts with " + base + ": " + strings.Join(b.Conflicts, ", ")
		if b.ConflictsLeftOut > 0 {
			line += fmt.Sprintf(" and %d more", b.ConflictsLeftOut)
		}
	} else if b.ConflictsUnknown != "" {
		line += "; conflicts are unknown: " + b.ConflictsUnknown
	}
	return line
}

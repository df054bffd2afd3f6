package resume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// ChangedShown limits the changed files that a Workspace lists.
const ChangedShown = 50

// Workspace is the state of a session's folder.
type Workspace struct {
	// Missing says that the folder does not exist.
	Missing bool
	// Repository means that the folder is in a git repository. Branch and Commit
	// may be empty.
	Repository     bool
	Branch, Commit string
	// Folder is the folder's device and inode. Root is the repository's first
	// commit and Remote its remote; both are empty if git does not report them.
	Folder, Root, Remote string
	// Changed lists changed files as `git status --porcelain` prints them, at most
	// ChangedShown. More counts the others.
	Changed []string
	More    int
	// DiffStat is the summary of `git diff --stat`.
	DiffStat string
	// Unknown says why git failed; empty if it did not.
	Unknown string
}

// Mismatch lists what a resume must confirm: "workspace" if the folder is missing or
// another one, "repository", or "branch". Unknown values are not compared.
func Mismatch(seen *event.WorkspaceSeen, w Workspace) []string {
	switch {
	case w.Missing:
		return []string{"workspace"}
	case seen == nil || seen.Folder == "" || w.Folder == "":
		return nil
	case seen.Repository != w.Repository, differ(seen.Root, w.Root), seen.Root == "" && differ(seen.Remote, w.Remote):
		return []string{"repository"}
	case !w.Repository && seen.Folder != w.Folder:
		return []string{"workspace"}
	case w.Repository && seen.Branch != w.Branch:
		return []string{"branch"}
	}
	return nil
}

func differ(was, is string) bool { return was != "" && is != "" && was != is }

// writeSince describes the changes in the workspace since it was last inspected.
func writeSince(b *strings.Builder, seen *event.WorkspaceSeen, w Workspace) {
	if seen == nil || w.Missing {
		return
	}
	var lines []string
	if names := Mismatch(seen, w); slices.Contains(names, "repository") || slices.Contains(names, "workspace") {
		lines = append(lines, "It is another "+names[0]+" than before.")
	}
	if seen.Branch != w.Branch {
		lines = append(lines, fmt.Sprintf("The branch was %s.", cmp.Or(seen.Branch, "none")))
	}
	if seen.Commit != w.Commit {
		lines = append(lines, fmt.Sprintf("HEAD was %s.", cmp.Or(seen.Commit, "no commit yet")))
	}
	switch {
	case w.Unknown != "":
	case w.More+seen.More > 0:
		if was, is := len(seen.Changed)+seen.More, len(w.Changed)+w.More; was != is {
			lines = append(lines, fmt.Sprintf("%d files were changed, and %d are now.", was, is))
		}
	default:
		lines = append(lines, changedWords("Changed since:", w.Changed, seen.Changed)...)
		lines = append(lines, changedWords("No longer changed:", seen.Changed, w.Changed)...)
	}
	if len(lines) == 0 {
		return
	}
	b.WriteString("Since your last tool call ended:\n- " + strings.Join(lines, "\n- ") + "\n\n")
}

// changedWords lists the files of one list that are not in the other.
func changedWords(head string, of, other []string) []string {
	var names []string
	for _, name := range of {
		if !slices.Contains(other, name) {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{head + " " + strings.Join(names, ", ")}
}

func (w Workspace) Seen() event.WorkspaceSeen {
	return event.WorkspaceSeen{
		Folder: w.Folder, Root: w.Root, Remote: w.Remote, Branch: w.Branch, Commit: w.Commit,
		Repository: w.Repository, Changed: w.Changed, More: w.More,
	}
}

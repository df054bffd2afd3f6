package session

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// seenInterval limits how often a workspace is inspected while tools end in quick
// succession.
const seenInterval = 5 * time.Second

// workspaceWatch records the state of the workspace when a turn begins and after
// its tools end, so that the resume of an interrupted turn can compare it.
type workspaceWatch struct {
	due, busy bool
	at        time.Time
	last      event.WorkspaceSeen
}

// workspaceWatcher performs the inspections of a workspaceWatch.
type workspaceWatcher struct {
	*foldedLog
	turn    *turnRun
	helpers *helpers
}

// watch inspects the workspace when that is due. Git runs in a helper goroutine,
// and nothing waits for it.
func (w *workspaceWatcher) watch(now time.Time) {
	s := &w.turn.seen
	if !s.due || s.busy || w.hub.inspect == nil || w.fold.Recorder.Open {
		return
	}
	if next := s.at.Add(seenInterval); now.Before(next) {
		w.wake(next)
		return
	}
	s.due, s.busy, s.at = false, true, now
	folder, promptID := w.workspace, w.fold.PromptID
	w.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), workspaceBound)
		defer cancel()
		seen := w.hub.inspect(ctx, folder, false).seen()
		w.helpers.post(func() {
			if w.fold.Open && w.fold.PromptID == promptID {
				w.saw(seen)
			}
		})
	})
}

// saw records changes of the workspace. If it cannot be written now, it is retried.
func (w *workspaceWatcher) saw(seen event.WorkspaceSeen) {
	s := &w.turn.seen
	s.busy = false
	if reflect.DeepEqual(seen, s.last) {
		return
	}
	if _, err := w.write(w.entries(seen)...); err != nil {
		s.due = true
		return
	}
	s.last = seen
}

func (w Workspace) seen() event.WorkspaceSeen {
	return event.WorkspaceSeen{
		Folder: w.Folder, Root: w.Root, Remote: w.Remote, Branch: w.Branch, Commit: w.Commit,
		Repository: w.Repository, Changed: w.Changed, More: w.More,
	}
}

// mismatch lists the differences. Unknown values are not compared.
func mismatch(seen *event.WorkspaceSeen, w Workspace) []string {
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
	if names := mismatch(seen, w); slices.Contains(names, "repository") || slices.Contains(names, "workspace") {
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

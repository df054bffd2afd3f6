package jobs

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// placeIn is what a job without a working copy of its own has for itself while it runs: the
// checkout of the folder, because all of it is on one branch, or else the folder. It is the
// same by whatever links the folder is named.
func placeIn(folder string) string {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if r, err := gitstate.Find(folder); err == nil {
		return r.Worktree
	}
	return filepath.Clean(folder)
}

// lockHere is the lock of a job that starts in a folder itself; nil if it is in no
// repository, or in one whose files do not say the branch.
func lockHere(folder string) *event.JobLock {
	r, err := gitstate.Find(placeIn(folder))
	if err != nil {
		return nil
	}
	head, err := r.Head()
	if err != nil || head == (gitstate.Head{}) {
		return nil
	}
	return &event.JobLock{Repository: r.Worktree, Branch: head.Branch, Commit: head.Commit}
}

// lockOf is where a job works; nil if that is not known.
func lockOf(copied *event.Worktree, job session.JobState) *event.JobLock {
	if copied == nil || copied.Branch == "" {
		return job.Lock
	}
	return &event.JobLock{Repository: copied.Folder, Branch: copied.Branch, Commit: copied.Commit}
}

// astray says that a checkout is not on the branch of a lock any more; empty if it is, or if
// its files do not say the branch.
func astray(l *event.JobLock) string {
	r, err := gitstate.Find(l.Repository)
	if err != nil || r.Worktree != filepath.Clean(l.Repository) {
		return fmt.Sprintf("There is no checkout in %s any more, where this job works on %s: bring it back, then retry the job.", l.Repository, named(l.Branch))
	}
	head, err := r.Head()
	if err != nil || head == (gitstate.Head{}) || cmp.Or(head.Branch, r.Rebasing()) == l.Branch {
		return ""
	}
	back := "git switch " + l.Branch
	if l.Branch == "" {
		back = "git switch --detach " + l.Commit
	}
	return fmt.Sprintf("%s is on %s now, and this job works on %s: go back (%s), then retry the job.", l.Repository, named(head.Branch), named(l.Branch), back)
}

// named is a branch for a person.
func named(branch string) string {
	if branch == "" {
		return "no branch"
	}
	return "the branch " + branch
}

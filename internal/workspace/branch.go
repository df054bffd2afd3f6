package workspace

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/forge"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/server/wire"
)

const (
	// branchEvery is how long the state of a branch is good for each run of git that it
	// took.
	branchEvery = 3 * time.Second
	// branchKept is how long it is kept, and mostBranches how many are.
	branchKept   = 10 * time.Minute
	mostBranches = 1000
	// mostConflicts bounds the files that are listed.
	mostConflicts = 100
)

// branches keeps what was found about the branches of folders.
type branches struct {
	mu sync.Mutex
	of map[string]*branch
}

// branch is what was found about one. Only the holder of turn looks.
type branch struct {
	turn chan struct{}

	at        time.Time // of the last look, or of its use
	runs      int       // of git, in the last look
	found     wire.Branch
	merged    [2]string // the commits of which conflicts are known
	conflicts []string
	unknown   string
}

func newBranches() *branches { return &branches{of: map[string]*branch{}} }

// in returns the branch of a folder, and forgets those of long ago.
func (b *branches) in(folder string, now time.Time) *branch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.of[folder]; found != nil {
		return found
	}
	for name, other := range b.of {
		select {
		case other.turn <- struct{}{}: // it is not being looked at
			if old := now.Sub(other.at) > branchKept; old || len(b.of) >= mostBranches {
				delete(b.of, name)
			}
			<-other.turn
		default:
		}
	}
	made := &branch{turn: make(chan struct{}, 1)}
	b.of[folder] = made
	return made
}

// Branch is the state of the branch of a folder's repository beside its base: the named
// one, else the commit from where it began, else the branch that origin names, main or
// master. Git runs at most once in three
// seconds for a folder, so what is answered may be older; CheckedAt says of when it is.
func (f *Files) Branch(ctx context.Context, folder, named, from string) (wire.Branch, error) {
	b := f.branches.in(folder, time.Now())
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return wire.Branch{}, ctx.Err()
	}
	if time.Since(b.at) < time.Duration(b.runs)*branchEvery {
		return b.found, nil
	}
	repository, err := gitstate.Find(folder)
	if errors.Is(err, gitstate.ErrNone) {
		return wire.Branch{Conflicts: []string{}}, nil
	}
	b.found, b.at, b.runs = wire.Branch{Repository: true, Conflicts: []string{}, CheckedAt: time.Now().UTC()}, time.Now(), 0
	if err == nil {
		err = f.look(ctx, repository, b, named, from)
	}
	switch {
	case err == nil:
	case errors.Is(err, gitstate.ErrRefused):
		b.found.Unknown = "the repository cannot be read"
	case f.git == nil:
		b.found.Unknown = "git is not installed"
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		b.found.Unknown = "git took too long"
	default:
		b.found.Unknown = "git failed"
	}
	return b.found, nil
}

// LookAgain makes the next Branch ask git, because something was done there.
func (f *Files) LookAgain(folder string) {
	b := f.branches.in(folder, time.Now())
	b.turn <- struct{}{}
	b.at = time.Time{}
	<-b.turn
}

// look fills in what is found now.
func (f *Files) look(ctx context.Context, r *gitstate.Repository, b *branch, named, from string) error {
	head, err := r.Head()
	if err != nil {
		return err
	}
	found := &b.found
	found.Branch, found.Commit = head.Branch, head.Commit
	if f.git == nil {
		return gitstate.ErrUnavailable
	}
	var base gitstate.Base
	if named != "" || from == "" {
		if base, err = r.BaseOf(head.Branch, named); err != nil {
			return err
		}
	}
	if base.Commit == "" {
		base.Commit = from
	}
	found.Base, found.BaseCommit = base.Branch, base.Commit
	found.Remote = f.git.Remote(ctx, r)
	if signs, err := f.git.Signs(ctx, r); err == nil && signs {
		found.Signing = "unsigned"
	}
	if to, err := f.git.Upstream(ctx, r); err == nil && to.Branch != "" && to.Remote != "" {
		found.Push = &wire.BranchPush{Remote: to.Remote, Pushed: to.Pushed == to.Commit, Command: to.Command(r.Worktree)}
	}
	found.Web, found.NewPullRequest = forge.Web(found.Remote), newPullRequest(found.Remote, head.Branch)
	b.runs++
	standing, err := f.git.Compare(ctx, r, base)
	if err != nil {
		return err
	}
	found.Branch, found.Commit = standing.Branch, standing.Commit
	found.Uncommitted, found.Compared, found.Ahead, found.Behind = standing.Uncommitted, standing.Compared, standing.Ahead, standing.Behind
	if !standing.Compared {
		return nil
	}
	f.lookForConflicts(ctx, r, b, [2]string{standing.Commit, base.Commit})
	found.Conflicts, found.ConflictsUnknown = append(found.Conflicts, b.conflicts[:min(len(b.conflicts), mostConflicts)]...), b.unknown
	found.ConflictsLeftOut = len(b.conflicts) - len(found.Conflicts)
	return nil
}

// lookForConflicts merges the commits if they are others than the last time.
func (f *Files) lookForConflicts(ctx context.Context, r *gitstate.Repository, b *branch, both [2]string) {
	if b.found.Ahead == 0 || b.found.Behind == 0 { // one holds the other
		b.merged, b.conflicts, b.unknown = [2]string{}, nil, ""
		return
	}
	if b.merged == both {
		return
	}
	b.runs++
	conflicts, err := f.git.Conflicts(ctx, r, both[0], both[1])
	b.merged, b.conflicts, b.unknown = both, conflicts, ""
	switch {
	case errors.Is(err, gitstate.ErrUnavailable):
		b.unknown = "git 2.38 or newer is needed"
	case err != nil:
		b.merged, b.unknown = [2]string{}, "git did not say"
	}
}

package workspace

import (
	"context"
	"errors"
	"slices"
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
	of map[compared]*branch
}

// compared is a folder's branch beside a base, as Branch takes them.
type compared struct{ folder, named, from string }

// Merge is a merge of a branch into its base that was made here.
type Merge struct {
	// Base is the branch that it was merged into, and After where that was then.
	Base, After string
	// Tip is the commit that was merged.
	Tip string
}

// branch is what was found about one. Only the holder of turn looks.
type branch struct {
	turn chan struct{}

	at       time.Time // of the last look, or of its use
	runs     int       // of git, in the last look
	found    wire.Branch
	foreseen [2]string // the commits of which the outcome of a merge is known
	outcome  gitstate.Outcome
	unknown  string
}

func newBranches() *branches { return &branches{of: map[compared]*branch{}} }

// in returns a branch beside its base, and forgets those of long ago.
func (b *branches) in(what compared, now time.Time) *branch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.of[what]; found != nil {
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
	b.of[what] = made
	return made
}

// ofFolder are the branches of a folder beside each base.
func (b *branches) ofFolder(folder string) []*branch {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*branch
	for what, found := range b.of {
		if what.folder == folder {
			all = append(all, found)
		}
	}
	return all
}

// Branch is the state of the branch of a folder's repository beside its base: the named
// one, else the commit from where it began, else the branch that origin names, main or
// master. Git runs at most once in three seconds for a folder and base, so what is answered may
// be older; CheckedAt says of when it is. merges are those that the session made: a squash is
// one also when the base has changed the same lines since.
func (f *Files) Branch(ctx context.Context, folder, named, from string, merges ...Merge) (wire.Branch, error) {
	b := f.branches.in(compared{folder, named, from}, time.Now())
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
		err = f.look(ctx, repository, b, named, from, merges)
	}
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		b.at = time.Time{} // who asked has gone; that is no answer for others
		return wire.Branch{}, ctx.Err()
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
	for _, b := range f.branches.ofFolder(folder) {
		b.turn <- struct{}{}
		b.at = time.Time{}
		<-b.turn
	}
}

// look fills in what is found now.
func (f *Files) look(ctx context.Context, r *gitstate.Repository, b *branch, named, from string, merges []Merge) error {
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
	made := slices.IndexFunc(merges, func(m Merge) bool { return m.Base == base.Branch && m.Tip == standing.Commit })
	if standing.Ahead == 0 || standing.Behind == 0 { // one holds the other
		b.foreseen = [2]string{}
		found.Merged = standing.Ahead == 0 && made >= 0
		return nil
	}
	after := ""
	if made >= 0 {
		after = merges[made].After
	}
	f.foresee(ctx, r, b, [2]string{standing.Commit, base.Commit}, after)
	found.Merged, found.ConflictsUnknown = b.outcome.Nothing, b.unknown
	found.Conflicts = append(found.Conflicts, b.outcome.Conflicts[:min(len(b.outcome.Conflicts), mostConflicts)]...)
	found.ConflictsLeftOut = len(b.outcome.Conflicts) - len(found.Conflicts)
	return nil
}

// foresee merges a branch and its base if they are others than the last time. They have
// nothing to merge, either, if the base still has what an earlier merge of the branch made;
// after is that, or empty.
func (f *Files) foresee(ctx context.Context, r *gitstate.Repository, b *branch, both [2]string, after string) {
	if b.foreseen == both {
		return
	}
	b.runs++
	outcome, err := f.git.Foresee(ctx, r, both[0], both[1])
	if err == nil && len(outcome.Conflicts) > 0 && after != "" {
		b.runs++
		var holds bool
		if holds, err = f.git.Holds(ctx, r, both[1], after); holds {
			outcome = gitstate.Outcome{Nothing: true}
		}
	}
	b.foreseen, b.outcome, b.unknown = both, outcome, ""
	switch {
	case errors.Is(err, gitstate.ErrUnavailable):
		b.unknown = "git 2.38 or newer is needed"
	case err != nil:
		b.foreseen, b.unknown = [2]string{}, "git did not say"
	}
}

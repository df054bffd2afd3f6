package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Base is the branch or commit that a branch is compared with.
type Base struct {
	// Branch is its name; empty if it is a commit.
	Branch string
	Commit string
}

// BaseOf finds the base of a branch: the named one, else the branch that the remote origin
// names as its own, else main or master. It is empty if there is none, or if it is the
// branch itself. A branch that is here no longer is taken from origin.
func (r *Repository) BaseOf(branch, named string) (Base, error) {
	names := []string{named}
	if named == "" {
		names = []string{"main", "master"}
		if at, err := readRef(r.common, "refs/remotes/origin/HEAD"); err == nil {
			if name, ok := strings.CutPrefix(at, "ref: refs/remotes/origin/"); ok {
				names = []string{name}
			}
		}
	}
	for _, name := range names {
		if name == branch || !IsBranchName(name) {
			continue
		}
		for _, below := range []string{"refs/heads/", "refs/remotes/origin/"} {
			commit, err := r.resolve(below + name)
			if err != nil {
				return Base{}, err
			}
			if commit != "" {
				return Base{name, commit}, nil
			}
		}
	}
	return Base{}, nil
}

// Standing is where a worktree stands beside its base.
type Standing struct {
	Head
	// Ahead and Behind count commits; Compared is false if git does not say them.
	Ahead, Behind int
	Compared      bool
	// Uncommitted counts files that differ from the commit. An untracked folder is one.
	Uncommitted int
	// Names are the first of them.
	Names []string
}

// mostNames bounds Names of a Standing.
const mostNames = 20

// Compare counts the commits between HEAD and a base, and the files that are not committed.
// It takes one run of git.
func (g *Git) Compare(ctx context.Context, r *Repository, base Base) (Standing, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return Standing{}, err
	}
	defer s.remove()
	standing := Standing{Head: g.headOf(ctx, s)}
	if base.Commit != "" && standing.Commit != "" {
		if err := s.track(standing.Commit, base.Commit); err != nil {
			return Standing{}, fmt.Errorf("make a folder for git: %w", err)
		}
	}
	out, err := g.output(ctx, s.command(r.Worktree, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--no-renames"))
	if err != nil {
		return Standing{}, err
	}
	for line := range bytes.SplitSeq(out, []byte{0}) {
		if counts, ok := bytes.CutPrefix(line, []byte("# branch.ab ")); ok {
			_, err := fmt.Sscanf(string(counts), "+%d -%d", &standing.Ahead, &standing.Behind)
			standing.Compared = err == nil
		} else if len(line) > 2 && bytes.IndexByte([]byte("12u?"), line[0]) >= 0 {
			if standing.Uncommitted++; standing.Uncommitted <= mostNames {
				standing.Names = append(standing.Names, pathIn(string(line)))
			}
		}
	}
	return standing, nil
}

// pathIn is the path of an entry of `git status --porcelain=v2`.
func pathIn(entry string) string {
	fields := map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1}[entry[0]]
	parts := strings.SplitN(entry, " ", fields+1)
	return parts[len(parts)-1]
}

// track makes git compare HEAD with a base, as with the branch that it tracks.
func (s *standIn) track(head, base string) error {
	heads := filepath.Join(s.dir, "refs", "heads")
	err := os.Mkdir(heads, 0o700)
	for name, text := range map[string]string{
		filepath.Join(heads, "here"): head + "\n", filepath.Join(heads, "base"): base + "\n", filepath.Join(s.dir, "HEAD"): "ref: refs/heads/here\n",
		filepath.Join(s.dir, "config"): s.text() + "[branch \"here\"]\n\tremote = .\n\tmerge = refs/heads/base\n",
	} {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600))
	}
	return err
}

// Outcome is what a merge of two commits would make.
type Outcome struct {
	// Conflicts are the files that conflict, in git's order.
	Conflicts []string
	// Nothing means that it would change nothing of theirs, which has all changes of ours: they
	// were squashed into it, or made there, too.
	Nothing bool
}

// Foresee merges two commits without a trace: what the merge makes is written beside the
// repository and removed. It takes two runs of git at most, 2.38 or newer, else the error is
// ErrUnavailable.
func (g *Git) Foresee(ctx context.Context, r *Repository, ours, theirs string) (Outcome, error) {
	if !isCommit(ours) || !isCommit(theirs) {
		return Outcome{}, fmt.Errorf("merge %q and %q: no commits", ours, theirs)
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	defer s.remove()
	c := s.command(r.Worktree, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories", ours, theirs)
	c.env = append(c.env, "GIT_OBJECT_DIRECTORY="+filepath.Join(s.dir, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(r.common, "objects"))
	out := &bounded{most: mostOutput, full: func() {}}
	err = g.run(ctx, c, out)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == 129: // it does not know the options
		return Outcome{}, fmt.Errorf("%w: 2.38 is needed to know conflicts beforehand", ErrUnavailable)
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return Outcome{}, err
	}
	tree, names, ok := bytes.Cut(out.kept.Bytes(), []byte{0})
	if !ok || !isCommit(string(tree)) {
		return Outcome{}, fmt.Errorf("merge %.12s and %.12s: %w", ours, theirs, fs.ErrInvalid)
	}
	if err == nil {
		has, err := g.output(ctx, s.command(r.Worktree, "rev-parse", "--verify", theirs+"^{tree}"))
		return Outcome{Nothing: strings.TrimSpace(string(has)) == string(tree)}, err
	}
	var found Outcome
	for name := range bytes.SplitSeq(names, []byte{0}) {
		if len(name) > 0 {
			found.Conflicts = append(found.Conflicts, string(name))
		}
	}
	return found, nil
}

// Remote returns where the repository comes from, without user and password; empty if git
// does not say.
func (g *Git) Remote(ctx context.Context, r *Repository) string {
	if g == nil {
		return ""
	}
	own, err := g.configuration(ctx, r)
	if err != nil {
		return ""
	}
	return (&standIn{own: own}).remote()
}

// Holds reports whether a commit has another one in its history.
func (g *Git) Holds(ctx context.Context, r *Repository, commit, other string) (bool, error) {
	if !isCommit(commit) || !isCommit(other) {
		return false, fmt.Errorf("is %q in %q: no commits", other, commit)
	}
	_, err := g.Run(ctx, r, r.Worktree, "merge-base", "--is-ancestor", other, commit)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

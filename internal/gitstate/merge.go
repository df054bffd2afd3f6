package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// mostRebased bounds the commits that one rebase makes again.
const mostRebased = 500

// Join is how a branch gets the commits of another one.
type Join struct {
	// Into is the branch that moves; empty is the one that is checked out in the worktree.
	Into string
	// From is the name of what it gets, and Commit where that is.
	From, Commit string
	// Method is merge, squash, ff or rebase.
	Method string
	// Forward lets a merge move the branch on where no commit is needed.
	Forward bool
	// Message is the one of a commit that is made; empty takes one as git's.
	Message string
	// Sign has the commits signed that are made; nil makes them without a signature.
	Sign *Signing
	// Begun is called once all is known and nothing that a person sees has changed. Its
	// error ends it.
	Begun func(Move) error
}

// Join merges a commit into a branch, or rebases the branch on it. Commits are made of
// objects. If the branch is checked out in a worktree, its files follow, written by the hub
// where they are as the commit has them; *InTheWay names others, and nothing was changed.
// *Conflict names the files that conflict.
//
// A kill leaves files of the new commit in the worktree, at most. The same again goes on.
func (g *Git) Join(ctx context.Context, r *Repository, j Join) (Move, error) {
	r, out, err := g.worktreeOf(r, j.Into)
	if err != nil {
		return Move{}, fmt.Errorf("%s: %w", j.Method, err)
	}
	m, err := g.openMove(ctx, r)
	if err != nil {
		return Move{}, fmt.Errorf("%s: %w", j.Method, err)
	}
	m.sign = j.Sign
	made, err := m.join(ctx, j, out)
	if err = errors.Join(err, m.close()); err != nil {
		return made, fmt.Errorf("%s: %w", j.Method, err)
	}
	return made, nil
}

// worktreeOf is the repository as the worktree sees it in which a branch is checked out,
// and whether there is one.
func (g *Git) worktreeOf(r *Repository, branch string) (*Repository, bool, error) {
	if branch == "" {
		return r, true, nil
	}
	folders, err := r.CheckedOut(branch)
	if err != nil || len(folders) == 0 {
		return r, false, err
	}
	if len(folders) > 1 {
		return nil, false, fmt.Errorf("%w: %s is checked out more than once: %s", ErrOpen, branch, strings.Join(folders, ", "))
	}
	at, err := open(folders[0])
	if err == nil && at.common != r.common {
		err = ErrRefused
	}
	if errors.Is(err, ErrNone) { // its folder is gone
		return r, false, nil
	}
	return at, true, err
}

func (m *moving) join(ctx context.Context, j Join, checkedOut bool) (Move, error) {
	if checkedOut {
		if err := m.holdWorktree(ctx); err != nil {
			return Move{}, err
		}
		if j.Into != "" && m.branch != j.Into {
			return Move{}, fmt.Errorf("another branch than %s is checked out: %w", j.Into, ErrMoved)
		}
	} else {
		at, err := m.s.repository.Branch(j.Into)
		if err != nil {
			return Move{}, err
		}
		m.branch, m.at = j.Into, at
	}
	if m.at == "" || !isCommit(j.Commit) {
		return Move{}, fmt.Errorf("%w: there is no commit on %s", ErrNothing, m.branch)
	}
	made := Move{Branch: m.branch, Before: m.at}
	why, err := m.joined(ctx, j, &made)
	if err != nil {
		return Move{}, err
	}
	if err := m.holdBranch(ctx); err != nil {
		return Move{}, err
	}
	var files *checkout
	if checkedOut {
		if files, err = m.compare(ctx, m.at, made.After); err != nil {
			return Move{}, err
		}
		made.Files = files.paths()
		if j.Into != "" {
			if err := files.alone(ctx); err != nil {
				return Move{}, err
			}
		}
	} else if made.Files, err = m.differing(ctx, m.at, made.After); err != nil {
		return Move{}, err
	}
	if err := j.Begun(made); err != nil {
		return Move{}, err
	}
	if files != nil {
		if err := files.write(ctx); err != nil {
			return made, err
		}
		_ = m.dir.WriteFile("ORIG_HEAD", []byte(m.at+"\n"), 0o666) // where git keeps the way back
	}
	return made, m.setBranch(made.After, why)
}

// joined finds or makes the commit that the branch moves to.
func (m *moving) joined(ctx context.Context, j Join, made *Move) (why string, err error) {
	if holds, err := m.holds(ctx, m.at, j.Commit); err != nil {
		return "", err
	} else if holds {
		return "", fmt.Errorf("%w: %s has all commits of %s", ErrNothing, m.branch, j.From)
	}
	forward, err := m.holds(ctx, j.Commit, m.at)
	if err != nil {
		return "", err
	}
	if forward && (j.Method == "ff" || j.Method == "rebase" || j.Method == "merge" && j.Forward) {
		made.After = j.Commit
		return "merge " + j.From + ": Fast-forward", nil
	}
	switch j.Method {
	case "ff":
		return "", fmt.Errorf("%w: %s has commits that %s has not: update first, or merge", ErrNothing, m.branch, j.From)
	case "rebase":
		made.After, err = m.rebased(ctx, j)
		return "rebase (finish): refs/heads/" + m.branch + " onto " + j.Commit, err
	}
	tree, err := m.merged(ctx, m.at, j.Commit)
	if err != nil {
		return "", err
	}
	message, parents := cleanMessage(j.Message), []string{m.at}
	if j.Method == "merge" {
		parents = append(parents, j.Commit)
		if message == "" {
			message = fmt.Sprintf("Merge branch '%s' into %s\n", j.From, m.branch)
		}
	} else if message == "" {
		message = fmt.Sprintf("Squash branch '%s'\n", j.From)
	}
	if j.Method == "squash" {
		if before, err := m.treeOf(ctx, m.at); err != nil || before == tree {
			return "", errors.Join(err, fmt.Errorf("%w: %s has all changes of %s", ErrNothing, m.branch, j.From))
		}
	}
	made.After, err = m.newCommit(ctx, m.who.environment(), tree, message, parents...)
	if j.Method == "squash" {
		return "commit: " + subject(message), err
	}
	return "merge " + j.From + ": Merge made by abide", err
}

// holds reports whether a commit has another one in its history.
func (m *moving) holds(ctx context.Context, commit, other string) (bool, error) {
	_, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "merge-base", "--is-ancestor", other, commit))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// merged is the tree of two commits merged.
func (m *moving) merged(ctx context.Context, ours, theirs string) (string, error) {
	out := &bounded{most: mostOutput, full: func() {}}
	c := m.s.command(m.s.repository.Worktree, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
	c.bound = treeBound
	err := m.g.run(ctx, c, out)
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	switch {
	case code == 129: // it does not know the options
		return "", fmt.Errorf("%w: git 2.38 or newer is needed to merge", ErrUnavailable)
	case err != nil && code != 1:
		return "", err
	}
	tree, rest, _ := bytes.Cut(out.kept.Bytes(), []byte{0})
	if code == 1 {
		var files []string
		for name := range bytes.SplitSeq(rest, []byte{0}) {
			if len(name) > 0 && !slices.Contains(files, string(name)) {
				files = append(files, string(name))
			}
		}
		return "", &Conflict{Files: files}
	}
	if !isCommit(strings.TrimSpace(string(tree))) {
		return "", fmt.Errorf("merge %.12s and %.12s: git says %q", ours, theirs, tree)
	}
	return strings.TrimSpace(string(tree)), nil
}

// rebased makes the branch's own commits again on another one, and returns the last. A
// commit that the other has already is left out, and so are merges, as git leaves them out.
func (m *moving) rebased(ctx context.Context, j Join) (string, error) {
	out, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "rev-list", "--reverse", "--topo-order", "--no-merges", m.at, "^"+j.Commit))
	if err != nil {
		return "", err
	}
	commits := strings.Fields(string(out))
	if len(commits) > mostRebased {
		return "", fmt.Errorf("rebase more than %d commits: %w", mostRebased, ErrTooLarge)
	}
	onto := j.Commit
	tree, err := m.treeOf(ctx, onto)
	if err != nil {
		return "", err
	}
	for _, commit := range commits {
		c, err := m.readCommit(ctx, commit)
		if err != nil {
			return "", err
		}
		// What the commit changed is its difference from its parent. A stand-in for onto with
		// that parent makes the parent the base of the merge.
		base, err := m.writeCommit(ctx, m.who.environment(), tree, "a base\n", c.parent)
		if err != nil {
			return "", err
		}
		next, err := m.merged(ctx, base, commit)
		if err != nil {
			return "", err
		}
		if next == tree {
			continue
		}
		if onto, err = m.newCommit(ctx, append(m.who.environment(), c.author...), next, c.message, onto); err != nil {
			return "", err
		}
		tree = next
	}
	return onto, nil
}

// commitText is what a rebase keeps of a commit.
type commitText struct {
	parent, message string
	author          []string // environment of git commit-tree
}

func (m *moving) readCommit(ctx context.Context, commit string) (commitText, error) {
	out, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "cat-file", "commit", commit))
	if err != nil {
		return commitText{}, err
	}
	head, message, _ := strings.Cut(string(out), "\n\n")
	c := commitText{message: message}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "parent":
			c.parent = value
		case "encoding":
			return c, fmt.Errorf("%w: the message of commit %.12s has the encoding %s", ErrUnsuited, commit, value)
		case "author":
			who, when, ok := strings.Cut(value, "> ")
			name, address, named := strings.Cut(who, "<")
			if !ok || !named {
				return c, fmt.Errorf("read the author of %.12s: %w", commit, os.ErrInvalid)
			}
			c.author = []string{"GIT_AUTHOR_NAME=" + strings.TrimSpace(name), "GIT_AUTHOR_EMAIL=" + address, "GIT_AUTHOR_DATE=@" + when}
		}
	}
	if c.parent == "" {
		return c, fmt.Errorf("%w: commit %.12s is a first commit, which has nothing to be made again from", ErrUnsuited, commit)
	}
	return c, nil
}

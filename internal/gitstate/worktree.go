package gitstate

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// mostNamesakes bounds the worktrees of one folder's name.
	mostNamesakes = 1000
	// undoBound limits the time to undo what failed.
	undoBound = 10 * time.Second
)

// Mark is what abide notes about a worktree that it makes, in the file abide of the
// worktree's own git directory. git does not read it.
type Mark struct {
	// Request identifies the request that the worktree is made for.
	Request string `json:"request"`
	// Branch is the branch made with it, Commit where that begins, and Base the branch that
	// it comes from. Branch and Base may be empty.
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit"`
	Base   string `json:"base,omitempty"`
}

// writeWhole writes a file of a worktree's own git directory, whole or not at all.
func writeWhole(common *os.Root, dir, name string, content []byte) error {
	made := filepath.Join(dir, "abide-"+rand.Text())
	if err := writeSynced(common, made, content); err != nil {
		return err
	}
	return common.Rename(made, filepath.Join(dir, name))
}

// The text of the file locked of a worktree that abide is making or removing. git prune
// leaves such a worktree alone. Behind lockedRemoving is the commit at which the branch goes.
const (
	lockedMaking   = "abide is making this worktree\n"
	lockedRemoving = "abide is removing this worktree\n"
)

// AddWorktree makes a new folder that is a worktree of the repository, with the files of
// the mark's commit, and with its branch if it names one, which is made. git checks
// nothing out: the files are written as the objects have them (see WriteFiles).
// ErrUnsuited says that the commit has submodules, or files that need a filter (git-lfs,
// git-crypt) or another encoding; ErrBranchExists that there is such a branch, and
// fs.ErrExist that there is such a folder. After an error nothing is left.
//
// After a kill Linked lists the worktree, as unfinished until its last step. The mark is
// there before a branch or a folder is. So the same again, with the same request, branch
// and folder, completes it.
func (g *Git) AddWorktree(ctx context.Context, r *Repository, folder string, m Mark) error {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	defer s.remove()
	s.index = filepath.Join(s.dir, "index")
	entries, err := g.suitedTree(ctx, s, m.Commit)
	if err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	if m.Branch != "" {
		err = r.filed()
	}
	if err == nil {
		err = g.makeWorktree(ctx, s, folder, m, entries)
	}
	if err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	return nil
}

// makeWorktree makes what AddWorktree says, in steps.
func (g *Git) makeWorktree(ctx context.Context, s *standIn, folder string, m Mark, entries []Entry) error {
	r := s.repository
	parent, err := filepath.EvalSymlinks(filepath.Dir(folder))
	if err != nil {
		return err
	}
	folder = filepath.Join(parent, filepath.Base(folder))
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer common.Close()
	before, err := r.MadeFor(m.Request)
	if err != nil {
		return err
	}
	if before != nil && !before.Unfinished {
		return fmt.Errorf("%w: %s", fs.ErrExist, before.Folder)
	}
	made, branched := Linked{Folder: folder, Mark: &m}, false
	if before != nil {
		made.name, branched = before.name, before.Mark.Branch == m.Branch
		if err := g.removeFolder(r, *before); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(folder); err == nil {
		return fmt.Errorf("%w: %s", fs.ErrExist, folder)
	}
	if made.name == "" {
		if made.name, err = newName(common, filepath.Base(folder)); err != nil {
			return err
		}
	}
	g.step("named")
	held, err := made.begin(common)
	if errors.Is(err, ErrLocked) {
		return err
	}
	if err != nil {
		return errors.Join(err, common.RemoveAll(made.name))
	}
	defer held.Close()
	g.step("begun")
	if m.Branch != "" {
		if err = r.createBranch(ctx, m.Branch, m.Commit); errors.Is(err, ErrBranchExists) && branched && r.left(m.Branch, m.Commit) {
			err = nil
		}
		if err != nil {
			return errors.Join(err, common.RemoveAll(made.name))
		}
	}
	g.step("branched")
	if err = os.Mkdir(folder, 0o777); err == nil {
		g.step("folder")
		if err = g.fillWorktree(ctx, s, common, made, entries); err == nil {
			return nil
		}
	} else {
		made.Folder = "" // it is another's
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBound)
	defer cancel()
	return errors.Join(err, g.RemoveWorktree(undo, r, made, Removal{BranchAt: m.Commit}))
}

// left reports whether a branch is as its making left it: at its commit, and checked out
// nowhere.
func (r *Repository) left(branch, commit string) bool {
	at, err := r.Branch(branch)
	if err != nil || at != commit {
		return false
	}
	places, err := r.CheckedOut(branch)
	return err == nil && len(places) == 0
}

// begin writes what git keeps of a linked worktree, as `git worktree add` does. While held
// is open, AtWork reports it.
func (l Linked) begin(common *os.Root) (held *os.File, err error) {
	mark, err := json.Marshal(l.Mark)
	if err != nil {
		return nil, err
	}
	if err := writeWhole(common, l.name, "abide", append(mark, '\n')); err != nil {
		return nil, err
	}
	held, err = common.OpenFile(filepath.Join(l.name, "locked"), os.O_CREATE|os.O_RDWR|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	if flock(held) != nil {
		return nil, errors.Join(fmt.Errorf("%w: another hub is making %s", ErrLocked, l.Folder), held.Close())
	}
	if err = held.Truncate(0); err == nil {
		_, err = held.WriteString(lockedMaking)
	}
	for _, f := range []struct{ name, text string }{
		{"gitdir", filepath.Join(l.Folder, ".git") + "\n"}, {"commondir", "../..\n"}, {"HEAD", l.Mark.Commit + "\n"},
	} {
		if err == nil {
			err = common.WriteFile(filepath.Join(l.name, f.name), []byte(f.text), 0o666)
		}
	}
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

// suitedTree lists the entries of a commit and makes an index of them.
func (g *Git) suitedTree(ctx context.Context, s *standIn, commit string) ([]Entry, error) {
	entries, err := g.tree(ctx, s, commit)
	if err != nil {
		return nil, err
	}
	var paths strings.Builder
	for _, e := range entries {
		if err := e.suited(); err != nil {
			return nil, err
		}
		paths.WriteString(e.Path + "\x00")
	}
	if _, err := g.output(ctx, s.command(s.repository.Worktree, "read-tree", commit)); err != nil {
		return nil, err
	}
	c := s.command(s.repository.Worktree, "check-attr", "--cached", "--stdin", "-z", "filter", "working-tree-encoding")
	c.in, c.bound = strings.NewReader(paths.String()), treeBound
	return entries, g.stream(ctx, c, func(out io.Reader) error { return needsNothing(bufio.NewReader(out)) })
}

// needsNothing refuses files that need a filter or another encoding.
func needsNothing(out *bufio.Reader) error {
	return eachAttribute(out, func(_, name, value string) error {
		if slices.Contains([]string{"unspecified", "unset", "set"}, value) {
			return nil
		}
		if name == "filter" {
			return fmt.Errorf("%w: its files need the filter %q", ErrUnsuited, value)
		}
		return fmt.Errorf("%w: its files need the encoding %q", ErrUnsuited, value)
	})
}

// fillWorktree writes the files of a new worktree, and ends its making.
func (g *Git) fillWorktree(ctx context.Context, s *standIn, common *os.Root, l Linked, entries []Entry) error {
	root, err := os.OpenRoot(l.Folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.WriteFile(".git", []byte("gitdir: "+filepath.Join(s.repository.common, l.name)+"\n"), 0o666); err != nil {
		return err
	}
	g.step("linked")
	if err := g.writeFiles(ctx, s, root, entries); err != nil {
		return err
	}
	g.step("written")
	// git compares the files with the commit now, not the first time that a person asks.
	made := *s
	made.repository = &Repository{Worktree: l.Folder, dir: s.repository.dir, common: s.repository.common}
	refresh := made.command(l.Folder, "update-index", "-q", "--refresh")
	refresh.bound = treeBound
	_, _ = g.output(ctx, refresh) // an index that was not refreshed is a good one
	index, err := os.ReadFile(s.index)
	if err != nil {
		return err
	}
	if err := common.WriteFile(filepath.Join(l.name, "index"), index, 0o666); err != nil {
		return err
	}
	if l.Mark.Branch != "" {
		if err := common.WriteFile(filepath.Join(l.name, "HEAD"), []byte("ref: refs/heads/"+l.Mark.Branch+"\n"), 0o666); err != nil {
			return err
		}
	}
	g.step("checked out")
	return common.Remove(filepath.Join(l.name, "locked"))
}

// newName makes a folder below worktrees/ of a repository.
func newName(common *os.Root, base string) (string, error) {
	if err := common.MkdirAll("worktrees", 0o777); err != nil {
		return "", err
	}
	// git takes the name of a worktree for a part of a ref's name.
	base = strings.Trim(strings.Map(func(c rune) rune {
		if c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\{}@`, c) {
			return '-'
		}
		return c
	}, base), ".-")
	if base = strings.TrimSuffix(strings.ReplaceAll(base, "..", "-"), ".lock"); base == "" {
		base = "worktree"
	}
	for i := range mostNamesakes {
		name := filepath.Join("worktrees", base)
		if i > 0 {
			name += strconv.Itoa(i)
		}
		if err := common.Mkdir(name, 0o777); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fmt.Errorf("there are %d worktrees called %q: %w", mostNamesakes, base, ErrTooLarge)
}

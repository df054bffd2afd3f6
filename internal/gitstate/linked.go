package gitstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Linked is a linked worktree of a repository, as its files say.
type Linked struct {
	// Folder is its place; empty if that cannot be read.
	Folder string
	// Mark is abide's; nil if another program made it.
	Mark *Mark
	// Unfinished means that abide began to make or to remove it, and was killed, or is at
	// it.
	Unfinished bool
	// Removing means that it is unfinished because it was to be removed.
	Removing bool
	// Locked means that a person locked it (git worktree lock).
	Locked bool

	name string // below the common directory
	goes string // while it is being removed: the commit at which its branch goes, too
}

// Linked lists the linked worktrees of a repository, also those whose folder is gone.
func (r *Repository) Linked() ([]Linked, error) {
	f, err := os.Open(filepath.Join(r.common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(mostListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var all []Linked
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		l, dir := Linked{name: filepath.Join("worktrees", e.Name())}, filepath.Join(r.common, "worktrees", e.Name())
		if to, err := readSmall(dir, "gitdir"); err == nil && filepath.Base(to) == ".git" {
			l.Folder = filepath.Dir(beside(dir, to))
		}
		if text, err := readRegular(dir, "abide", smallFile); err == nil {
			var m Mark
			if json.Unmarshal(text, &m) == nil {
				l.Mark = &m
			}
		}
		if text, err := readRegular(dir, "locked", smallFile); err == nil {
			l.goes, l.Removing = strings.CutPrefix(string(text), lockedRemoving)
			l.Unfinished = l.Removing || string(text) == lockedMaking
			l.Locked = !l.Unfinished
		}
		if _, err := os.Lstat(filepath.Join(dir, "gitdir")); l.Mark != nil && errors.Is(err, fs.ErrNotExist) {
			l.Unfinished, l.Locked = true, false // killed before it said where it is to be
		}
		all = append(all, l)
	}
	return all, nil
}

// AtWork reports whether a program that runs is making the worktree, which is unfinished.
func (r *Repository) AtWork(l Linked) bool {
	file, err := os.OpenFile(filepath.Join(r.common, l.name, "locked"), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return flock(file) != nil
}

// MadeFor finds the worktree that was made for a request. A nil one is none.
func (r *Repository) MadeFor(request string) (*Linked, error) {
	all, err := r.Linked()
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.Mark != nil && l.Mark.Request == request {
			return &l, nil
		}
	}
	return nil, nil
}

// Removal is how a worktree is removed.
type Removal struct {
	// BranchAt is the commit at which the branch of the mark goes, too. It stays if it is
	// elsewhere by then, or checked out in another worktree. Empty: it stays.
	BranchAt string
	// Gone is called when the worktree and its branch are gone, and before that is
	// forgotten. Its error ends the removal. It may be nil.
	Gone func() error
}

// RemoveWorktree removes a worktree of the repository with all that is in it. It first notes
// that the removal has begun, and whether the branch goes, too. After a kill Linked lists the
// worktree as unfinished, and the same call completes the removal, whatever its BranchAt.
func (g *Git) RemoveWorktree(ctx context.Context, r *Repository, l Linked, how Removal) error {
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	defer common.Close()
	if err := g.removeWorktree(ctx, common, r, l, how); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	return nil
}

func (g *Git) removeWorktree(ctx context.Context, common *os.Root, r *Repository, l Linked, how Removal) error {
	if !l.Removing {
		l.goes = how.BranchAt
		if err := writeWhole(common, l.name, "locked", []byte(lockedRemoving+l.goes)); err != nil {
			return err
		}
	}
	g.step("removing")
	if l.Folder != "" {
		if err := g.removeFolder(r, l); err != nil {
			return err
		}
	}
	g.step("removed")
	if err := r.removeBranch(ctx, l); err != nil {
		return err
	}
	g.step("branch removed")
	if how.Gone != nil {
		if err := how.Gone(); err != nil {
			return err
		}
	}
	g.step("told")
	return g.forget(common, l)
}

// removeBranch removes the branch that goes with a worktree.
func (r *Repository) removeBranch(ctx context.Context, l Linked) error {
	if l.Mark == nil || l.Mark.Branch == "" || l.goes == "" {
		return nil
	}
	places, err := r.checkedOut(l.Mark.Branch, l.name)
	if err != nil || len(places) > 0 {
		return err
	}
	if err := r.DeleteBranch(ctx, l.Mark.Branch, l.goes); !errors.Is(err, ErrMoved) {
		return err
	}
	return nil // it has more commits now
}

// forget removes what git keeps of a worktree, and last what says that abide is at it. git
// removes what a kill leaves of that (git worktree prune).
func (g *Git) forget(common *os.Root, l Linked) error {
	entries, err := fs.ReadDir(common.FS(), filepath.ToSlash(l.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var names []string
	for _, e := range entries {
		if !slices.Contains([]string{"gitdir", "abide", "locked"}, e.Name()) {
			names = append(names, e.Name())
		}
	}
	for _, name := range append(names, "locked") {
		if err := common.RemoveAll(filepath.Join(l.name, name)); err != nil {
			return err
		}
		g.step("forgetting " + name)
	}
	if err := common.RemoveAll(l.name); err != nil {
		return err
	}
	_ = common.Remove("worktrees") // as git does with the last one
	return nil
}

// removeFolder removes the folder of a worktree. The file that names it as this
// worktree goes last. A folder that does not say so stays, unless it is empty. No link is
// followed.
func (g *Git) removeFolder(r *Repository, l Linked) error {
	if l.Folder == "" {
		return nil
	}
	parent, err := os.OpenRoot(filepath.Dir(l.Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	base := filepath.Base(l.Folder)
	if made, err := open(l.Folder); err == nil && made.dir == filepath.Join(r.common, l.name) {
		entries, err := fs.ReadDir(parent.FS(), base)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == ".git" {
				continue
			}
			if err := parent.RemoveAll(filepath.Join(base, e.Name())); err != nil {
				return err
			}
			g.step("file removed")
		}
		if err := parent.Remove(filepath.Join(base, ".git")); err != nil {
			return err
		}
		g.step("unlinked")
	}
	_ = parent.Remove(base) // only an empty one
	return nil
}

// CheckedOut lists the worktrees that have a branch checked out: the repository's own, if
// it has one, and the linked ones.
func (r *Repository) CheckedOut(branch string) ([]string, error) {
	return r.checkedOut(branch, "")
}

// checkedOut is CheckedOut without the linked worktree of a name.
func (r *Repository) checkedOut(branch, without string) ([]string, error) {
	all, err := r.Linked()
	if err != nil {
		return nil, err
	}
	at := "ref: refs/heads/" + branch
	var folders []string
	if head, err := readRef(r.common, "HEAD"); err == nil && head == at && filepath.Base(r.common) == ".git" {
		folders = append(folders, filepath.Dir(r.common))
	}
	for _, l := range all {
		if l.name == without {
			continue
		}
		if head, err := readRef(filepath.Join(r.common, l.name), "HEAD"); err == nil && head == at {
			folders = append(folders, l.Folder)
		}
	}
	return folders, nil
}

// Common is the directory that all worktrees of the repository share.
func (r *Repository) Common() string { return r.common }

// Home is the repository's own worktree, beside which others are linked; its directory if
// it has none.
func (r *Repository) Home() string {
	if filepath.Base(r.common) == ".git" {
		return filepath.Dir(r.common)
	}
	return r.common
}

// Pushed reports whether the remote origin has a branch at its commit, as far as is known
// here.
func (r *Repository) Pushed(h Head) bool {
	if h.Branch == "" || h.Commit == "" {
		return false
	}
	at, err := r.resolve("refs/remotes/origin/" + h.Branch)
	return err == nil && at == h.Commit
}

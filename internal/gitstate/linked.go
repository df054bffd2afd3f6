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
	// Locked means that a person locked it (git worktree lock).
	Locked bool

	name string // below the common directory
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
			l.Unfinished = string(text) == lockedMaking || string(text) == lockedRemoving
			l.Locked = !l.Unfinished
		}
		all = append(all, l)
	}
	return all, nil
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

// RemoveWorktree removes a worktree of the repository with all that is in it. Its branch
// stays. After a kill, Linked lists it as unfinished, and the same again completes it.
func (g *Git) RemoveWorktree(_ context.Context, r *Repository, l Linked) error {
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	defer common.Close()
	if err := common.WriteFile(filepath.Join(l.name, "locked"), []byte(lockedRemoving), 0o666); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	g.step("removing")
	if l.Folder != "" {
		if err := g.removeFolder(r, l); err != nil {
			return fmt.Errorf("remove a worktree: %w", err)
		}
	}
	g.step("removed")
	if err := common.RemoveAll(l.name); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	_ = common.Remove("worktrees") // as git does with the last one
	return nil
}

// removeFolder removes the folder of a worktree. The file that names it as this
// worktree goes last. A folder that does not say so stays, unless it is empty. No link is
// followed.
func (g *Git) removeFolder(r *Repository, l Linked) error {
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

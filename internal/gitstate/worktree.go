package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// ErrUnsuited says that files of a commit cannot be written out by git alone.
var ErrUnsuited = errors.New("not without help from another program")

// mostAttributes bounds the .gitattributes files of a commit that are read.
const mostAttributes = 500

// cleanBound is how long removing half a worktree may take.
const cleanBound = 10 * time.Second

// AddWorktree writes a commit's files to a new folder, which becomes a worktree of the
// repository without a branch. Hooks and filters do not run: ErrUnsuited says that the
// commit has submodules, or files that need a filter (git-lfs, git-crypt).
func (g *Git) AddWorktree(ctx context.Context, r *Repository, folder, commit string) error {
	if !isCommit(commit) {
		return fmt.Errorf("add a worktree: %q is not a commit", commit)
	}
	if err := g.suited(ctx, r, commit); err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	if _, err := os.Lstat(folder); err == nil {
		return fmt.Errorf("add a worktree: %q: %w", folder, os.ErrExist)
	}
	_, err := g.Run(ctx, r, r.Worktree, "worktree", "add", "--quiet", "--detach", folder, commit)
	if err != nil {
		// The files that a git that was cut off had written by then.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanBound)
		defer cancel()
		_ = g.RemoveWorktree(clean, r, folder) // there may be none
		return fmt.Errorf("add a worktree: %w", err)
	}
	return nil
}

// RemoveWorktree removes a worktree that AddWorktree made, with all that is in it.
func (g *Git) RemoveWorktree(ctx context.Context, r *Repository, folder string) error {
	if _, err := g.Run(ctx, r, r.Worktree, "worktree", "remove", "--force", folder); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	return nil
}

// suited looks through a commit for entries that AddWorktree cannot write out.
func (g *Git) suited(ctx context.Context, r *Repository, commit string) error {
	if err := r.contained(); err != nil {
		return err
	}
	own, err := readRegular(r.common, "info/attributes", mostConfig)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read info/attributes: %w", err)
	}
	if name := filterIn(own); name != "" {
		return needsFilter(name)
	}
	tree, err := g.Run(ctx, r, r.Worktree, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return err
	}
	attributes := 0
	for entry := range bytes.SplitSeq(tree, []byte{0}) {
		// mode, type and object, then a tab and the path
		about, path, _ := strings.Cut(string(entry), "\t")
		fields := strings.Fields(about)
		if len(fields) != 3 {
			continue
		}
		if fields[1] == "commit" {
			return fmt.Errorf("%w: %q is a submodule", ErrUnsuited, path)
		}
		if path != ".gitattributes" && !strings.HasSuffix(path, "/.gitattributes") {
			continue
		}
		if attributes++; attributes > mostAttributes {
			return fmt.Errorf("it has more than %d .gitattributes: %w", mostAttributes, ErrTooLarge)
		}
		text, err := g.Run(ctx, r, r.Worktree, "cat-file", "blob", fields[2])
		if err != nil {
			return err
		}
		if name := filterIn(text); name != "" {
			return needsFilter(name)
		}
	}
	return nil
}

func needsFilter(name string) error {
	return fmt.Errorf("%w: its files need the filter %q", ErrUnsuited, name)
}

// filterIn is the first filter that a .gitattributes names.
func filterIn(attributes []byte) string {
	for line := range bytes.Lines(attributes) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			continue
		}
		for _, field := range strings.Fields(string(line)) {
			if name, ok := strings.CutPrefix(field, "filter="); ok && name != "" {
				return name
			}
		}
	}
	return ""
}

package gitstate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mostNamesakes bounds the worktrees of one folder's name.
const mostNamesakes = 1000

// AddWorktree makes a new folder that is a worktree of the repository, with a commit's
// files and without a branch. git checks nothing out: the files are written as the
// objects have them (see WriteFiles). ErrUnsuited says that the commit has submodules,
// or files that need a filter (git-lfs, git-crypt) or another encoding.
func (g *Git) AddWorktree(ctx context.Context, r *Repository, folder, commit string) error {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	defer s.remove()
	s.index = filepath.Join(s.dir, "index")
	entries, err := g.suitedTree(ctx, s, commit)
	if err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		return fmt.Errorf("add a worktree: %w", err)
	}
	if err := g.fillWorktree(ctx, s, folder, commit, entries); err != nil {
		return fmt.Errorf("add a worktree: %w", errors.Join(err, removeFolder(folder)))
	}
	return nil
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

// needsNothing reads what `git check-attr -z` prints: path, attribute and value.
func needsNothing(out *bufio.Reader) error {
	for {
		var fields [3]string
		for i := range fields {
			text, err := out.ReadString(0)
			if errors.Is(err, io.EOF) && i == 0 && text == "" {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read attributes: %w", err)
			}
			fields[i] = strings.TrimSuffix(text, "\x00")
		}
		if slices.Contains([]string{"unspecified", "unset", "set"}, fields[2]) {
			continue
		}
		if fields[1] == "filter" {
			return fmt.Errorf("%w: its files need the filter %q", ErrUnsuited, fields[2])
		}
		return fmt.Errorf("%w: its files need the encoding %q", ErrUnsuited, fields[2])
	}
}

// fillWorktree writes the files of a new worktree, and registers it with the repository.
func (g *Git) fillWorktree(ctx context.Context, s *standIn, folder, commit string, entries []Entry) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := g.writeFiles(ctx, s, root, entries); err != nil {
		return err
	}
	// git compares the files with the commit now, not the first time that a person asks.
	made := *s
	made.repository = &Repository{Worktree: folder, dir: s.repository.dir, common: s.repository.common}
	refresh := made.command(folder, "update-index", "-q", "--refresh")
	refresh.bound = treeBound
	_, _ = g.output(ctx, refresh) // an index that was not refreshed is a good one
	return s.register(root, folder, commit)
}

// register writes what git keeps of a linked worktree, as `git worktree add` does.
func (s *standIn) register(root *os.Root, folder, commit string) error {
	index, err := os.ReadFile(s.index)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	common, err := os.OpenRoot(s.repository.common)
	if err != nil {
		return err
	}
	defer common.Close()
	name, err := newName(common, filepath.Base(real))
	if err != nil {
		return err
	}
	files := []struct{ name, text string }{
		{"gitdir", filepath.Join(real, ".git") + "\n"}, {"commondir", "../..\n"}, {"HEAD", commit + "\n"}, {"index", string(index)},
	}
	for _, f := range files {
		if err = common.WriteFile(filepath.Join(name, f.name), []byte(f.text), 0o666); err != nil {
			break
		}
	}
	if err == nil {
		err = root.WriteFile(".git", []byte("gitdir: "+filepath.Join(s.repository.common, name)+"\n"), 0o666)
	}
	if err != nil {
		return errors.Join(err, common.RemoveAll(name))
	}
	return nil
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

// RemoveWorktree removes a worktree that AddWorktree made, with all that is in it.
func (g *Git) RemoveWorktree(_ context.Context, r *Repository, folder string) error {
	made, err := open(folder)
	if err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	if made.common != r.common || made.dir == r.common {
		return fmt.Errorf("remove a worktree: %q is none of %q", folder, r.Worktree)
	}
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	defer common.Close()
	if err := errors.Join(removeFolder(folder), common.RemoveAll(filepath.Join("worktrees", filepath.Base(made.dir)))); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	_ = common.Remove("worktrees") // as git does with the last one
	return nil
}

// removeFolder removes a folder and what is in it. No link is followed.
func removeFolder(folder string) error {
	parent, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.RemoveAll(filepath.Base(folder))
}

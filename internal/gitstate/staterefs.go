package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// privateRefs begins the names of the refs that abide keeps states by. No branch or tag is
// among them, and git neither fetches nor pushes them by itself.
const privateRefs = "refs/abide/"

// KeepState makes a state last: the private ref of a group and a name leads to it. An
// earlier state of this name is given up.
func (r *Repository) KeepState(ctx context.Context, group, name, commit string) error {
	ref := privateRefs + group + "/" + name
	if !isRef(ref) || !IsBranchName(group+"/"+name) || !isCommit(commit) {
		return fmt.Errorf("keep state %q of %q at %q: no such name", name, group, commit)
	}
	if err := r.filed(); err != nil {
		return err
	}
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer common.Close()
	if r.private {
		return putPrivate(common, ref, commit)
	}
	lock, err := lockRef(ctx, common, ref)
	if err != nil {
		return fmt.Errorf("keep state %s: %w", ref, err)
	}
	return lock.put([]byte(commit + "\n"))
}

// putPrivate writes a ref of a store, which this hub alone writes and its owner alone reads.
func putPrivate(common *os.Root, ref, commit string) error {
	err := common.MkdirAll(path.Dir(ref), 0o700)
	if err != nil {
		return err
	}
	file, err := common.OpenFile("state", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(commit + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return common.Rename("state", ref)
}

// States lists the states of a group by their names.
func (r *Repository) States(group string) (map[string]string, error) {
	found, below := map[string]string{}, privateRefs+group
	if !isRef(below) {
		return nil, fmt.Errorf("states of %q: no such name", group)
	}
	err := r.eachPacked(func(name, commit string) bool {
		if name, ok := strings.CutPrefix(name, below+"/"); ok {
			found[name] = commit
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	entries, err := fs.ReadDir(common.FS(), below)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	for _, e := range entries {
		if commit, failed := readRef(r.common, path.Join(below, e.Name())); failed == nil && isCommit(commit) {
			found[e.Name()] = commit
		}
	}
	return found, err
}

// DropStates removes the refs of a group's states, or of those that drop names. Their
// objects go when git next tidies up.
func (r *Repository) DropStates(ctx context.Context, group string, drop func(name string) bool) error {
	all, err := r.States(group)
	if err != nil {
		return err
	}
	doomed := map[string]bool{}
	for name := range all {
		if drop == nil || drop(name) {
			doomed[privateRefs+group+"/"+name] = true
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer common.Close()
	// As git: first the packed values, which would show again.
	if err := r.unpackAll(ctx, common, doomed); err != nil {
		return fmt.Errorf("drop states of %s: %w", group, err)
	}
	for ref := range doomed {
		if err := common.Remove(ref); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("drop states of %s: %w", group, err)
		}
	}
	_ = common.Remove(privateRefs + group) // only an empty one
	_ = common.Remove(strings.TrimSuffix(privateRefs, "/"))
	return nil
}

// Kept returns the repository whose common directory was recorded with a state, for its
// private refs only; nil if it is gone.
func Kept(common string) *Repository {
	if !IsBare(common) {
		return nil
	}
	return &Repository{Worktree: common, dir: common, common: common}
}

// StatesSize is how many bytes the objects of a group's states take that no commit of HEAD
// has.
func (g *Git) StatesSize(ctx context.Context, r *Repository, group string) (states int, bytes int64, err error) {
	all, err := r.States(group)
	if err != nil || len(all) == 0 {
		return 0, 0, err
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	defer s.remove()
	var commits strings.Builder
	for _, commit := range all {
		commits.WriteString(commit + "\n")
	}
	if head, err := r.Head(); err == nil && head.Commit != "" {
		commits.WriteString("^" + head.Commit + "\n")
	}
	c := s.command(r.Worktree, "rev-list", "--objects", "--disk-usage", "--stdin")
	c.in = strings.NewReader(commits.String())
	out, err := g.output(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	bytes, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return len(all), bytes, err
}

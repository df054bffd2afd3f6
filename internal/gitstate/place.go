package gitstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/internal/rootfs"
)

const (
	// mostConfig bounds a configuration.
	mostConfig = 1 << 20
	// mostListed bounds the entries of a git directory that are looked at.
	mostListed = 10_000
)

// place returns the repository of a worktree whose .git is dir or names it. Outside of
// the worktree it accepts only a directory that names this worktree, as git writes
// it for a linked worktree and for a submodule: otherwise a .git could name
// any repository.
func place(worktree, dir string) (*Repository, error) {
	real, err := filepath.EvalSymlinks(worktree)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	common, err := commonOf(dir)
	if err != nil {
		return nil, err
	}
	dotGit := filepath.Join(real, ".git")
	if !rootfs.Holds(real, dir) && !linkedTo(dir, common, dotGit) && !submoduleAt(dir, real) {
		return nil, fmt.Errorf("%w: %s does not name %s", ErrRefused, dir, worktree)
	}
	return &Repository{Worktree: worktree, dir: dir, common: common}, nil
}

// commonOf is the directory of refs, objects and configuration. A linked worktree's own
// directory is in worktrees/ of it.
func commonOf(dir string) (string, error) {
	to, err := readSmall(dir, "commondir")
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: read commondir: %w", ErrRefused, err)
	}
	common, err := filepath.EvalSymlinks(beside(dir, to))
	if err != nil || filepath.Dir(dir) != filepath.Join(common, "worktrees") {
		return "", fmt.Errorf("%w: commondir of %s", ErrRefused, dir)
	}
	return common, nil
}

// linkedTo reports whether dir is that of the linked worktree whose .git is at a path.
func linkedTo(dir, common, dotGit string) bool {
	to, err := readSmall(dir, "gitdir")
	return err == nil && common != dir && samePlace(beside(dir, to), dotGit)
}

// submoduleAt reports whether dir is that of the submodule at a path.
func submoduleAt(dir, worktree string) bool {
	for _, name := range []string{"config.worktree", "config"} {
		if to := coreWorktree(dir, name); to != "" {
			return samePlace(beside(dir, to), worktree)
		}
	}
	return false
}

func samePlace(path, real string) bool {
	at, err := filepath.EvalSymlinks(path)
	return err == nil && at == real
}

// coreWorktree is the setting core.worktree as git writes it. It reads files only.
func coreWorktree(dir, name string) (found string) {
	text, err := readRegular(dir, name, mostConfig)
	if err != nil {
		return ""
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(line)
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "[core]" && strings.EqualFold(strings.TrimSpace(key), "worktree") {
			found = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `"`, "").Replace(strings.TrimSpace(value))
		}
	}
	return found
}

// contained refuses a repository in which a link leads out, where git would follow it,
// one with a named pipe, where git would wait, and one whose objects are another's
// (git clone --shared).
func (r *Repository) contained() error {
	if _, err := r.Head(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, dir := range []string{r.dir, r.common} {
		if err := r.listed(dir); err != nil {
			return err
		}
	}
	for _, below := range []string{"info", "refs", "reftable", "objects", "objects/info", "objects/info/commit-graphs", "objects/pack", "objects/pack/multi-pack-index.d"} {
		if err := r.listed(filepath.Join(r.common, below)); err != nil {
			return err
		}
	}
	for i := range 256 {
		if err := r.listed(filepath.Join(r.common, "objects", fmt.Sprintf("%02x", i))); err != nil {
			return err
		}
	}
	for _, name := range []string{"alternates", "http-alternates"} {
		info, err := os.Lstat(filepath.Join(r.common, "objects/info", name))
		if err == nil && info.Size() > 0 {
			return fmt.Errorf("%w: objects/info/%s names another repository's objects", ErrRefused, name)
		}
	}
	for _, name := range []string{".gitignore", ".gitattributes"} {
		info, err := os.Lstat(filepath.Join(r.Worktree, name))
		if err == nil && waits(info.Mode()) {
			return fmt.Errorf("%w: %s is not a file", ErrRefused, name)
		}
	}
	return nil
}

// listed looks at the entries of one folder of a git directory.
func (r *Repository) listed(dir string) error {
	f, err := os.Open(dir + "/")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(mostListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(entries) == mostListed {
		return fmt.Errorf("%w: %s has more than %d entries", ErrRefused, dir, mostListed)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if waits(e.Type()) {
			return fmt.Errorf("%w: %s is not a file", ErrRefused, path)
		}
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		to, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !rootfs.Holds(r.dir, to) && !rootfs.Holds(r.common, to) {
			return fmt.Errorf("%w: %s is a link that leads out", ErrRefused, path)
		}
	}
	return nil
}

// waits reports whether opening a file of this kind may wait for another program.
func waits(mode fs.FileMode) bool { return mode&(fs.ModeNamedPipe|fs.ModeDevice) != 0 }

package gitstate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/abidehub/abide/internal/rootfs"
)

var (
	// ErrNone says that a folder is in no git repository.
	ErrNone = errors.New("not in a git repository")
	// ErrRefused says that a .git names a directory that does not name it, which may be
	// another's repository, or that it holds a link that leads out or a named pipe.
	ErrRefused = errors.New("the repository cannot be read")
)

const (
	// smallFile bounds HEAD, a loose ref, commondir and a .git file.
	smallFile = 4 << 10
	// mostSymbolic bounds how often a ref may name another one.
	mostSymbolic = 5
)

// Repository is the repository that a folder is in.
type Repository struct {
	// Worktree is the directory that holds .git.
	Worktree string
	dir      string // HEAD, index and config.worktree
	common   string // refs, objects and config; dir but in a linked worktree
	private  bool   // only the owner may read what git writes (see Store)
}

// Head is where a repository stands.
type Head struct {
	// Branch is empty where HEAD names a commit (detached).
	Branch string
	// Commit is empty where there is none yet, or where files do not say it: the
	// reftable format keeps refs in a database.
	Commit string
}

// Find returns the repository of the nearest .git at folder or above it, or ErrNone.
// It reads files only.
func Find(folder string) (*Repository, error) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		r, err := open(at)
		if err == nil || !errors.Is(err, ErrNone) {
			return r, err
		}
		if at == filepath.Dir(at) {
			return nil, fmt.Errorf("%s: %w", folder, ErrNone)
		}
	}
}

// Own are the directories of the git that folder is in: what is at .git, and the
// directories of a linked worktree or submodule. Empty where there is no .git.
func Own(folder string) []string {
	r, err := Find(folder)
	if err != nil {
		at := filepath.Join(folder, ".git") // one that cannot be read, or is none yet
		if _, err := os.Lstat(at); err != nil {
			return nil
		}
		return []string{at}
	}
	return []string{filepath.Join(r.Worktree, ".git"), r.dir, r.common}
}

// open returns the repository whose .git is in worktree.
func open(worktree string) (*Repository, error) {
	dir := filepath.Join(worktree, ".git")
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if info.IsDir() {
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNone, err)
		}
	} else {
		line, err := readSmall(worktree, ".git")
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", dir, err)
		}
		to, ok := strings.CutPrefix(line, "gitdir:")
		if !ok {
			return nil, fmt.Errorf("read %s: it names no gitdir", dir)
		}
		dir = beside(worktree, strings.TrimSpace(to))
	}
	return place(worktree, dir)
}

// Head reads where the repository stands. It reads files only.
func (r *Repository) Head() (Head, error) {
	name, err := readRef(r.dir, "HEAD")
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	target, symbolic := strings.CutPrefix(name, "ref:")
	if !symbolic {
		if !isCommit(name) {
			return Head{}, errors.New("read HEAD: it names neither a ref nor a commit")
		}
		return Head{Commit: name}, nil
	}
	target = strings.TrimSpace(target)
	if target == "refs/heads/.invalid" { // reftable
		return Head{}, nil
	}
	commit, err := r.resolve(target)
	if err != nil {
		return Head{}, err
	}
	branch, _ := strings.CutPrefix(target, "refs/heads/")
	return Head{Branch: branch, Commit: commit}, nil
}

// Rebasing is the branch that is being rebased in the checkout, which has none meanwhile;
// empty if none is.
func (r *Repository) Rebasing() string {
	for _, dir := range []string{"rebase-merge", "rebase-apply"} {
		if name, err := readSmall(filepath.Join(r.dir, dir), "head-name"); err == nil {
			branch, _ := strings.CutPrefix(name, "refs/heads/")
			return branch
		}
	}
	return ""
}

// resolve returns the commit of a ref; empty where the ref does not exist yet.
func (r *Repository) resolve(ref string) (string, error) {
	for range mostSymbolic {
		if !isRef(ref) {
			return "", errors.New("HEAD names a ref that cannot be")
		}
		value, err := readRef(r.common, filepath.FromSlash(ref))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) {
			return r.packed(ref)
		}
		if err != nil {
			return "", fmt.Errorf("read ref: %w", err)
		}
		next, symbolic := strings.CutPrefix(value, "ref:")
		if !symbolic {
			if !isCommit(value) {
				return "", fmt.Errorf("ref %s is damaged", ref)
			}
			return value, nil
		}
		ref = strings.TrimSpace(next)
	}
	return "", errors.New("HEAD names refs in a circle")
}

// packed looks a ref up in packed-refs.
func (r *Repository) packed(ref string) (found string, err error) {
	err = r.eachPacked(func(name, commit string) bool {
		if name == ref {
			found = commit
		}
		return found == ""
	})
	return found, err
}

// eachPacked calls use with the refs of packed-refs until it returns false.
func (r *Repository) eachPacked(use func(name, commit string) bool) error {
	f, err := openRegular(r.common, "packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read packed-refs: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		commit, name, ok := strings.Cut(lines.Text(), " ")
		if ok && isCommit(commit) && !use(name, commit) {
			return nil
		}
	}
	return lines.Err()
}

// isCommit reports whether s is an object's name: SHA-1 or SHA-256 in hex.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isRef reports whether s may be a ref's name: a path below refs/.
func isRef(s string) bool {
	return strings.HasPrefix(s, "refs/") && filepath.IsLocal(s) && filepath.ToSlash(filepath.Clean(s)) == s &&
		!strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// beside resolves a path that a file in dir names.
func beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readRef reads HEAD or a ref, also one that old versions of git made as a link.
func readRef(dir, name string) (string, error) {
	if to, err := os.Readlink(filepath.Join(dir, name)); err == nil && strings.HasPrefix(to, "refs/") {
		return "ref: " + to, nil
	}
	return readSmall(dir, name)
}

// readSmall reads a file of one line.
func readSmall(dir, name string) (string, error) {
	data, err := readRegular(dir, name, smallFile)
	return strings.TrimSpace(string(data)), err
}

// readRegular reads a file in dir of at most that many bytes.
func readRegular(dir, name string, most int64) ([]byte, error) {
	f, err := openRegular(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", f.Name(), most)
	}
	return data, nil
}

// openRegular opens a file in dir.
func openRegular(dir, name string) (*os.File, error) {
	folder, err := rootfs.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	f, _, err := folder.OpenRegular(name)
	return f, err
}

// IsBare reports whether a folder looks like a repository without files to work in.
func IsBare(folder string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// mostPackedRefs bounds packed-refs where it is written anew.
	mostPackedRefs = 64 << 20
	mostRefName    = 200
)

var (
	// ErrBranchExists says that there is a branch of this name, or one whose name is in
	// the way: a and a/b cannot both be.
	ErrBranchExists = errors.New("the branch exists already")
	// ErrMoved says that a ref does not have the value that it was expected to have.
	ErrMoved = errors.New("the branch has changed meanwhile")
	// ErrNoRef says that a name leads to no commit.
	ErrNoRef = errors.New("no such branch, tag or commit")
)

// IsBranchName reports whether git accepts a name for a branch.
func IsBranchName(name string) bool {
	if name == "" || name == "@" || name == "HEAD" || len(name) > mostRefName || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\`, c) })
}

// Branch returns the commit of a branch; empty if there is none of this name.
func (r *Repository) Branch(name string) (string, error) {
	if !IsBranchName(name) {
		return "", fmt.Errorf("%q is no name for a branch", name)
	}
	return r.resolve("refs/heads/" + name)
}

// Commit finds the commit that a person names: a branch, a tag, a remote's branch, a commit
// or the first digits of one, with ~N and ^N behind it. branch is the branch that the name
// is, without refs/heads/; empty if it is none. The error is ErrNoRef.
func (g *Git) Commit(ctx context.Context, r *Repository, name string) (commit, branch string, err error) {
	start, steps := name, ""
	if i := strings.IndexAny(name, "~^"); i >= 0 {
		start, steps = name[:i], name[i:]
	}
	if strings.Trim(steps, "~^0123456789") != "" || strings.HasPrefix(start, "-") {
		return "", "", fmt.Errorf("%w: %q", ErrNoRef, name)
	}
	object := start
	if start != "HEAD" && start != "@" {
		for _, below := range []string{"", "refs/", "refs/heads/", "refs/tags/", "refs/remotes/"} {
			if ref := below + start; isRef(ref) {
				found, err := r.resolve(ref)
				if err != nil || found == "" {
					continue
				}
				if object = found; steps == "" {
					branch, _ = strings.CutPrefix(ref, "refs/heads/")
					if branch == ref {
						branch = ""
					}
				}
				break
			}
		}
	}
	if object != "HEAD" && object != "@" && strings.Trim(object, "0123456789abcdef") != "" {
		return "", "", fmt.Errorf("%w: %q", ErrNoRef, name)
	}
	out, err := g.Run(ctx, r, r.Worktree, "rev-parse", "--verify", "--quiet", "--end-of-options", object+steps+"^{commit}")
	if err != nil || !isCommit(strings.TrimSpace(string(out))) {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		return "", "", fmt.Errorf("%w: %q", ErrNoRef, name)
	}
	return strings.TrimSpace(string(out)), branch, nil
}

// filed refuses refs that are no files.
func (r *Repository) filed() error {
	if _, err := os.Lstat(filepath.Join(r.common, "reftable")); err == nil {
		return fmt.Errorf("%w: its branches are in the reftable format, which the hub does not write", ErrUnsuited)
	}
	return nil
}

// createBranch makes a branch that is not there yet, as git does: under its lock.
func (r *Repository) createBranch(ctx context.Context, name, commit string) error {
	if err := r.filed(); err != nil {
		return err
	}
	ref := "refs/heads/" + name
	if !IsBranchName(name) || !isCommit(commit) {
		return fmt.Errorf("create branch %q at %q: no such name", name, commit)
	}
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer common.Close()
	lock, err := lockRef(ctx, common, ref)
	if err != nil {
		return err
	}
	taken, err := r.inTheWay(common, ref)
	if err == nil && taken {
		err = fmt.Errorf("%w: %s", ErrBranchExists, name)
	}
	if err != nil {
		return errors.Join(err, lock.release())
	}
	return lock.put([]byte(commit + "\n"))
}

// inTheWay reports whether a ref of this name cannot be made.
func (r *Repository) inTheWay(common *os.Root, ref string) (bool, error) {
	if info, err := common.Lstat(ref); err == nil {
		if !info.IsDir() {
			return true, nil
		}
		below := fs.WalkDir(common.FS(), ref, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(d.Name(), ".lock") {
				return ErrBranchExists
			}
			return nil
		})
		if below != nil {
			return true, nil
		}
	}
	taken := false
	err := r.eachPacked(func(name, _ string) bool {
		taken = name == ref || strings.HasPrefix(name, ref+"/") || strings.HasPrefix(ref, name+"/")
		return !taken
	})
	return taken, err
}

// Free reports whether a branch of this name can be made now.
func (r *Repository) Free(name string) bool {
	common, err := os.OpenRoot(r.common)
	if err != nil || !IsBranchName(name) {
		return false
	}
	defer common.Close()
	ref := "refs/heads/" + name
	for above := path.Dir(ref); above != "refs/heads"; above = path.Dir(above) {
		if info, err := common.Lstat(above); err == nil && !info.IsDir() {
			return false
		}
	}
	taken, err := r.inTheWay(common, ref)
	return err == nil && !taken
}

// DeleteBranch deletes a branch that has this commit; ErrMoved if it has another. One that
// is gone is not an error.
func (r *Repository) DeleteBranch(ctx context.Context, name, commit string) error {
	if err := r.filed(); err != nil {
		return err
	}
	if !IsBranchName(name) {
		return fmt.Errorf("delete branch %q: no such name", name)
	}
	ref := "refs/heads/" + name
	common, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer common.Close()
	lock, err := lockRef(ctx, common, ref)
	if err != nil {
		return fmt.Errorf("delete branch %s: %w", name, err)
	}
	is, err := r.resolve(ref)
	switch {
	case err == nil && is == "":
	case err == nil && is != commit:
		err = fmt.Errorf("delete branch %s: %w", name, ErrMoved)
	case err == nil:
		// As git: first the packed value, which would show again.
		if err = r.unpack(ctx, common, ref); err == nil {
			err = common.Remove(ref)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			_ = common.Remove("logs/" + ref)
		}
	}
	return errors.Join(err, lock.release())
}

// unpack removes a ref from packed-refs.
func (r *Repository) unpack(ctx context.Context, common *os.Root, ref string) error {
	return r.unpackAll(ctx, common, map[string]bool{ref: true})
}

// unpackAll removes refs from packed-refs.
func (r *Repository) unpackAll(ctx context.Context, common *os.Root, refs map[string]bool) error {
	packed := false
	if err := r.eachPacked(func(name, _ string) bool { packed = refs[name]; return !packed }); err != nil || !packed {
		return err
	}
	lock, err := lockFile(ctx, common, "packed-refs", func() error { return nil })
	if err != nil {
		return err
	}
	text, err := r.packedWithout(refs)
	if err != nil {
		return errors.Join(err, lock.release())
	}
	return lock.put(text)
}

// packedWithout is packed-refs without some refs.
func (r *Repository) packedWithout(without map[string]bool) ([]byte, error) {
	text, err := readRegular(r.common, "packed-refs", mostPackedRefs)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	left := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "^") && left {
			continue // the commit of the tag that was left out
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if left = without[name]; !left {
			out.WriteString(line)
		}
	}
	return out.Bytes(), nil
}

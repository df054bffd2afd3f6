package gitstate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Identity says which folder and which repository a workspace is, so that another
// one at the same path is not taken for it.
type Identity struct {
	// Path, Device and Inode are the folder's.
	Path          string
	Device, Inode uint64
	// Worktree is the directory that holds .git; empty where there is no repository.
	Worktree string
	// Root is the repository's first commit, the smallest in order where there are
	// several. Empty where there is no commit, in a shallow clone, and where it was
	// not found in time.
	Root string
	// Remote is where it comes from, without user and password.
	Remote string
	Head
}

// Identify returns the identity of folder's repository. A folder without git has
// path, device and inode. The error is about the folder, or ctx's; fields that git
// does not answer in time stay empty. A nil Git reads files only.
func (g *Git) Identify(ctx context.Context, folder string) (Identity, error) {
	id, err := statFolder(folder)
	if err != nil {
		return Identity{}, err
	}
	r, err := Find(folder)
	if err != nil {
		return id, nil
	}
	id.Worktree = r.Worktree
	if g == nil {
		id.Head, _ = r.Head()
		return id, nil
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		id.Head, _ = r.Head()
		return id, nil
	}
	defer s.remove()
	id.Head = g.headOf(ctx, s)
	id.Remote = s.remote()
	id.Root = g.root(ctx, s, id.Commit)
	return id, nil
}

// Standing returns where a repository stands, and where it comes from, without user
// and password. A field is empty if git does not answer in time. A nil Git reads files
// only. Unlike Identify it does not walk the history.
func (g *Git) Standing(ctx context.Context, r *Repository) (head Head, remote string) {
	if g != nil {
		if s, err := g.standIn(ctx, r); err == nil {
			defer s.remove()
			return g.headOf(ctx, s), s.remote()
		}
	}
	head, _ = r.Head()
	return head, ""
}

// headOf reads files, and asks git where they do not say the commit.
func (g *Git) headOf(ctx context.Context, s *standIn) Head {
	head, err := s.repository.Head()
	if err == nil && head.Commit == "" { // no commit yet, or refs that are not files
		return g.askHead(ctx, s, head)
	}
	return head
}

func statFolder(folder string) (Identity, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return Identity{}, fmt.Errorf("look at workspace: %w", err)
	}
	if !info.IsDir() {
		return Identity{}, fmt.Errorf("look at workspace: %s: %w", folder, syscall.ENOTDIR)
	}
	id := Identity{Path: filepath.Clean(folder)}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id.Device, id.Inode = uint64(stat.Dev), uint64(stat.Ino)
	}
	return id, nil
}

// askHead asks git where the repository stands.
func (g *Git) askHead(ctx context.Context, s *standIn, known Head) Head {
	folder := s.repository.Worktree
	if out, err := g.output(ctx, s.command(folder, "rev-parse", "--verify", "--quiet", "HEAD")); err == nil {
		known.Commit = strings.TrimSpace(string(out))
	}
	if out, err := g.output(ctx, s.command(folder, "symbolic-ref", "--quiet", "--short", "HEAD")); err == nil {
		known.Branch = strings.TrimSpace(string(out))
	}
	return known
}

// root walks to the first commit. A shallow clone's first commit is the first one
// cloned, which identifies nothing.
func (g *Git) root(ctx context.Context, s *standIn, commit string) string {
	if _, err := os.Lstat(filepath.Join(s.repository.common, "shallow")); commit == "" || !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	out, err := g.output(ctx, s.command(s.repository.Worktree, "rev-list", "--max-parents=0", commit, "--"))
	if err != nil {
		return ""
	}
	least := ""
	for _, found := range strings.Fields(string(out)) {
		if least == "" || found < least {
			least = found
		}
	}
	return least
}

// withoutUser cuts user, password and query from a remote's address. An address of
// no known form may hold a secret anywhere and becomes empty.
func withoutUser(address string) string {
	if strings.Contains(address, "::") && !strings.Contains(address, "[") { // a transport helper's
		return ""
	}
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	}
	// [user@]host:path, or a path.
	host, path, remote := strings.Cut(address, ":")
	if !remote || strings.Contains(host, "/") {
		return address
	}
	if at := strings.LastIndex(address, "@"); at >= 0 && strings.Contains(address[at:], ":") {
		return address[at+1:]
	}
	return host[strings.LastIndex(host, "@")+1:] + ":" + path
}

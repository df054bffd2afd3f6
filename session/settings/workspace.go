package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/session/state"
)

// mostRootsTold limits the workspaces that an error lists.
const mostRootsTold = 5

// Resolve checks that sessions may run in dir and returns it with its
// symlinks resolved. Empty means the default.
func (s *Hub) Resolve(dir string) (string, error) {
	if dir = ExpandHome(dir); dir == "" {
		dir = s.DefaultWorkspace
	}
	if dir == "" {
		return "", fmt.Errorf("%w: no workspace was named and there is no default", state.ErrInvalid)
	}
	if strings.ContainsRune(dir, 0) {
		return "", fmt.Errorf("%w: the workspace's path holds a NUL", state.ErrInvalid)
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%w: workspace %q is not an absolute path", state.ErrInvalid, dir)
	}
	real, err := RealDir(dir)
	if err != nil {
		// A caller that may not run there must not learn about the folder's
		// contents.
		if !s.allows(filepath.Clean(dir)) {
			return "", s.outside(dir)
		}
		return "", fmt.Errorf("%w: workspace %q: %s", state.ErrInvalid, dir, Reason(err))
	}
	if !s.allows(real) {
		return "", s.outside(dir)
	}
	return real, s.NotOwn(real)
}

// NotOwn refuses the hub's own directories and those below, by any name. The path has its
// links resolved.
func (s *Hub) NotOwn(real string) error {
	for dir := real; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		for _, path := range s.Own {
			if own, failed := os.Stat(path); err == nil && failed == nil && os.SameFile(info, own) {
				return fmt.Errorf("%w: %q is a directory of the hub's own: choose another folder", state.ErrForbidden, real)
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// ExpandHome replaces a leading ~ by the home directory of the hub's user.
func ExpandHome(dir string) string {
	rest, ok := strings.CutPrefix(dir, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return dir
	}
	return filepath.Join(home, rest)
}

// Recorded checks a directory in which a program runs its own agent.
func (s *Hub) Recorded(dir string) (string, error) {
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", fmt.Errorf("%w: workspace %q is not an absolute path", state.ErrInvalid, dir)
	}
	real, err := RealDir(dir)
	if err != nil {
		return "", fmt.Errorf("%w: workspace %q: %s", state.ErrInvalid, dir, Reason(err))
	}
	return real, s.NotOwn(real)
}

// Holds reports whether sessions may run in a directory, with its links resolved now.
func (s *Hub) Holds(dir string) bool {
	real, err := RealDir(dir)
	return err == nil && s.allows(real)
}

// outside lists where a session may run instead.
func (s *Hub) outside(dir string) error {
	roots := s.Roots()
	if len(roots) == 0 {
		return fmt.Errorf("%w: %q is not an allowed folder, and there is none: allow it with `abide allow`", state.ErrForbidden, dir)
	}
	more := ""
	if len(roots) > mostRootsTold {
		roots, more = roots[:mostRootsTold], ", …"
	}
	return fmt.Errorf("%w: %q is outside the allowed folders (%s%s): allow it with `abide allow`",
		state.ErrForbidden, dir, strings.Join(roots, ", "), more)
}

// allows reports whether a resolved directory is one of the roots or under one.
func (s *Hub) allows(dir string) bool {
	for _, root := range s.Roots() {
		real, err := RealDir(root)
		if err != nil {
			real = filepath.Clean(root)
		}
		if rootfs.Holds(real, dir) {
			return true
		}
	}
	return false
}

// Roots are the directories in or under which sessions may run.
func (s *Hub) Roots() []string {
	if len(s.Workspaces) == 0 && s.DefaultWorkspace != "" {
		return []string{s.DefaultWorkspace}
	}
	return s.Workspaces
}

// RealDir returns a directory with its links resolved.
func RealDir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("it is not a directory")
	}
	return real, nil
}

// Reason returns an error without its path, because the sentence around it has the
// path.
func Reason(err error) string {
	switch {
	case os.IsNotExist(err):
		return "it does not exist"
	case os.IsPermission(err):
		return "it may not be read"
	}
	return err.Error()
}

// ProjectRoot returns the nearest parent of a workspace with a project marker;
// empty if there is none.
func ProjectRoot(workspace string) string {
	for dir := workspace; ; dir = filepath.Dir(dir) {
		for _, mark := range []string{".git", "AGENTS.md"} {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// NewFolder checks that a folder may be created for a session. It returns the path
// with the links of its parent resolved.
func (s *Hub) NewFolder(dir string) (string, error) {
	dir = filepath.Clean(ExpandHome(dir))
	parent, err := s.Resolve(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(dir)), nil
}

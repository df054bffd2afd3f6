package gitstate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrNotCommitted says that the commit has no file at a path.
	ErrNotCommitted = errors.New("not in the commit")
	// ErrLink says that the commit has a symbolic link at a path.
	ErrLink = errors.New("a link")
	// ErrLongFile says that a file of the commit is longer than asked for.
	ErrLongFile = errors.New("a long file")
)

// Committed is the content of a file in the commit that is checked out. The path is
// relative to the worktree. The error is ErrNotCommitted also where there is no commit
// yet, ErrLink, or ErrLongFile for more than that many bytes. The bytes are the
// commit's own: nothing is applied that attributes name.
func (g *Git) Committed(ctx context.Context, r *Repository, path string, most int64) ([]byte, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	head, err := r.Head()
	if err != nil {
		return nil, err
	}
	if head.Commit == "" { // no commit yet, or refs that are not files
		if head = g.askHead(ctx, s, head); head.Commit == "" {
			return nil, ErrNotCommitted
		}
	}
	tree, err := g.output(ctx, s.command(r.Worktree, "ls-tree", "-z", "-l", "--full-tree", head.Commit, "--", path))
	if err != nil {
		return nil, err
	}
	// mode, type, object and size, then a tab and the path
	about, name, _ := strings.Cut(strings.TrimSuffix(string(tree), "\x00"), "\t")
	fields := strings.Fields(about)
	if len(fields) != 4 || name != path || fields[1] != "blob" {
		return nil, ErrNotCommitted
	}
	if fields[0] == modeLink {
		return nil, ErrLink
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the size of %q: %w", path, err)
	}
	if size > most {
		return nil, fmt.Errorf("%q has %d bytes: %w", path, size, ErrLongFile)
	}
	return g.output(ctx, s.command(r.Worktree, "cat-file", "blob", fields[2]))
}

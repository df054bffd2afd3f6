package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	// ErrNothing says that there is nothing to do: no change to commit, or no commit to
	// merge.
	ErrNothing = errors.New("nothing to do")
	// ErrOpen says that git, by a person or an agent, is in the middle of a merge, a rebase
	// or the like.
	ErrOpen = errors.New("something else is under way")
	// ErrDetached says that no branch is checked out.
	ErrDetached = errors.New("no branch is checked out")
)

// InTheWay says that files are not as the commit has them, so that they would be
// overwritten or lost.
type InTheWay struct{ Files []string }

// Error implements error.
func (e *InTheWay) Error() string {
	return "these files differ from the commit: " + strings.Join(e.Files, ", ")
}

// Conflict says that files conflict.
type Conflict struct{ Files []string }

// Error implements error.
func (e *Conflict) Error() string { return "these files conflict: " + strings.Join(e.Files, ", ") }

// Move is a branch's change from one commit to another.
type Move struct {
	Branch string
	// Before is empty for a branch without a commit.
	Before, After string
	// Files are the paths that differ, relative to the worktree. Where it says what was
	// committed, they are those.
	Files []string
}

// moving is a change of a branch: what it holds while nothing else may change it.
type moving struct {
	g      *Git
	s      *standIn
	who    Person
	config personal
	sign   *Signing
	common *os.Root
	dir    *os.Root // the worktree's own git directory
	index  *fileLock
	ref    *fileLock
	branch string
	at     string // the branch's commit; empty if it has none
}

// openMove makes ready to move a branch. Without a name it is the one that is checked out
// in r.
func (g *Git) openMove(ctx context.Context, r *Repository) (*moving, error) {
	if err := r.filed(); err != nil {
		return nil, err
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, err
	}
	m := &moving{g: g, s: s}
	if m.config, err = g.personal(ctx, s); err == nil {
		m.who, err = m.config.person(s)
	}
	if err == nil {
		m.common, err = os.OpenRoot(r.common)
	}
	if err == nil {
		m.dir, err = os.OpenRoot(r.dir)
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// close gives up what is held.
func (m *moving) close() error {
	var err error
	for _, lock := range []*fileLock{m.ref, m.index} {
		if lock != nil {
			err = errors.Join(err, lock.release())
		}
	}
	for _, root := range []*os.Root{m.common, m.dir} {
		if root != nil {
			err = errors.Join(err, root.Close())
		}
	}
	m.s.remove()
	return err
}

// holdWorktree takes the lock of the index, as every git does that changes the worktree,
// and finds out which branch is checked out.
func (m *moving) holdWorktree(ctx context.Context) (err error) {
	if m.index, err = lockFile(ctx, m.dir, "index", func() error { return nil }); err != nil {
		return err
	}
	r := m.s.repository
	for name, what := range map[string]string{
		"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
		"rebase-merge": "a rebase", "rebase-apply": "a rebase", "sequencer": "a row of commits",
	} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			return fmt.Errorf("%w: %s, which is to be completed or given up with git first", ErrOpen, what)
		}
	}
	head, err := r.Head()
	if err != nil {
		return err
	}
	if head.Branch == "" {
		return ErrDetached
	}
	m.branch, m.at = head.Branch, head.Commit
	return nil
}

// holdBranch takes the lock of the branch, and sees that it is where it was.
func (m *moving) holdBranch(ctx context.Context) (err error) {
	if m.ref, err = lockRef(ctx, m.common, "refs/heads/"+m.branch); err != nil {
		return err
	}
	at, err := m.s.repository.resolve("refs/heads/" + m.branch)
	if err == nil && at != m.at {
		err = fmt.Errorf("%s: %w", m.branch, ErrMoved)
	}
	if err != nil || m.index == nil {
		return err
	}
	head, err := m.s.repository.Head()
	if err == nil && head.Branch != m.branch {
		err = fmt.Errorf("another branch than %s is checked out: %w", m.branch, ErrMoved)
	}
	return err
}

// setBranch moves the branch, with a line in its reflog, as git does.
func (m *moving) setBranch(to, why string) error {
	m.g.step("before the branch")
	from := m.at
	if from == "" {
		from = strings.Repeat("0", len(to))
	}
	if strings.ToLower(m.s.own["core.logallrefupdates"]) != "false" {
		now := time.Now()
		line := fmt.Sprintf("%s %s %s <%s> %d %s\t%s\n", from, to, m.who.Name, m.who.Email, now.Unix(), now.Format("-0700"), why)
		// git takes a missing reflog for none.
		_ = appendTo(m.common, "logs/refs/heads/"+m.branch, line)
		if m.index != nil {
			_ = appendTo(m.dir, "logs/HEAD", line)
		}
	}
	err := m.ref.put([]byte(to + "\n"))
	m.g.step("branch moved")
	return err
}

func appendTo(root *os.Root, name, line string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// staged is an entry for an index. An empty object removes the path.
type staged struct{ mode, object, path string }

// withIndex is a stand-in like s with an index of its own: a copy of the person's, or one
// of a tree; an empty tree is no entry.
func (m *moving) withIndex(ctx context.Context, name, tree string) (*standIn, error) {
	own := *m.s
	own.index = filepath.Join(m.s.dir, name)
	args := []string{"read-tree", "--empty"}
	if tree != "" {
		args = []string{"read-tree", tree}
	}
	_, err := m.g.output(ctx, own.command(own.repository.Worktree, args...))
	return &own, err
}

// stage puts entries into an index.
func (m *moving) stage(ctx context.Context, s *standIn, entries []staged) error {
	var lines strings.Builder
	for _, e := range entries {
		if e.object == "" {
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", m.hexLength()), e.path)
		} else {
			fmt.Fprintf(&lines, "%s %s\t%s\x00", e.mode, e.object, e.path)
		}
	}
	c := s.command(s.repository.Worktree, "update-index", "--no-split-index", "-z", "--index-info")
	c.in, c.bound = strings.NewReader(lines.String()), treeBound
	_, err := m.g.output(ctx, c)
	return err
}

func (m *moving) hexLength() int {
	if strings.EqualFold(m.s.own["extensions.objectformat"], "sha256") {
		return 64
	}
	return 40
}

// personsIndex makes what the person's index is to be: as it is, with other entries.
func (m *moving) personsIndex(ctx context.Context, entries []staged) (*standIn, error) {
	own := *m.s
	own.index = filepath.Join(m.s.dir, "index-after")
	text, err := os.ReadFile(m.s.index)
	if err == nil {
		err = os.WriteFile(own.index, text, 0o600)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &own, m.stage(ctx, &own, entries)
}

// putIndex replaces the person's index, and gives its lock up.
func (m *moving) putIndex(ctx context.Context, made *standIn) error {
	m.g.step("before the index")
	c := made.command(made.repository.Worktree, "update-index", "-q", "--refresh")
	c.bound = treeBound
	_, _ = m.g.output(ctx, c) // an index that was not refreshed is a good one
	f, err := os.Open(made.index)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	// git compares the time of a file with that of the index.
	err = m.index.putAt(text, info.ModTime())
	m.g.step("index replaced")
	return err
}

// writeCommit makes a commit without a signature.
func (m *moving) writeCommit(ctx context.Context, who []string, tree, message string, parents ...string) (string, error) {
	c := m.s.command(m.s.repository.Worktree, commitTree(nil, tree, parents)...)
	c.env, c.in = append(c.env, who...), strings.NewReader(message)
	out, err := m.g.output(ctx, c)
	if err != nil {
		return "", err
	}
	return madeCommit(string(out))
}

// treeOf is the tree of a commit.
func (m *moving) treeOf(ctx context.Context, commit string) (string, error) {
	if commit == "" {
		return "", nil
	}
	out, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "rev-parse", "--verify", commit+"^{tree}"))
	return strings.TrimSpace(string(out)), err
}

// cleanMessage is a message as git stores it: without spaces at the ends of lines, and with
// one newline at the end.
func cleanMessage(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	if text = strings.TrimRight(strings.Join(lines, "\n"), "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

func subject(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}

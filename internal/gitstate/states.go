package gitstate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Listed is a file or link of a worktree that is tracked, or untracked and not ignored.
type Listed struct {
	// Path is relative to the folder that was listed.
	Path string
	// Mode and Object are the index's; empty for an untracked file, and for one in conflict.
	Mode, Object string
}

// Files lists the files in folder and below. A tracked one may be gone. Submodules and
// repositories in the folder are left out. Beyond 16 MiB of names it is ErrTooLarge.
func (g *Git) Files(ctx context.Context, r *Repository, folder string) ([]Listed, error) {
	out, err := g.Run(ctx, r, folder, "ls-files", "-z", "-t", "-s", "-c", "-o", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var all []Listed
	for line := range bytes.SplitSeq(out, []byte{0}) {
		tag, rest, _ := strings.Cut(string(line), " ")
		if tag == "?" {
			if !strings.HasSuffix(rest, "/") {
				all = append(all, Listed{Path: rest})
			}
			continue
		}
		// mode, object and stage, then a tab and the path
		about, path, ok := strings.Cut(rest, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 || fields[0] == modeSubmodule {
			continue
		}
		l := Listed{Path: path}
		if fields[2] == "0" {
			l.Mode, l.Object = fields[0], fields[1]
		}
		if n := len(all); n > 0 && all[n-1].Path == path {
			continue // another stage
		}
		all = append(all, l)
	}
	return all, nil
}

// Store returns a repository that holds objects and refs for a folder which is in none, and
// makes it where it is not there yet. Only the owner may read it.
func Store(dir, folder string) (*Repository, error) {
	for _, below := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
			return nil, fmt.Errorf("make a store: %w", err)
		}
	}
	head := filepath.Join(dir, "HEAD")
	if _, err := os.Lstat(head); err != nil {
		if err := os.WriteFile(head, []byte("ref: refs/heads/none\n"), 0o600); err != nil {
			return nil, fmt.Errorf("make a store: %w", err)
		}
	}
	return &Repository{Worktree: folder, dir: dir, common: dir, private: true}, nil
}

// Filed reports whether the repository's refs are files, which the hub can write.
func (r *Repository) Filed() bool { return r.filed() == nil }

// HashSize returns the length of the repository's object names in bytes: 20 or 32.
func (g *Git) HashSize(ctx context.Context, r *Repository) (int, error) {
	own, err := g.configuration(ctx, r)
	if err != nil {
		return 0, err
	}
	if strings.EqualFold(own["extensions.objectformat"], "sha256") {
		return 32, nil
	}
	return 20, nil
}

// State is the commit that holds the files of a folder at a moment, and its tree. It has no
// parent.
type State struct{ Commit, Tree string }

// Changed is a file of a state that its base does not have as it is.
type Changed struct {
	Entry
	// Open opens its content, of Size bytes. Nil if the repository has the Object.
	Open func() (io.ReadCloser, error)
	Size int64
}

// WriteState writes a state into the repository's objects, in one run of git: the files of
// the tree base, which may be empty, without those that are gone and with those that
// changed. No ref leads to it. Content is stored as it is read: no filter runs.
func (g *Git) WriteState(ctx context.Context, r *Repository, base string, gone []string, changed []Changed, words string, at time.Time) (State, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return State{}, fmt.Errorf("write a state: %w", err)
	}
	defer s.remove()
	c := s.command(r.Worktree, "fast-import", "--quiet", "--done")
	read, write := io.Pipe()
	c.in = read
	written := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(write, 64<<10)
		err := writeImport(out, base, gone, changed, words, at)
		if err == nil {
			err = out.Flush()
		}
		_ = write.CloseWithError(err)
		written <- err
	}()
	out, err := g.output(ctx, c)
	_ = read.Close() // git has ended
	if failed := <-written; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed
	}
	if err != nil {
		return State{}, fmt.Errorf("write a state: %w", err)
	}
	commit, rest, _ := strings.Cut(string(out), "\n")
	fields := strings.Fields(rest)
	if !isCommit(commit) {
		return State{}, fmt.Errorf("write a state: git says %q", out)
	}
	if len(fields) == 3 && isCommit(fields[2]) {
		return State{commit, fields[2]}, nil
	}
	return g.stateOf(ctx, r, commit) // of an empty tree it says nothing
}

// HeadTree is the tree of the commit that is checked out, with its entries. Without a commit
// it is empty, and also in a partial clone, which may not have the entries' objects.
func (g *Git) HeadTree(ctx context.Context, r *Repository) (tree string, entries []Entry, err error) {
	head, err := r.Head()
	if err != nil || head.Commit == "" {
		return "", nil, err
	}
	own, err := g.configuration(ctx, r)
	if err != nil || own["extensions.partialclone"] != "" {
		return "", nil, err
	}
	of, err := g.stateOf(ctx, r, head.Commit)
	if err != nil {
		return "", nil, err
	}
	entries, err = g.Tree(ctx, r, head.Commit)
	return of.Tree, entries, err
}

// stateOf finds the tree of a state.
func (g *Git) stateOf(ctx context.Context, r *Repository, commit string) (State, error) {
	out, err := g.Run(ctx, r, r.Worktree, "rev-parse", "--verify", "--end-of-options", commit+"^{tree}")
	if tree := strings.TrimSpace(string(out)); err == nil && isCommit(tree) {
		return State{commit, tree}, nil
	}
	return State{}, fmt.Errorf("find the tree of %q: %w", commit, errors.Join(err, ErrNoRef))
}

// writeImport writes what `git fast-import` reads. What is gone comes first: a folder may
// have become a file.
func writeImport(out *bufio.Writer, base string, gone []string, changed []Changed, words string, at time.Time) error {
	fmt.Fprintf(out, "commit refs/abide/state\nmark :1\ncommitter abide <abide@localhost> %d +0000\ndata %d\n%s\n", at.Unix(), len(words), words)
	if base != "" {
		fmt.Fprintf(out, "M %s %s \"\"\n", modeFolder, base)
	}
	for _, path := range gone {
		fmt.Fprintf(out, "D %s\n", quoted(path))
	}
	for _, c := range changed {
		if c.Open == nil {
			fmt.Fprintf(out, "M %s %s %s\n", c.Mode, c.Object, quoted(c.Path))
			continue
		}
		content, err := c.Open()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "M %s inline %s\ndata %d\n", c.Mode, quoted(c.Path), c.Size)
		n, err := io.Copy(out, io.LimitReader(content, c.Size))
		if err = errors.Join(err, content.Close()); err != nil {
			return err
		}
		if n != c.Size {
			return fmt.Errorf("%q became shorter while it was read", c.Path)
		}
		_ = out.WriteByte('\n') // Flush has the error
	}
	_, err := out.WriteString("get-mark :1\nls :1 \"\"\ndone\n")
	return err
}

// quoted is a path as fast-import takes it.
func quoted(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Difference is a path at which two states differ. From or To is the zero Entry where the
// state has nothing there.
type Difference struct {
	Path     string
	From, To Entry
}

// Differences lists the paths at which two states differ, in git's order.
func (g *Git) Differences(ctx context.Context, r *Repository, from, to string) ([]Difference, error) {
	if !isCommit(from) || !isCommit(to) {
		return nil, fmt.Errorf("compare %q and %q: no states", from, to)
	}
	if from == to {
		return nil, nil
	}
	out, err := g.Run(ctx, r, r.Worktree, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to)
	if err != nil {
		return nil, fmt.Errorf("compare states: %w", err)
	}
	var all []Difference
	parts := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		// :mode mode object object letter, then the path
		fields := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(fields) != 5 {
			return nil, fmt.Errorf("compare states: git says %q", parts[i])
		}
		d := Difference{Path: parts[i+1]}
		if strings.Trim(fields[2], "0") != "" {
			d.From = Entry{fields[0], fields[2], d.Path}
		}
		if strings.Trim(fields[3], "0") != "" {
			d.To = Entry{fields[1], fields[3], d.Path}
		}
		all = append(all, d)
	}
	return all, nil
}

// errCut ends a diff that is long enough.
var errCut = errors.New("cut")

// Diff is the unified diff between two states, at most about that many bytes: it ends with a
// whole line. cut means that there is more.
func (g *Git) Diff(ctx context.Context, r *Repository, from, to string, most int64) (text []byte, cut bool, err error) {
	if !isCommit(from) || !isCommit(to) {
		return nil, false, fmt.Errorf("compare %q and %q: no states", from, to)
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, false, err
	}
	defer s.remove()
	err = g.stream(ctx, s.command(r.Worktree, "diff", "--no-renames", from, to), func(out io.Reader) error {
		read, err := io.ReadAll(io.LimitReader(out, most+1))
		if text = read; err == nil && int64(len(text)) > most {
			text = text[:bytes.LastIndexByte(text[:most], '\n')+1]
			return errCut
		}
		return err
	})
	if errors.Is(err, errCut) {
		return text, true, nil
	}
	return text, false, err
}

// Contents calls take with the content of each entry, in order. An entry that the hub would
// not write out is ErrUnsuited, before the first call.
func (g *Git) Contents(ctx context.Context, r *Repository, entries []Entry, take func(e Entry, size int64, content io.Reader) error) error {
	if len(entries) == 0 {
		return nil
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return err
	}
	defer s.remove()
	var objects strings.Builder
	for _, e := range entries {
		if err := e.suited(); err != nil {
			return err
		}
		objects.WriteString(e.Object + "\n")
	}
	c := s.command(r.Worktree, "cat-file", "--batch")
	c.in, c.bound = strings.NewReader(objects.String()), treeBound
	return g.stream(ctx, c, func(piped io.Reader) error {
		out := bufio.NewReaderSize(piped, 64<<10)
		for _, e := range entries {
			size, err := objectSize(out, e)
			if err != nil {
				return err
			}
			content := &io.LimitedReader{R: out, N: size}
			if err := take(e, size, content); err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, content); err != nil {
				return fmt.Errorf("read %q: %w", e.Path, err)
			}
			if _, err := out.Discard(1); err != nil { // the newline after an object
				return fmt.Errorf("read %q: %w", e.Path, err)
			}
		}
		return nil
	})
}

// IsLink reports whether an entry is a symbolic link, whose content is its target.
func (e Entry) IsLink() bool { return e.Mode == modeLink }

// IsExecutable reports whether an entry is a program.
func (e Entry) IsExecutable() bool { return e.Mode == modeExecutable }

// Modes of the entries of a state.
const (
	ModeFile       = modeFile
	ModeExecutable = modeExecutable
	ModeLink       = modeLink
)

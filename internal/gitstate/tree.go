package gitstate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// The modes of a tree's entries.
const (
	modeFile       = "100644"
	modeExecutable = "100755"
	modeLink       = "120000"
	modeSubmodule  = "160000"
	modeFolder     = "040000"
)

// mostLink bounds the target of a symbolic link.
const mostLink = 4 << 10

// ErrUnsuited says that the files of a commit cannot be written out as they are.
var ErrUnsuited = errors.New("not without help from another program")

// Entry is a file, link or submodule of a commit.
type Entry struct {
	Mode, Object, Path string
}

// Tree lists the entries of a commit, in the order of their paths.
func (g *Git) Tree(ctx context.Context, r *Repository, commit string) ([]Entry, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	return g.tree(ctx, s, commit)
}

func (g *Git) tree(ctx context.Context, s *standIn, commit string) ([]Entry, error) {
	if !isCommit(commit) {
		return nil, fmt.Errorf("read tree: %q is not a commit", commit)
	}
	out, err := g.output(ctx, s.command(s.repository.Worktree, "ls-tree", "-r", "-z", "--full-tree", commit))
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	var entries []Entry
	for line := range bytes.SplitSeq(out, []byte{0}) {
		// mode, type and object, then a tab and the path
		about, path, ok := strings.Cut(string(line), "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 {
			continue
		}
		entries = append(entries, Entry{Mode: fields[0], Object: fields[2], Path: path})
	}
	return entries, nil
}

// WriteFiles writes entries of a commit below root, as the objects have them: no
// attribute counts, so line ends and filters change nothing. No existing file is
// written to, and no link is followed: files are made first, links last. A submodule,
// and a path that git itself would not check out (.git, ..), is ErrUnsuited, before
// anything is written. After another error some of the files are there.
func (g *Git) WriteFiles(ctx context.Context, r *Repository, root *os.Root, entries []Entry) error {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return err
	}
	defer s.remove()
	return g.writeFiles(ctx, s, root, entries)
}

func (g *Git) writeFiles(ctx context.Context, s *standIn, root *os.Root, entries []Entry) error {
	var objects strings.Builder
	for _, e := range entries {
		if err := e.suited(); err != nil {
			return err
		}
		objects.WriteString(e.Object + "\n")
	}
	c := s.command(s.repository.Worktree, "cat-file", "--batch")
	c.in, c.bound = strings.NewReader(objects.String()), treeBound
	w := treeWriter{root: root, made: map[string]bool{".": true}}
	return g.stream(ctx, c, func(out io.Reader) error { return w.write(bufio.NewReaderSize(out, 64<<10), entries) })
}

// suited reports as an error what cannot be written out.
func (e Entry) suited() error {
	switch e.Mode {
	case modeFile, modeExecutable, modeLink, "100664": // the last is from old versions of git
	case modeSubmodule:
		return fmt.Errorf("%w: %q is a submodule", ErrUnsuited, e.Path)
	default:
		return fmt.Errorf("%w: %q has the mode %s", ErrUnsuited, e.Path, e.Mode)
	}
	for part := range strings.SplitSeq(e.Path, "/") {
		if part == "" || part == "." || part == ".." || isDotGit(part) {
			return fmt.Errorf("%w: %q is no path for a file", ErrUnsuited, e.Path)
		}
	}
	return nil
}

// isDotGit reports whether a file system may take a name for .git: one that folds
// case, leaves out ignorable characters (HFS+), or has short names and streams (NTFS).
func isDotGit(name string) bool {
	name = strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}

// treeWriter writes files from what `git cat-file --batch` prints.
type treeWriter struct {
	root *os.Root
	made map[string]bool // folders
	// replace makes each file beside the one that is there, which it then replaces.
	replace bool
	stepped func()
}

func (w *treeWriter) write(out *bufio.Reader, entries []Entry) error {
	links := map[string]string{}
	for _, e := range entries {
		size, err := objectSize(out, e)
		if err != nil {
			return err
		}
		content := io.LimitReader(out, size)
		if e.Mode == modeLink {
			if size > mostLink {
				return fmt.Errorf("%w: the link %q has %d bytes", ErrUnsuited, e.Path, size)
			}
			to, err := io.ReadAll(content)
			if err != nil {
				return fmt.Errorf("read %q: %w", e.Path, err)
			}
			links[e.Path] = string(to)
		} else if err := w.file(e, content, size); err != nil {
			return fmt.Errorf("write %q: %w", e.Path, err)
		}
		if _, err := out.Discard(1); err != nil { // the newline after an object
			return fmt.Errorf("read %q: %w", e.Path, err)
		}
	}
	for at, to := range links {
		if err := w.folder(path.Dir(at)); err != nil {
			return err
		}
		if err := w.link(to, at); err != nil {
			return fmt.Errorf("write %q: %w", at, err)
		}
	}
	return nil
}

// objectSize reads the line before an object: its name, its type and its size.
func objectSize(out *bufio.Reader, e Entry) (int64, error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", e.Path, err)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != e.Object || fields[1] != "blob" {
		return 0, fmt.Errorf("read %q: git says %q", e.Path, strings.TrimSpace(line))
	}
	return strconv.ParseInt(fields[2], 10, 64)
}

func (w *treeWriter) file(e Entry, content io.Reader, size int64) error {
	if err := w.folder(path.Dir(e.Path)); err != nil {
		return err
	}
	mode := os.FileMode(0o666)
	if e.Mode == modeExecutable {
		mode = 0o777
	}
	name := e.Path
	if w.replace {
		name = besideName(e.Path, e.Object)
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a kill
			return err
		}
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err = errors.Join(err, f.Close()); err != nil || !w.replace {
		return err
	}
	w.stepped()
	return w.root.Rename(name, e.Path)
}

// besideName is the name under which a file is made that is to replace another.
func besideName(at, object string) string {
	return path.Join(path.Dir(at), ".abide-"+object[:16])
}

// link makes a link.
func (w *treeWriter) link(to, at string) error {
	if !w.replace {
		return w.root.Symlink(to, at)
	}
	name := besideName(at, strings.Repeat("0", 16))
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.root.Symlink(to, name); err != nil {
		return err
	}
	w.stepped()
	return w.root.Rename(name, at)
}

func (w *treeWriter) folder(dir string) error {
	if w.made[dir] {
		return nil
	}
	w.made[dir] = true
	return w.root.MkdirAll(dir, 0o777)
}

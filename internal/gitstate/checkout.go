package gitstate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/abidehub/abide/internal/rootfs"
)

// difference is a path that two commits have differently. A mode of zeros is none.
type difference struct {
	from, to Entry
}

// checkout changes a worktree from one commit to another.
type checkout struct {
	m     *moving
	all   []difference
	index *standIn
}

// compare finds the files that differ between two commits, and refuses where they cannot be
// written: *InTheWay names those that are on disk, or staged, otherwise than either of the
// two has them.
func (m *moving) compare(ctx context.Context, from, to string) (*checkout, error) {
	c := &checkout{m: m}
	out, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "diff-tree", "-r", "-z", "--raw", "--no-renames", from, to))
	if err != nil {
		return nil, err
	}
	if c.all, err = differences(out); err != nil {
		return nil, err
	}
	var entries []staged
	for _, d := range c.all {
		for _, e := range []Entry{d.from, d.to} {
			if err := e.suited(); e.there() && err != nil {
				return nil, err
			}
		}
		e := staged{path: d.to.Path}
		if d.to.there() {
			e.mode, e.object = d.to.Mode, d.to.Object
		}
		entries = append(entries, e)
	}
	own, err := m.withIndex(ctx, "index-compared", to)
	if err == nil {
		err = m.writable(ctx, own, entries)
	}
	if err == nil {
		err = c.asCommitted(ctx, from)
	}
	if err == nil {
		c.index, err = m.personsIndex(ctx, entries)
	}
	return c, err
}

// there reports whether a commit has the path.
func (e Entry) there() bool { return strings.Trim(e.Mode, "0") != "" }

// differences reads what `git diff-tree --raw -z` prints.
func differences(out []byte) ([]difference, error) {
	var all []difference
	fields := bytes.Split(out, []byte{0})
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(strings.TrimPrefix(string(fields[i]), ":"))
		if len(about) != 5 {
			return nil, fmt.Errorf("read a difference: git says %q", fields[i])
		}
		path := string(fields[i+1])
		all = append(all, difference{Entry{about[0], about[2], path}, Entry{about[1], about[3], path}})
	}
	return all, nil
}

// differing lists the paths that differ between two commits.
func (m *moving) differing(ctx context.Context, from, to string) ([]string, error) {
	out, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "diff-tree", "-r", "-z", "--raw", "--no-renames", from, to))
	if err != nil {
		return nil, err
	}
	all, err := differences(out)
	return (&checkout{all: all}).paths(), err
}

func (c *checkout) paths() []string {
	paths := make([]string, len(c.all))
	for i, d := range c.all {
		paths[i] = d.to.Path
	}
	return paths
}

// writable refuses files that git would write otherwise than the commit has them.
func (m *moving) writable(ctx context.Context, s *standIn, entries []staged) error {
	var paths strings.Builder
	for _, e := range entries {
		if e.object != "" && e.mode != modeLink {
			paths.WriteString(e.path + "\x00")
		}
	}
	if eol := strings.ToLower(m.config.values["core.eol"]); isTrue(m.config.values["core.autocrlf"]) || eol == "crlf" {
		return fmt.Errorf("%w: core.autocrlf or core.eol gives files other line ends than the commit has", ErrUnsuited)
	}
	c := s.command(s.repository.Worktree, "check-attr", "--cached", "--stdin", "-z", "filter", "working-tree-encoding", "ident", "eol")
	c.in, c.bound = strings.NewReader(paths.String()), treeBound
	return m.g.stream(ctx, c, func(out io.Reader) error {
		return eachAttribute(bufio.NewReader(out), func(path, name, value string) error {
			given := value != "unspecified" && value != "unset" && value != "set"
			switch {
			case name == "filter" && given:
				return fmt.Errorf("%w: %q passes the filter %q", ErrUnsuited, path, value)
			case name == "working-tree-encoding" && given:
				return fmt.Errorf("%w: %q has the encoding %q", ErrUnsuited, path, value)
			case name == "ident" && (given || value == "set"):
				return fmt.Errorf("%w: %q has the attribute ident", ErrUnsuited, path)
			case name == "eol" && value == "crlf":
				return fmt.Errorf("%w: %q has the attribute eol=crlf", ErrUnsuited, path)
			}
			return nil
		})
	})
}

// asCommitted looks whether files on disk and in the index are as one of the two commits has
// them.
func (c *checkout) asCommitted(ctx context.Context, from string) error {
	root, err := rootfs.Open(c.m.s.repository.Worktree)
	if err != nil {
		return err
	}
	defer root.Close()
	gone := map[string]bool{} // paths that the new commit has not
	to := map[string]Entry{}
	for _, d := range c.all {
		gone[d.to.Path] = !d.to.there()
		to[d.to.Path] = d.to
	}
	var way []string
	for _, d := range c.all {
		if below(root, d.to.Path, gone) {
			way = append(way, d.to.Path)
			continue
		}
		found, err := c.onDisk(root, d.to.Path)
		if err != nil {
			return err
		}
		same := func(e Entry) bool {
			if !e.there() || !found.there() {
				return e.there() == found.there()
			}
			return found.Object == e.Object && c.sameMode(found.Mode, e.Mode)
		}
		if !same(d.from) && !same(d.to) {
			way = append(way, d.to.Path)
		}
	}
	// What is staged there would be lost as well.
	out, err := c.m.g.output(ctx, c.m.s.command(c.m.s.repository.Worktree, "diff-index", "--cached", "-z", "--raw", "--no-renames", from))
	if err != nil {
		return err
	}
	stagedThere, err := differences(out)
	if err != nil {
		return err
	}
	for _, s := range stagedThere {
		if e, differs := to[s.to.Path]; differs && (s.to.Mode != e.Mode || s.to.Object != e.Object) {
			way = append(way, s.to.Path)
		}
	}
	if len(way) > 0 {
		return &InTheWay{Files: way}
	}
	return nil
}

// alone refuses a worktree in which other files are not committed: it is a person's.
func (c *checkout) alone(ctx context.Context) error {
	out, err := c.m.g.output(ctx, c.m.s.command(c.m.s.repository.Worktree, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"))
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, d := range c.all {
		ours[d.to.Path] = true
	}
	var way []string
	for _, change := range parseStatus(out, mostListed).Files {
		if !ours[change.Path] {
			way = append(way, change.Path)
		}
	}
	if len(way) > 0 {
		return &InTheWay{Files: way}
	}
	return nil
}

func (c *checkout) sameMode(a, b string) bool {
	if a == b {
		return true
	}
	link := a == modeLink || b == modeLink
	return !link && c.m.s.own["core.filemode"] == "false"
}

// below reports whether a folder of the path is something else on disk, which stays.
func below(root rootfs.Folder, name string, gone map[string]bool) bool {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if info, err := root.Lstat(at); err == nil && !info.IsDir() && !gone[at] {
			return true
		}
	}
	return false
}

// onDisk is what is at a path now, hashed as git does.
func (c *checkout) onDisk(root rootfs.Folder, name string) (Entry, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Entry{Mode: "000000", Path: name}, nil
	case err != nil:
		return Entry{}, err
	case info.IsDir():
		// A folder where the commit has a file: its files are looked at one by one if they
		// go; others stay, and are in the way then.
		if entries, err := fs.ReadDir(root.FS(), name); err == nil && c.allGo(root, name, entries) {
			return Entry{Mode: "000000", Path: name}, nil
		}
		return Entry{Mode: "040000", Path: name}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return Entry{}, err
		}
		h := c.hash(int64(len(target)))
		io.WriteString(h, target)
		return Entry{modeLink, hex.EncodeToString(h.Sum(nil)), name}, nil
	}
	file, info, err := root.OpenRegular(name)
	if err != nil {
		return Entry{Mode: "060000", Path: name}, nil // nothing that a commit has
	}
	defer file.Close()
	h := c.hash(info.Size())
	if _, err := io.Copy(h, file); err != nil {
		return Entry{}, err
	}
	mode := modeFile
	if info.Mode()&0o100 != 0 {
		mode = modeExecutable
	}
	return Entry{mode, hex.EncodeToString(h.Sum(nil)), name}, nil
}

// allGo reports whether all that is in a folder goes with the change.
func (c *checkout) allGo(root rootfs.Folder, name string, entries []fs.DirEntry) bool {
	for _, e := range entries {
		at := path.Join(name, e.Name())
		if e.IsDir() {
			inner, err := fs.ReadDir(root.FS(), at)
			if err != nil || !c.allGo(root, at, inner) {
				return false
			}
			continue
		}
		goes := false
		for _, d := range c.all {
			goes = goes || d.to.Path == at && !d.to.there()
		}
		if !goes {
			return false
		}
	}
	return true
}

// hash begins the hash of an object with that many bytes.
func (c *checkout) hash(size int64) hash.Hash {
	h := sha1.New()
	if c.m.hexLength() == 64 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// write changes the files, and then the index. Files that go are removed first.
func (c *checkout) write(ctx context.Context) error {
	m := c.m
	root, err := rootfs.Open(m.s.repository.Worktree)
	if err != nil {
		return err
	}
	defer root.Close()
	m.g.step("before the files")
	var made []Entry
	for _, d := range c.all {
		if d.to.there() {
			made = append(made, d.to)
			continue
		}
		if err := root.Remove(d.to.Path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
		for at := path.Dir(d.to.Path); at != "."; at = path.Dir(at) {
			if root.Remove(at) != nil { // only an empty folder
				break
			}
		}
		m.g.step("file removed")
	}
	var objects strings.Builder
	for _, e := range made {
		objects.WriteString(e.Object + "\n")
	}
	command := m.s.command(m.s.repository.Worktree, "cat-file", "--batch")
	command.in, command.bound = strings.NewReader(objects.String()), treeBound
	w := treeWriter{root: root.Root, made: map[string]bool{".": true}, replace: true, stepped: func() { m.g.step("file written") }}
	if err := m.g.stream(ctx, command, func(out io.Reader) error { return w.write(bufio.NewReaderSize(out, 64<<10), made) }); err != nil {
		return err
	}
	return m.putIndex(ctx, c.index)
}

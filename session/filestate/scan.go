package filestate

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
	"github.com/abidehub/abide/internal/rootfs"
)

// racyFor is how long ago a file must have changed for its times to tell that it has not
// changed since: some file systems count in two seconds.
const racyFor = 2 * time.Second

// readers bounds the files that are read at once for a state.
const readers = 4

// aside begins the name of the folder in a workspace where files wait to be put in their
// place. No state has it.
const aside = ".abide-undo-"

// file is a file of a state. Its times and numbers say whether it is the same still.
type file struct {
	Mode   string `json:"m"`
	Object string `json:"o"`
	Size   int64  `json:"s"`
	// Modified and Changed are in nanoseconds; 0 if the file has to be read again.
	Modified int64  `json:"t,omitempty"`
	Changed  int64  `json:"c,omitempty"`
	Inode    uint64 `json:"i,omitempty"`
	Perm     uint32 `json:"p,omitempty"`
}

// same reports whether a file is as it was when it was read.
func (f file) same(other file) bool {
	return f.Modified != 0 && f.Size == other.Size && f.Modified == other.Modified && f.Changed == other.Changed &&
		f.Inode == other.Inode && f.Mode == other.Mode
}

// scan looks at the files of a folder for a state.
type scan struct {
	keeper  *Keeper
	folder  rootfs.Folder
	at      place
	dir     string
	session string
	began   time.Time
	size    int
	own     []os.FileInfo
	dirs    map[string]bool // whether a directory is the hub's own

	files   map[string]file            // as they are, without objects
	indexed map[string]gitstate.Listed // those of which the index has an object
}

// look takes the sizes and times of the files. It reads none.
func (s *scan) look(ctx context.Context, listed []gitstate.Listed) error {
	s.files, s.indexed = make(map[string]file, len(listed)), map[string]gitstate.Listed{}
	var bytes int64
	for _, l := range listed {
		if strings.HasPrefix(l.Path, aside) {
			continue
		}
		info, err := os.Lstat(filepath.Join(s.dir, l.Path))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			continue // deleted, or a folder, a pipe, a socket
		}
		if err != nil {
			if ctx.Err() != nil {
				return noState(ctx.Err())
			}
			continue // a part of its path is no folder any more
		}
		if s.isOwn(l.Path, info) {
			continue
		}
		f := fileOf(info)
		if bytes += f.Size; bytes > mostBytes {
			return &NoneError{Why: fmt.Sprintf("the files have more than %d MiB", mostBytes>>20)}
		}
		if s.files[l.Path] = f; len(s.files) > mostFiles {
			return &NoneError{Why: fmt.Sprintf("there are more than %d files", mostFiles)}
		}
		if l.Object != "" && s.at.listed == s.at.objects {
			s.indexed[l.Path] = l
		}
	}
	return nil
}

// fileOf is what a file's directory entry says.
func fileOf(info fs.FileInfo) file {
	f := file{Mode: gitstate.ModeFile, Size: info.Size(), Modified: info.ModTime().UnixNano(), Perm: uint32(info.Mode().Perm())}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		f.Mode = gitstate.ModeLink
	case info.Mode().Perm()&0o100 != 0:
		f.Mode = gitstate.ModeExecutable
	}
	f.Changed, f.Inode = changedAt(info)
	return f
}

// isOwn reports whether a file is the hub's own.
func (s *scan) isOwn(path string, info fs.FileInfo) bool {
	if len(s.own) == 0 {
		return false
	}
	dir := filepath.Dir(path)
	own, known := s.dirs[dir]
	if !known {
		at := filepath.Join(s.dir, dir)
		real, err := filepath.EvalSymlinks(at)
		var about fs.FileInfo
		if err == nil {
			about, err = os.Lstat(real)
		}
		own = err != nil || s.keeper.own.Holds(about, real)
		s.dirs[dir] = own
	}
	if own || slices.ContainsFunc(s.own, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
		return true
	}
	return info.Mode().IsRegular() && ownfiles.LinkCount(info) > 1 && s.keeper.own.Contains(info)
}

// write writes the state, as a change of the last one.
func (s *scan) write(ctx context.Context, last memory) (State, error) {
	var gone []string
	for path := range last.Files {
		if _, is := s.files[path]; !is {
			gone = append(gone, path)
		}
	}
	files := make(map[string]file, len(s.files))
	var unknown []string
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if before := last.Files[path]; before.same(s.files[path]) {
			files[path] = before
		} else {
			unknown = append(unknown, path)
		}
	}
	all, err := s.readAll(ctx, unknown)
	if err != nil {
		return State{}, err
	}
	var changed []gitstate.Changed
	for i, path := range unknown {
		read, before := all[i], last.Files[path]
		if read.Object == "" { // it has gone
			if before.Object != "" {
				gone = append(gone, path)
			}
			continue
		}
		files[path] = read
		if read.Object == before.Object && read.Mode == before.Mode {
			continue // only its times changed
		}
		c := gitstate.Changed{Entry: gitstate.Entry{Mode: read.Mode, Object: read.Object, Path: path}, Size: read.Size}
		if s.indexed[path].Object != read.Object && before.Object != read.Object {
			c.Open = func() (io.ReadCloser, error) { return s.open(path, read) }
		}
		changed = append(changed, c)
	}
	if last.Tree != "" && len(gone) == 0 && len(changed) == 0 && s.lasts(last.Commit) {
		return State{gitstate.State{Commit: last.Commit, Tree: last.Tree}, files}, nil
	}
	slices.Sort(gone)
	words := "The files of a session's workspace, kept by abide.\n"
	state, err := s.keeper.git.WriteState(ctx, s.at.objects, last.Tree, gone, changed, words, s.began)
	return State{state, files}, err
}

// lasts reports whether a ref leads to a state, so that git does not tidy it up.
func (s *scan) lasts(commit string) bool {
	all, err := s.at.objects.States(s.session)
	return err == nil && slices.Contains(slices.Collect(maps.Values(all)), commit)
}

// open opens the content of a file that was read: of a link its target.
func (s *scan) open(path string, read file) (io.ReadCloser, error) {
	if read.Mode == gitstate.ModeLink {
		to, err := s.folder.Readlink(path)
		return &checked{Reader: strings.NewReader(to), hash: s.hasher(read.Size), want: read.Object}, err
	}
	f, _, err := s.folder.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return &checked{Reader: f, file: f, hash: s.hasher(read.Size), want: read.Object}, nil
}

// checked is a file that must have the same content when it is read again.
type checked struct {
	io.Reader
	file *os.File // nil of a link
	hash hash.Hash
	want string
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.hash.Write(p[:n]) // never fails
	return n, err
}

// Close implements io.Closer.
func (c *checked) Close() error {
	if c.file != nil {
		_ = c.file.Close() // it was read only
	}
	if hex.EncodeToString(c.hash.Sum(nil)) != c.want {
		return errors.New("a file changed while it was read")
	}
	return nil
}

// readAll reads files for the names of their objects, in the order of their paths. A file that
// has gone has none.
func (s *scan) readAll(ctx context.Context, paths []string) ([]file, error) {
	all := make([]file, len(paths))
	next := atomic.Int64{}
	group, ctx := errgroup.WithContext(ctx)
	for range min(readers, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(paths)); i = next.Add(1) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				read, err := s.read(paths[i], s.files[paths[i]])
				if err == nil {
					all[i] = read
				} else if !errors.Is(err, fs.ErrNotExist) {
					return &NoneError{fmt.Sprintf("%q cannot be read", paths[i]), err}
				}
			}
			return nil
		})
	}
	return all, group.Wait()
}

// read reads a file for the name of its object. If it changed within two seconds, or while
// it was read, it is read again next time.
func (s *scan) read(path string, seen file) (file, error) {
	if seen.Mode == gitstate.ModeLink {
		to, err := s.folder.Readlink(path)
		if err != nil {
			return file{}, err
		}
		seen.Size = int64(len(to))
		object, err := s.hash(seen.Size, strings.NewReader(to))
		seen.Object, seen.Modified = object, 0
		return seen, err
	}
	f, info, err := s.folder.OpenRegular(path)
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	if s.isOwn(path, info) {
		return file{}, fs.ErrNotExist
	}
	is := fileOf(info)
	if is.Object, err = s.hash(is.Size, f); err != nil {
		return file{}, err
	}
	after, err := f.Stat()
	if err != nil {
		return file{}, err
	}
	if now := fileOf(after); !is.same(now) || max(now.Modified, now.Changed) > s.began.Add(-racyFor).UnixNano() {
		is.Modified = 0
	}
	return is, nil
}

// hash is the name that git gives a file's object.
func (s *scan) hash(size int64, content io.Reader) (string, error) {
	h := s.hasher(size)
	n, err := io.Copy(h, io.LimitReader(content, size))
	if err == nil && n != size {
		err = errors.New("it became shorter while it was read")
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

func (s *scan) hasher(size int64) hash.Hash {
	h := sha1.New()
	if s.size == sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

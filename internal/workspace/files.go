package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/server/wire"
)

// ErrNotFound says that there is nothing to be shown at a path: it does not exist,
// it leads out of the folder, or it is private. A client is not told which.
var ErrNotFound = errors.New("not found")

// ErrExists says that there is already something at the path of a new folder.
var ErrExists = errors.New("already exists")

const (
	// mostEntries bounds the entries that are listed of one folder.
	mostEntries = 2000
	// mostRead bounds the names that are read of one folder.
	mostRead = 200_000
)

// Files shows the files of folders. Its methods may be called at any time from any
// goroutine.
type Files struct {
	git      *gitstate.Git
	own      ownfiles.Set
	names    *names
	branches *branches
}

// New returns a Files that shows nothing of own, which are files and directories of
// the hub. Without git, changes are unknown and completion ignores .gitignore.
func New(git *gitstate.Git, own []string) *Files {
	return &Files{git: git, own: own, names: newNames(), branches: newBranches()}
}

// Listing is a folder's entries: folders first, then by name.
type Listing struct {
	Entries []wire.FileEntry
	// LeftOut is how many more there are.
	LeftOut int
}

// List lists the folder at path, which is relative to root. Empty is root itself.
func (f *Files) List(root, path string) (Listing, error) {
	opened, err := f.open(root, path)
	if err != nil {
		return Listing{}, err
	}
	defer opened.Close()
	found, left, err := firstEntries(opened)
	if err != nil {
		return Listing{}, notFound(path, err)
	}
	list := Listing{Entries: []wire.FileEntry{}, LeftOut: left}
	own := f.own.Infos()
	for _, e := range found {
		info, err := e.Info()
		if err != nil || isOne(info, own) {
			continue
		}
		list.Entries = append(list.Entries, entryOf(info))
	}
	return list, nil
}

// firstEntries reads a folder and keeps its first entries: folders first, then by name.
// left counts the others. It holds few entries at once, however many there are.
func firstEntries(folder *os.File) (first []fs.DirEntry, left int, err error) {
	for read := 0; read < mostRead; {
		some, err := folder.ReadDir(mostEntries)
		read += len(some)
		some = slices.DeleteFunc(some, func(e fs.DirEntry) bool { return ownfiles.InGit(e.Name()) })
		first = append(first, some...)
		slices.SortFunc(first, func(a, b fs.DirEntry) int {
			if a.IsDir() != b.IsDir() {
				if a.IsDir() {
					return -1
				}
				return 1
			}
			return strings.Compare(a.Name(), b.Name())
		})
		if over := len(first) - mostEntries; over > 0 {
			left += over
			clear(first[mostEntries:])
			first = first[:mostEntries]
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return first, left, nil
}

func isOne(info fs.FileInfo, of []os.FileInfo) bool {
	return slices.ContainsFunc(of, func(other os.FileInfo) bool { return os.SameFile(info, other) })
}

func entryOf(info fs.FileInfo) wire.FileEntry {
	e := wire.FileEntry{Name: info.Name(), Kind: wire.KindOther}
	if !utf8.ValidString(e.Name) {
		e.Name, e.Unreadable = strings.ToValidUTF8(e.Name, "\uFFFD"), true
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		e.Kind = wire.KindFolder
	case mode.IsRegular():
		e.Kind, e.Size = wire.KindFile, info.Size()
	case mode&fs.ModeSymlink != 0:
		e.Kind = wire.KindLink
	}
	return e
}

// Open opens the regular file at path, which is relative to root.
func (f *Files) Open(root, path string) (*os.File, fs.FileInfo, error) {
	opened, err := f.open(root, path)
	if err != nil {
		return nil, nil, err
	}
	info, err := opened.Stat()
	if err != nil || !info.Mode().IsRegular() {
		opened.Close()
		return nil, nil, notFound(path, errors.New("it is not a file"))
	}
	return opened, info, nil
}

// open opens a file or folder below root.
func (f *Files) open(root, path string) (*os.File, error) {
	rel, err := local(path)
	if err != nil {
		return nil, err
	}
	base, err := rootfs.Open(root)
	if err != nil {
		return nil, notFound(root, err)
	}
	defer base.Close()
	opened, err := base.Open(rel)
	if err != nil {
		return nil, notFound(path, err)
	}
	if err := f.admit(opened, root, rel); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

// admit refuses what is not below root, whose path is real: a link may have taken its
// place. It refuses files in .git, where a configuration may hold passwords, and the
// hub's own files.
func (f *Files) admit(opened *os.File, root, rel string) error {
	info, err := opened.Stat()
	if err != nil {
		return notFound(rel, err)
	}
	at, err := rootfs.RealPath(opened, root, rel)
	if err != nil {
		return notFound(rel, err)
	}
	if !rootfs.Holds(root, at) {
		return notFound(rel, errors.New("it is not in the folder: a link stands in the folder's place"))
	}
	hardLinked := !info.IsDir() && ownfiles.LinkCount(info) > 1 && ownfiles.Set(gitstate.Own(root)).Contains(info)
	if ownfiles.InGit(at) || hardLinked || f.own.Holds(info, at) {
		return notFound(rel, errors.New("it is private"))
	}
	return nil
}

// local checks a path that a client names.
func local(path string) (string, error) {
	clean, ok := rootfs.Local(path)
	if !ok {
		return "", notFound(path, errors.New("it leads out of the folder"))
	}
	return clean, nil
}

// notFound keeps the cause for the hub's own log only: its text tells nothing about
// files outside.
func notFound(path string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrNotFound, path, cause)
}

package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/server/wire"
)

// mostCompared bounds each side of a file's change, in bytes.
const mostCompared = 2 << 20

// errUntold is a reason for which a file's change is not told.
type errUntold string

func (e errUntold) Error() string { return string(e) }

const (
	errLink   = errUntold("it is a link")
	errLarge  = errUntold("it has more than 2 MiB")
	errBinary = errUntold("it is binary")
)

// Change reads a file in the commit and as it is now. The path is relative to root.
// ErrNotFound says that it is on neither side, or that there is nothing to be shown at
// the path on one of them.
func (f *Files) Change(ctx context.Context, root, path string) (wire.FileChange, error) {
	rel, err := local(path)
	if err != nil {
		return wire.FileChange{}, err
	}
	if rel == "." || f.hidden(root)(rel) {
		return wire.FileChange{}, notFound(path, errors.New("it is private, or the folder itself"))
	}
	folder, err := f.open(root, "") // refuses a link in its place
	if err != nil {
		return wire.FileChange{}, err
	}
	folder.Close()
	after, err := f.present(root, rel)
	untold := errUntold("")
	if err != nil && !errors.As(err, &untold) {
		return wire.FileChange{}, err
	}
	before, err := f.committed(ctx, root, rel)
	switch {
	case errors.As(err, &untold) || untold != "":
		return wire.FileChange{Unknown: string(untold)}, nil
	case err != nil:
		return wire.FileChange{}, err
	case before == nil && after == nil:
		return wire.FileChange{}, notFound(path, errors.New("it is not in the commit either"))
	}
	return wire.FileChange{Before: before, After: after}, nil
}

// present is the present text of a file; nil where there is none. A link is no file,
// and nothing is read beyond one: git follows none either.
func (f *Files) present(root, rel string) (*string, error) {
	base, err := rootfs.Open(root)
	if err != nil {
		return nil, notFound(root, err)
	}
	defer base.Close()
	for i, c := range rel + "/" {
		if c != '/' {
			continue
		}
		info, err := base.Lstat(rel[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			return nil, nil
		case err != nil:
			return nil, notFound(rel, err)
		case info.Mode()&fs.ModeSymlink != 0 && i < len(rel):
			return nil, notFound(rel, errors.New("a link stands in the place of one of its folders"))
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, errLink
		case info.IsDir() && i == len(rel):
			return nil, nil // a folder stands in its place
		}
	}
	opened, err := f.open(root, rel)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, notFound(rel, errors.New("it is not a file"))
	}
	content, err := io.ReadAll(io.LimitReader(opened, mostCompared+1))
	if err != nil {
		return nil, notFound(rel, err)
	}
	if len(content) > mostCompared {
		return nil, errLarge
	}
	return textOf(content)
}

// committed is the text of a file in the commit; nil where the commit has none.
func (f *Files) committed(ctx context.Context, root, rel string) (*string, error) {
	repository, err := gitstate.Find(root)
	switch {
	case errors.Is(err, gitstate.ErrNone):
		return nil, nil
	case err != nil:
		return nil, errUntold("the repository cannot be read")
	case f.git == nil:
		return nil, errUntold("git is not installed")
	}
	below, err := filepath.Rel(repository.Worktree, root)
	if err != nil {
		return nil, err
	}
	content, err := f.git.Committed(ctx, repository, filepath.Join(below, rel), mostCompared)
	switch {
	case err == nil:
		return textOf(content)
	case errors.Is(err, gitstate.ErrNotCommitted):
		return nil, nil
	case errors.Is(err, gitstate.ErrLink):
		return nil, errLink
	case errors.Is(err, gitstate.ErrLongFile):
		return nil, errLarge
	case errors.Is(err, gitstate.ErrRefused):
		return nil, errUntold("the repository cannot be read")
	case ctx.Err() != nil:
		return nil, errUntold("git took too long")
	}
	return nil, errUntold("git failed")
}

// textOf is a file's content if it is text.
func textOf(content []byte) (*string, error) {
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return nil, errBinary
	}
	text := string(content)
	return &text, nil
}

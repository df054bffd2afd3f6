package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

const (
	// mostCopied and mostCopiedBytes limit what a project lets be copied into a worktree.
	mostCopied      = 10_000
	mostCopiedBytes = 200 << 20
)

// copier copies files between two folders. It follows no link, and writes over nothing.
type copier struct {
	from, to *os.Root
	files    int
	bytes    int64
}

// copyIgnored copies the files that the configuration names for the project into its
// worktree. A name that is not there is left out, and so is a file that the worktree has.
func (m Maker) copyIgnored(ctx context.Context, allowed *settings.Hub, r *gitstate.Repository, w event.Worktree) error {
	dir, names := allowed.CopiesFor(w.Of)
	if len(names) == 0 {
		return nil
	}
	below, err := filepath.Rel(r.Worktree, dir)
	if err != nil || !filepath.IsLocal(below) {
		below = "." // the directory is above the repository
	}
	c := copier{}
	if c.from, err = os.OpenRoot(r.Worktree); err != nil {
		return fmt.Errorf("copy ignored files: %w", err)
	}
	defer c.from.Close()
	if c.to, err = os.OpenRoot(w.Folder); err != nil {
		return fmt.Errorf("copy ignored files: %w", err)
	}
	defer c.to.Close()
	for _, name := range names {
		if err := c.copy(ctx, filepath.Join(below, name)); err != nil {
			return fmt.Errorf("%w: %q could not be copied into the worktree: %v", state.ErrConflict, name, err)
		}
	}
	return nil
}

// copy copies a file, or a folder with what is in it.
func (c *copier) copy(ctx context.Context, name string) error {
	info, err := c.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.to.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if c.files++; c.files > mostCopied || ctx.Err() != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("there are more than %d files, or it took too long", mostCopied))
	}
	switch {
	case info.IsDir():
		return c.folder(ctx, name, info)
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := c.from.Readlink(name)
		if err == nil {
			err = c.to.Symlink(to, name)
		}
		return notThere(err)
	case info.Mode().IsRegular():
		return c.file(name, info)
	}
	return nil // a pipe or a device
}

func (c *copier) folder(ctx context.Context, name string, info fs.FileInfo) error {
	if filepath.Base(name) == ".git" {
		return nil
	}
	if err := notThere(c.to.Mkdir(name, info.Mode().Perm())); err != nil {
		return err
	}
	entries, err := fs.ReadDir(c.from.FS(), filepath.ToSlash(name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.copy(ctx, filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) file(name string, info fs.FileInfo) error {
	if c.bytes += info.Size(); c.bytes > mostCopiedBytes {
		return fmt.Errorf("there are more than %d MiB", mostCopiedBytes>>20)
	}
	if _, err := c.to.Lstat(name); err == nil {
		return nil
	}
	from, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	part := name + ".abide-copy" // of a kill a part of the file may be left
	to, err := c.to.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(from, info.Size()))
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return c.to.Rename(part, name)
}

// notThere leaves out that a file is there already.
func notThere(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

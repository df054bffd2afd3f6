package filestate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/rootfs"
)

// Restored is what was put back.
type Restored struct {
	// Files is how many files were written or removed.
	Files int
	// Left are files that were left as they are, and why.
	Left []Left
}

// Left is a file that was not put back.
type Left struct{ Path, Why string }

// Why a file is left as it is.
const (
	WhyIgnored = "git ignores it now"
	WhyChanged = "it changed meanwhile"
	WhyPath    = "a part of its path is not a folder"
)

// Restore makes the files as they are in another state. now is the state that was kept just
// before: only files that differ from it are written or removed. A file that is there and
// not in it is ignored by git, and stays; so does one that changed since. No link is
// followed. Each file is replaced at once, so after a kill each is old or new.
func (k *Keeper) Restore(ctx context.Context, of Of, now State, to string) (Restored, error) {
	ctx, cancel := context.WithTimeout(ctx, restoreBound)
	defer cancel()
	done, err := k.turns.Take(ctx, of.Session)
	if err != nil {
		return Restored{}, fmt.Errorf("restore files: %w", err)
	}
	defer done()
	at, err := k.place(of)
	if err != nil {
		return Restored{}, err
	}
	differ, err := k.git.Differences(ctx, at.objects, now.Commit, to)
	if err != nil {
		return Restored{}, fmt.Errorf("restore files: %w", err)
	}
	folder, err := rootfs.Open(of.Folder)
	if err != nil {
		return Restored{}, fmt.Errorf("restore files: %w", err)
	}
	defer folder.Close()
	r := restorer{folder: folder, now: now, aside: aside + of.Session, step: k.stepped}
	if err := r.run(ctx, k.git, at.objects, differ); err != nil {
		return r.done, fmt.Errorf("restore files: %w", err)
	}
	return r.done, nil
}

// Clean removes what a kill left of a Restore.
func (k *Keeper) Clean(of Of) {
	if folder, err := rootfs.Open(of.Folder); err == nil {
		defer folder.Close()
		_ = folder.RemoveAll(aside + of.Session) // no state has it
	}
}

// restorer puts files back.
type restorer struct {
	folder rootfs.Folder
	now    State
	aside  string // where a file waits until it is whole
	step   func(string)
	done   Restored
	next   int
}

// run writes what differs. What is gone goes first: a folder may have been a file.
func (r *restorer) run(ctx context.Context, git *gitstate.Git, repository *gitstate.Repository, differ []gitstate.Difference) error {
	if err := r.folder.RemoveAll(r.aside); err != nil { // of a kill
		return err
	}
	var write []gitstate.Entry
	for _, d := range differ {
		if d.To.Object != "" {
			write = append(write, d.To)
			continue
		}
		if why := r.inTheWay(d.Path); why != "" {
			r.leave(d.Path, why)
			continue
		}
		if err := r.folder.Remove(d.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.leave(d.Path, reason(err))
			continue
		}
		r.done.Files++
		r.removeEmpty(path.Dir(d.Path))
		r.step("removed")
	}
	if len(write) == 0 {
		return nil
	}
	if err := r.folder.Mkdir(r.aside, 0o700); err != nil {
		return err
	}
	err := git.Contents(ctx, repository, write, func(e gitstate.Entry, size int64, content io.Reader) error {
		if why := r.inTheWay(e.Path); why != "" {
			r.leave(e.Path, why)
			return nil
		}
		if err := r.put(e, size, content); err != nil {
			r.leave(e.Path, reason(err))
			return ctx.Err()
		}
		r.done.Files++
		r.step("written")
		return nil
	})
	return errors.Join(err, r.folder.RemoveAll(r.aside))
}

func (r *restorer) leave(path, why string) { r.done.Left = append(r.done.Left, Left{path, why}) }

// reason is an error without the paths of the hub.
func reason(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	var between *os.LinkError
	if errors.As(err, &between) {
		err = between.Err
	}
	return err.Error()
}

// inTheWay is why a path must stay as it is; empty if it is as in the state that was kept.
func (r *restorer) inTheWay(at string) string {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if info, err := r.folder.Lstat(dir); err == nil && !info.IsDir() {
			return WhyPath // a link, or a file that is ignored
		}
	}
	kept, was := r.now.files[at]
	info, err := r.folder.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if was {
			return WhyChanged
		}
		return ""
	case err != nil:
		return reason(err)
	case !was && info.IsDir():
		return WhyPath // and something in it is ignored
	case !was:
		return WhyIgnored
	}
	if is := fileOf(info); is.Size != kept.Size || is.Mode != kept.Mode || is.Inode != kept.Inode || kept.Changed != is.Changed {
		return WhyChanged
	}
	return ""
}

// put writes a file beside the others, and gives it its name once it is whole.
func (r *restorer) put(e gitstate.Entry, size int64, content io.Reader) error {
	r.next++
	part := r.aside + "/" + strconv.Itoa(r.next)
	if e.IsLink() {
		to, err := io.ReadAll(io.LimitReader(content, 4<<10))
		if err == nil {
			err = r.folder.Symlink(string(to), part)
		}
		if err != nil {
			return err
		}
	} else if err := r.file(part, e, size, content); err != nil {
		return err
	}
	if err := r.folder.MkdirAll(path.Dir(e.Path), 0o777); err != nil {
		return err
	}
	r.step("whole")
	return r.folder.Rename(part, e.Path)
}

func (r *restorer) file(part string, e gitstate.Entry, size int64, content io.Reader) error {
	mode := fs.FileMode(0o666)
	if e.IsExecutable() {
		mode = 0o777
	}
	f, err := r.folder.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if was, ok := r.now.files[e.Path]; err == nil && ok && was.Mode != gitstate.ModeLink {
		perm := fs.FileMode(was.Perm) // a person may have made it private
		if perm &^= 0o111; e.IsExecutable() {
			perm |= perm & 0o444 >> 2
		}
		err = f.Chmod(perm)
	}
	return errors.Join(err, f.Close())
}

// removeEmpty removes the folders that a removed file leaves empty.
func (r *restorer) removeEmpty(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if r.folder.Remove(dir) != nil {
			return
		}
	}
}

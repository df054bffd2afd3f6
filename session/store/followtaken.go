package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// A person may remove or replace the active file of a log that another process
// wrote, too. Once that process is gone the file that was followed is the last copy:
// it is kept open, and what becomes of it is a person's to say.

// sawTaken freezes the log if its file, which nobody writes any more, has had no name
// for longer than a writer takes to rename it.
func (f *follower) sawTaken() error {
	now := f.log.opts.Now()
	if f.unnamed.IsZero() {
		f.unnamed = now
	}
	if now.Sub(f.unnamed) <= f.log.opts.FollowEvery {
		return nil
	}
	if f.written() {
		return nil // it is that process's, and its health tells
	}
	if err := f.log.away(); err != nil {
		return err
	}
	f.retry.never = true
	f.taken.Store(true)
	if err := f.log.withPen(func() error { f.kept, f.file = f.file, nil; return nil }); err != nil {
		return err
	}
	f.log.health.freeze(errTaken)
	return errTaken
}

// written reports whether somebody writes what stands in place of the file.
func (f *follower) written() bool {
	standing, err := f.log.fs.OpenRW(filepath.Join(f.log.dir, activeName))
	if err != nil {
		return false
	}
	free, err := standing.TryLock()
	standing.Close() // only its lock was asked for
	return err == nil && !free
}

// lock opens and locks the active file for whoever takes the log over. If a person
// took the one that was followed, a synced copy of that is in place again, and what
// stood there in quarantine. The caller holds the pen.
func (f *follower) lock(ctx context.Context) (File, error) {
	l := f.log
	if f.kept == nil {
		return lockActive(ctx, l.fs, l.dir)
	}
	named, err := l.fs.Means(filepath.Join(l.dir, activeName), f.kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if named { // it was put back; its lock is this process's already
		file := f.kept
		f.kept = nil
		f.taken.Store(false)
		return file, nil
	}
	file, err := f.placeKept()
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, err
	}
	return file, f.forgetKept()
}

// placeKept puts a synced copy of the file that was followed in its place.
func (f *follower) placeKept() (File, error) {
	size, err := sizeOf(f.kept)
	if err != nil {
		return nil, err
	}
	f.log.pen.file = f.kept
	defer func() { f.log.pen.file = nil }()
	return f.log.placeCopy(size)
}

// keepLast is Log.keepLast for a file that was followed. The caller holds the pen.
func (f *follower) keepLast() error {
	if f.kept == nil {
		return nil
	}
	l := f.log
	err := l.away()
	if err == nil {
		_, err = l.fs.Stat(filepath.Join(l.dir, activeName))
		if errors.Is(err, fs.ErrNotExist) {
			var file File
			if file, err = f.placeKept(); file != nil {
				err = errors.Join(err, file.Close())
			}
		} else if err == nil {
			err = f.quarantineKept()
		}
	} else if errors.Is(err, ErrAway) {
		err = nil // all of the session was removed
	}
	return errors.Join(err, f.forgetKept())
}

// quarantineKept keeps aside what was followed, unless it stands in its place again.
func (f *follower) quarantineKept() error {
	l := f.log
	if named, err := l.fs.Means(filepath.Join(l.dir, activeName), f.kept); named || err != nil {
		return err
	}
	size, err := sizeOf(f.kept)
	if err != nil {
		return err
	}
	kept, _, err := quarantine(l.fs, l.dir, "taken", f.kept, span{0, size})
	l.opts.Logger.Warn("the log's file was replaced; what was followed is kept aside", "session", l.id, "in", kept, "err", err)
	return err
}

func (f *follower) forgetKept() error {
	err := f.kept.Close()
	f.kept = nil
	f.taken.Store(false)
	return err
}

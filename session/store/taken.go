package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/abidehub/abide/session/event"
)

// A person may remove, replace or shorten the active file while a hub writes it.
// That is looked for at each sync and when an idle log wakes, never at an append:
// what was not synced was not acknowledged.
var (
	// errTaken: what is written now is gone with the process, which has the last copy.
	errTaken = errors.New("the log's file was removed or replaced by somebody while the hub had it open")
)

// named reports an error if the active file's name no longer leads to the open file.
// The caller sees to it that no file is just being sealed.
func (l *Log) named(file File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink == 0 {
		return l.whyTaken()
	}
	if named, err := l.fs.Means(filepath.Join(l.dir, activeName), file); !named && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return l.whyTaken()
	}
	return nil
}

// whyTaken says what was taken: the file, or its directory.
func (l *Log) whyTaken() error {
	if err := away(l.fs, l.dir); errors.Is(err, ErrAway) {
		return err
	}
	return errTaken
}

// putBack gives the open file its name again if it lost that, as a copy that is
// synced. It reports
// whether there was anything to do. The caller holds the pen, and nothing is synced.
func (l *Log) putBack() (done bool, err error) {
	p := &l.pen
	active := filepath.Join(l.dir, activeName)
	named, err := l.fs.Means(active, p.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !named {
		if named, err = l.unswap(); err != nil {
			return false, err
		}
	}
	if named {
		return false, nil
	}
	return true, l.copyActive()
}

// unswap takes back half of a swapFiles, and says whether that was why the active
// name does not mean the open file.
func (l *Log) unswap() (bool, error) {
	p := &l.pen
	_, synced := l.marks.positions()
	if synced.seq < p.seg.first {
		return false, nil
	}
	sealed, active := filepath.Join(l.dir, sealedName(p.seg.first, synced.seq)), filepath.Join(l.dir, activeName)
	if ours, err := l.fs.Means(sealed, p.file); !ours {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	if _, err := l.fs.Stat(active); !errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(fmt.Errorf("%s is not the file that was written", activeName), err)
	}
	return true, l.fs.Rename(sealed, active)
}

// placeCopy puts a synced copy of the first size bytes of the open file in place of
// the active one. What stands there is in quarantine before. After an error that
// comes with a file, it is in place, but its name may not be durable.
func (l *Log) placeCopy(size int64) (File, error) {
	p := &l.pen
	if err := l.keepStanding(); err != nil {
		return nil, fmt.Errorf("keep what stands in place of %s: %w", activeName, err)
	}
	aside := filepath.Join(l.dir, nextName)
	if err := l.fs.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	fresh, err := newLogFile(l.fs, aside, func(f File) error {
		return copySpan(f, p.file, span{0, size})
	})
	if err != nil {
		return nil, err
	}
	if err := l.fs.Rename(aside, filepath.Join(l.dir, activeName)); err != nil {
		return nil, errors.Join(err, fresh.Close())
	}
	return fresh, l.fs.SyncDir(l.dir)
}

// keepStanding copies what stands in place of the open file to quarantine.
func (l *Log) keepStanding() error {
	active := filepath.Join(l.dir, activeName)
	if named, err := l.fs.Means(active, l.pen.file); named || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := l.fs.OpenRW(active)
	if err != nil {
		return err
	}
	free, err := f.TryLock()
	if err == nil && !free {
		err = errLocked
	}
	size, sizeErr := sizeOf(f)
	err = errors.Join(err, sizeErr)
	if err == nil && size > 0 {
		var kept string
		if kept, _, err = quarantine(l.fs, l.dir, "replaced", f, span{0, size}); err == nil {
			l.opts.Logger.Warn("what stood in place of the log's file is kept", "session", l.id, "in", kept)
		}
	}
	return errors.Join(err, f.Close())
}

// keepLast sees to it that the end of this process does not take the last copy of a
// log with it, whose file somebody removed or replaced. What stands in its place was
// put there by a person, and stays. The caller holds the pen.
func (l *Log) keepLast() error {
	p := &l.pen
	if p.file == nil {
		return nil
	}
	active := filepath.Join(l.dir, activeName)
	if named, err := l.fs.Means(active, p.file); named || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // it is there, or nobody knows
	}
	if errors.Is(l.whyTaken(), ErrAway) {
		return nil // all of the session was removed
	}
	if named, err := l.unswap(); named || err != nil {
		return err
	}
	size, err := sizeOf(p.file)
	if err != nil {
		return err
	}
	size = min(size, p.offset)
	if _, err := l.fs.Stat(active); !errors.Is(err, fs.ErrNotExist) {
		kept, _, err := quarantine(l.fs, l.dir, "taken", p.file, span{0, size})
		l.opts.Logger.Warn("the log's file was replaced; what the hub wrote is kept aside", "session", l.id, "in", kept, "err", err)
		return err
	}
	file, err := l.placeCopy(size)
	if file == nil {
		return err
	}
	l.opts.Logger.Warn("the log's file was removed; what the hub wrote is in its place", "session", l.id)
	return errors.Join(err, file.Close())
}

// beginsLog reports whether a line may be the first of the file behind the sealed
// ones.
func beginsLog(seq event.Seq, sealed []*segment) bool {
	if len(sealed) == 0 {
		return seq == 1 // a copy of the file itself: see putBack
	}
	return seq == sealed[len(sealed)-1].last+1
}

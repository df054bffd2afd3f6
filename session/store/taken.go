package store

import (
	"errors"
	"fmt"
	"io"
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
	// errCut: what is written now would lie behind bytes that are no lines.
	errCut = errors.New("the log's file was shortened by somebody while the hub had it open")
)

// untouched reports what somebody did to the active file, which was written and
// synced as far as said. The caller sees to it that no file is just being sealed.
func (l *Log) untouched(file File, written, synced position) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink == 0 {
		return l.whyTaken()
	}
	// Renamed, it has a name still, but none that the next run looks for.
	if named, err := l.fs.Means(filepath.Join(l.dir, activeName), file); !named && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return l.whyTaken()
	}
	return uncut(file, info.Size(), written, synced)
}

// whyTaken says what was taken: the file, or its directory.
func (l *Log) whyTaken() error {
	if err := l.away(); errors.Is(err, ErrAway) {
		return err
	}
	return errTaken
}

// uncut reports errCut if the file lacks something of what was written. A file that
// was shortened and written to since is long enough, but has no line where the
// last sync ended.
func uncut(file File, size int64, written, synced position) error {
	if size < written.offset {
		return errCut
	}
	if synced.first != written.first || synced.offset <= 0 {
		return nil
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], synced.offset-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if last[0] != '\n' {
		return errCut
	}
	return nil
}

// putBack gives the open file its name again if it lost that, as a copy that is
// synced. A file that was shortened is recovered as the next run would. It reports
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
	size, err := sizeOf(p.file)
	if err != nil {
		return false, err
	}
	written, synced := l.marks.positions()
	cut := uncut(p.file, size, written, synced)
	switch {
	case errors.Is(cut, errCut):
		return true, l.recoverCut(size)
	case cut != nil || named:
		return false, cut
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

// recoverCut goes on with what is left of a file that was shortened. What was shown
// is in the metadata before, so that it costs the epoch if it is gone.
func (l *Log) recoverCut(size int64) error {
	if err := l.saveMetadata(); err != nil {
		return err
	}
	file, err := l.placeCopy(size)
	if file == nil {
		return err
	}
	own := newLog(l.id, l.dir, l.runID, l.opts)
	if err == nil {
		r := recovery{log: own, fs: l.fs, dir: l.dir, prior: prior{cut: true}}
		err = r.run(file)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.pen.ragged = false
	l.health.thaw()
	if err := l.become(own); err != nil {
		return err
	}
	return l.health.refusal()
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

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/session/event"
)

// follower reads a log that another process writes, as far as that process says
// that it is on the device: what lies behind may still be taken back, and its
// seqs given to other events. Once that process is gone the log becomes an
// ordinary one, with the follower's readers still on it. One goroutine owns it.
type follower struct {
	log       *Log
	prior     prior
	reclaimed chan struct{} // closed when Reopen made the log this process's own
	told      Metadata      // what the writing process last said
	active    *segment
	file      File // the active file, opened a second time, for its lock; nil if taking over failed
	alone     bool // nobody writes the log, so all that is in it counts
	end       position
	order     order
	failing   time.Time // since when there is no file
	said      string    // the last warning
	retry     retry     // of taking the log over
	unnamed   time.Time // since when the file has no name

	kept  File        // the file that was followed, if a person took it; guarded by the pen
	taken atomic.Bool // there is one
}

// openFollower opens a session for reading that cannot be opened for writing
// because of why: another process writes it, or there is no room to mend it.
func openFollower(dir, runID string, opts Options, before prior, why error) (*Log, error) {
	l := newLog(filepath.Base(dir), dir, runID, opts)
	f := &follower{log: l, prior: before, reclaimed: make(chan struct{})}
	l.follower = f
	if err := f.begin(isFull(why)); err != nil {
		if isFull(why) {
			err = errors.Join(why, err) // room is what it needs
		}
		return nil, errors.Join(err, f.letGo(), l.segs.close())
	}
	l.foreign.Store(true)
	if isFull(why) {
		f.block(why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.keeper.cancel = cancel
	go func() {
		defer close(l.keeper.done)
		f.run(ctx)
	}()
	return l, nil
}

// begin reads what is there: all of it where the log only could not be mended,
// unless somebody has begun to write it.
func (f *follower) begin(unmended bool) error {
	l := f.log
	if err := f.readMeta(); err != nil {
		return err
	}
	l.touched.Store(f.told.UpdatedAt.UnixMicro())
	if err := f.beginAt(max(f.told.MinSeq, 1)); err != nil || !unmended {
		return err
	}
	free, err := f.file.TryLock()
	if err != nil || !free {
		return err
	}
	f.countAll()
	return f.catchUp()
}

// beginAt reads what is there of the log from seq minSeq on, which retention
// left. After an error everything is as before.
func (f *follower) beginAt(minSeq event.Seq) error {
	l := f.log
	all, err := sealedSegments(l.fs, l.dir)
	if err != nil {
		return fmt.Errorf("list segments: %w", err)
	}
	kept := slices.DeleteFunc(all, func(s *segment) bool { return s.last < minSeq })
	first := minSeq
	if len(kept) > 0 {
		first = kept[len(kept)-1].last + 1
	}
	file, next, err := f.openAt(first)
	if err != nil {
		return err
	}
	if session, err := (kin{l.id, f.told.Epoch, append(slices.Clone(kept), next)}).stranger(next); err != nil || session != "" {
		if err == nil {
			err = &strangerError{session}
		}
		return errors.Join(err, file.Close(), next.retire())
	}
	l.marks.remove(minSeq) // before the files: who does not find one asks this
	old := l.segs.replace(append(kept, next))
	l.marks.reset(minSeq, position{seq: first - 1, first: first})
	errs := []error{f.moveTo(file, next)}
	for _, s := range old {
		errs = append(errs, s.retire())
	}
	return errors.Join(append(errs, f.catchUp())...)
}

// readMeta takes over what the writing process says of the session.
func (f *follower) readMeta() error {
	m, err := readMetadata(f.log.fs, f.log.dir)
	if err != nil {
		return err
	}
	f.told = m
	f.log.sheet.hear(m, func() (labels, error) { return readLabels(f.log.fs, f.log.dir) })
	return nil
}

// heed takes over what the writing process has removed since, as its metadata
// says before the files go.
func (f *follower) heed() error {
	l := f.log
	minSeq := f.told.MinSeq
	if minSeq <= l.segs.all()[0].first {
		return nil
	}
	defer l.bell.Ring() // for those who wait at a place that is gone
	if minSeq > f.active.first {
		// The file that was followed is gone, and so is what was not read of it.
		l.tail.drop()
		return f.beginAt(minSeq)
	}
	l.marks.remove(minSeq)
	var errs []error
	for _, seg := range l.segs.shift(minSeq) {
		errs = append(errs, seg.retire())
	}
	return errors.Join(errs...)
}

// openAt opens the file that begins with seq first: the active one, unless that
// was sealed meanwhile.
func (f *follower) openAt(first event.Seq) (File, *segment, error) {
	active := filepath.Join(f.log.dir, activeName)
	file, err := f.log.fs.OpenRW(active)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	// Listed after it was opened: a file that is not sealed by now was the
	// active one then.
	sealed, err := sealedSegments(f.log.fs, f.log.dir)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	for _, s := range sealed {
		if s.first != first {
			continue
		}
		if err := file.Close(); err != nil {
			return nil, nil, err
		}
		if file, err = f.log.fs.OpenRW(s.path); err != nil {
			return nil, nil, fmt.Errorf("open log: %w", err)
		}
		return file, s, nil
	}
	return file, &segment{fs: f.log.fs, first: first, path: active}, nil
}

// moveTo goes on in a file that openAt opened.
func (f *follower) moveTo(file File, next *segment) error {
	err := f.letGo()
	f.file, f.active = file, next
	f.end = position{seq: next.first - 1, first: next.first}
	f.order = order{prev: next.first - 1}
	return err
}

// letGo closes the second handle.
func (f *follower) letGo() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// run follows until ctx ends or the log is this process's own.
func (f *follower) run(ctx context.Context) {
	news := f.news()
	defer news.close()
	tick := time.NewTicker(f.log.opts.FollowEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := f.letGo(); err != nil {
				f.warn(err)
			}
			return
		case <-f.reclaimed:
		case <-tick.C:
		case <-news.events():
			news.drain()
		case <-news.errors(): // some news was lost
		}
		mine, err := f.look(ctx)
		f.say(err)
		if mine {
			news.close()
			f.log.keep(ctx)
			return
		}
	}
}

// say tells of an error that lasts: between the renames of the writing process
// there is a moment without a file.
func (f *follower) say(err error) {
	switch now := f.log.opts.Now(); {
	case err == nil, errors.Is(err, ErrClosed):
		f.failing, f.said = time.Time{}, ""
	case !errors.Is(err, fs.ErrNotExist):
		f.warn(err)
	case f.failing.IsZero():
		f.failing = now
	case now.Sub(f.failing) > f.log.opts.FollowEvery:
		f.warn(err)
		if away := f.log.away(); errors.Is(away, ErrAway) {
			f.log.health.freeze(away)
		}
	}
}

// warn says something once until there is something else to say.
func (f *follower) warn(err error) {
	if f.said == err.Error() {
		return
	}
	f.said = err.Error()
	f.log.opts.Logger.Warn("session of another process cannot be followed", "session", f.log.id, "err", err)
}

// look reads what is new, and takes the log over if its writer is gone.
func (f *follower) look(ctx context.Context) (mine bool, err error) {
	if !f.log.foreign.Load() {
		return true, nil
	}
	if f.file == nil {
		return f.takeOverAgain(ctx)
	}
	free, err := f.file.TryLock()
	if err != nil {
		return false, err
	}
	named, err := f.log.fs.Means(filepath.Join(f.log.dir, activeName), f.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file is just being sealed
		return false, err
	}
	f.alone = f.alone && free
	if named || !free {
		f.unnamed = time.Time{}
	}
	if free && named && f.waits() {
		return false, f.catchUp() // the lock is kept, so all of it counts meanwhile
	}
	if free && named {
		err := f.takeOver()
		return !f.log.foreign.Load(), err
	}
	if err := f.readMeta(); err != nil {
		return false, err
	}
	if err := f.catchUp(); err != nil {
		return false, err
	}
	if err := f.heed(); err != nil {
		return false, err
	}
	if named {
		return false, nil
	}
	before := f.active
	if err := f.nextFile(); err != nil || f.active != before {
		f.unnamed = time.Time{}
		return false, err
	}
	if free {
		return false, f.sawTaken()
	}
	return false, nil
}

// catchUp reads the lines of the active file that were not read yet and that are
// acknowledged: those up to the writing process's checkpoint.
func (f *follower) catchUp() error {
	size, err := sizeOf(f.file)
	if err != nil {
		return err
	}
	if f.alone {
		return f.readTo(size, maxSeq)
	}
	if f.told.LogFirst != f.active.first {
		return nil // of a file that is complete by now nextFile reads the rest
	}
	return f.readTo(min(size, f.told.LogBytes), maxSeq)
}

// readTo reads whole lines behind what is known, up to an offset and a seq.
func (f *follower) readTo(end int64, last event.Seq) error {
	r := newLineReader(f.file, f.end.offset, end)
	defer r.close()
	l := f.log
	before := f.end.seq
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) || err == nil && !line.terminated {
			break
		}
		if err != nil {
			return err
		}
		var p parsed
		if !line.overlong {
			p = parseLine(line.text)
		}
		if p.seq > last {
			break
		}
		f.end.offset = line.offset + line.size
		if f.order.judge(p, line.offset) != accepted {
			continue
		}
		l.tail.add(p.seq, p.body)
		f.active.index.add(entry{p.seq, line.offset})
		f.end.seq, f.end.sum = p.seq, p.sum
		if at, ok := bodyTimeOf(p.body); ok {
			l.touched.Store(at.UnixMicro())
		}
	}
	if f.end.seq > before {
		l.marks.wrote(f.end, nil)
		l.marks.reached(f.end)
		l.bell.Ring()
	}
	return nil
}

// nextFile goes on in the files that follow the one that was sealed. A sealed
// file is on the device as far as its name says.
func (f *follower) nextFile() error {
	l := f.log
	sealed, err := sealedSegments(l.fs, l.dir)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(sealed, func(s *segment) bool { return s.first == f.active.first })
	if i < 0 {
		return nil // it is just being renamed
	}
	s := sealed[i]
	size, err := sizeOf(f.file)
	if err != nil {
		return err
	}
	if err := f.readTo(size, s.last); err != nil {
		return err
	}
	file, next, err := f.openAt(s.last + 1)
	if err != nil {
		return err
	}
	// A writer that cannot complete its renames takes the first one back.
	if stands, err := l.fs.Means(s.path, f.file); err != nil || !stands {
		return errors.Join(err, file.Close())
	}
	f.active.seal(s.path, s.last)
	l.segs.push(next)
	if err := f.moveTo(file, next); err != nil {
		return err
	}
	if next.last != 0 {
		return f.nextFile()
	}
	return f.catchUp()
}

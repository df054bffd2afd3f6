package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/abidehub/abide/session/event"
)

// followEvery is how often a log of another process is looked at when nothing
// announces news, which not every file system does.
const followEvery = 500 * time.Millisecond

// follower reads a log that another process writes, as it grows. Once that
// process is gone the log becomes an ordinary one, with the follower's readers
// still on it. One goroutine owns it.
type follower struct {
	log     *Log
	crashed bool
	active  *segment
	file    File // the active file, opened a second time, for its lock
	end     position
	order   order
	failing time.Time // since when there is no file
}

// openFollower opens a session for reading that cannot be opened for writing
// because of why: another process writes it, or there is no room to mend it.
func openFollower(dir, runID string, opts Options, crashed bool, why error) (*Log, error) {
	l := newLog(filepath.Base(dir), dir, runID, opts)
	f := &follower{log: l, crashed: crashed}
	l.follower = f
	if err := f.begin(); err != nil {
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

// begin reads what is there.
func (f *follower) begin() error {
	l := f.log
	if err := f.readMeta(); err != nil {
		return err
	}
	l.touched.Store(l.sheet.meta.UpdatedAt.UnixMicro())
	return f.beginAt(max(l.sheet.meta.MinSeq, 1))
}

// beginAt reads what is there of the log from seq minSeq on, which retention left.
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
	for _, old := range l.segs.replace(kept) {
		if err := old.retire(); err != nil {
			return err
		}
	}
	l.marks.reset(minSeq, position{seq: first - 1, first: first})
	if err := f.openAt(first); err != nil {
		return err
	}
	return f.catchUp()
}

// readMeta takes over what the writing process says of the session.
func (f *follower) readMeta() error {
	m, err := readMetadata(f.log.fs, f.log.dir)
	if err != nil {
		return err
	}
	f.log.sheet.mu.Lock()
	defer f.log.sheet.mu.Unlock()
	f.log.sheet.meta = m
	return nil
}

// heed takes over what the writing process has removed since, as its metadata
// says before the files go.
func (f *follower) heed() error {
	if err := f.readMeta(); err != nil {
		return err
	}
	l := f.log
	minSeq := l.sheet.meta.MinSeq // only this goroutine changes it while the log is another's
	if minSeq <= l.segs.all()[0].first {
		return nil
	}
	defer l.bell.ring() // for those who wait at a place that is gone
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
func (f *follower) openAt(first event.Seq) error {
	active := filepath.Join(f.log.dir, activeName)
	file, err := f.log.fs.OpenRW(active)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	next := &segment{fs: f.log.fs, first: first, path: active}
	// Listed after it was opened: a file that is not sealed by now was the
	// active one then.
	sealed, err := sealedSegments(f.log.fs, f.log.dir)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	for _, s := range sealed {
		if s.first != first {
			continue
		}
		if err := file.Close(); err != nil {
			return err
		}
		if file, err = f.log.fs.OpenRW(s.path); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		next = s
	}
	if err := f.letGo(); err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.active = file, next
	f.end = position{seq: first - 1, first: first}
	f.order = order{prev: first - 1}
	f.log.segs.push(next)
	return nil
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
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := f.letGo(); err != nil {
				f.warn(err)
			}
			return
		case <-tick.C:
		case <-news.events():
			news.drain()
		}
		mine, err := f.look()
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
	case err == nil:
		f.failing = time.Time{}
	case !errors.Is(err, fs.ErrNotExist):
		f.warn(err)
	case f.failing.IsZero():
		f.failing = now
	case now.Sub(f.failing) > followEvery:
		f.warn(err)
	}
}

func (f *follower) warn(err error) {
	f.log.opts.Logger.Warn("session of another process cannot be followed", "session", f.log.id, "err", err)
}

// look reads what is new, and takes the log over if its writer is gone.
func (f *follower) look() (mine bool, err error) {
	free, err := f.file.TryLock()
	if err != nil {
		return false, err
	}
	named, err := f.log.fs.Means(filepath.Join(f.log.dir, activeName), f.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file is just being sealed
		return false, err
	}
	if free && named {
		err := f.takeOver()
		return f.file == nil, err
	}
	if err := f.catchUp(); err != nil {
		return false, err
	}
	if err := f.heed(); err != nil {
		return false, err
	}
	if !named {
		return false, f.nextFile()
	}
	return false, nil
}

// catchUp reads whole lines behind what is known.
func (f *follower) catchUp() error {
	size, err := sizeOf(f.file)
	if err != nil {
		return err
	}
	r := newLineReader(f.file, f.end.offset, size)
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
		f.end.offset = line.offset + line.size
		if line.overlong {
			continue
		}
		p := parseLine(line.text)
		if f.order.judge(p) != accepted {
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
		// Only the writer knows what is synced; here it is enough that it is
		// written, because a killed writer loses nothing of that.
		l.marks.wrote(f.end, nil)
		l.marks.reached(f.end)
		l.bell.ring()
	}
	return nil
}

// nextFile goes on in the file that follows the one that was sealed.
func (f *follower) nextFile() error {
	sealed, err := sealedSegments(f.log.fs, f.log.dir)
	if err != nil {
		return err
	}
	for _, s := range sealed {
		if s.first == f.active.first {
			f.active.seal(s.path, s.last)
			if err := f.openAt(s.last + 1); err != nil {
				return err
			}
			return f.catchUp()
		}
	}
	return nil // it is just being renamed
}

// takeOver makes the log this process's own. The lock is held.
func (f *follower) takeOver() error {
	l := f.log
	file := f.file
	f.file = nil
	own, err := f.recover(file)
	if err != nil {
		if isFull(err) && f.wait(err) {
			return nil
		}
		l.health.freeze(err)
		return fmt.Errorf("take over: %w", err)
	}
	return l.withPen(func() error {
		if l.pen.closed {
			return own.segs.close()
		}
		return l.become(own)
	})
}

// recover recovers the log as one that only this process has. The active file
// is locked; after an error it is closed.
func (f *follower) recover(file File) (*Log, error) {
	l := f.log
	own := newLog(l.id, l.dir, l.runID, l.opts)
	r := recovery{log: own, fs: l.fs, dir: l.dir, crashed: f.crashed}
	if err := r.run(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return own, nil
}

// reclaim takes over a log once more that could not be when its writer was gone.
// The caller holds the pen.
func (f *follower) reclaim(ctx context.Context) error {
	file, err := lockActive(ctx, f.log.fs, f.log.dir)
	if err != nil {
		return err
	}
	own, err := f.recover(file)
	if err != nil {
		return err
	}
	f.log.health.thaw()
	return f.log.become(own)
}

// become takes over what was recovered of the same log, with the readers still
// on it. The caller holds the pen.
func (l *Log) become(own *Log) error {
	l.pen.adopt(&own.pen)
	old := l.segs.replace(own.segs.all())
	l.sheet.adopt(&own.sheet)
	l.health.setDamage(own.health.get().Damage)
	l.touched.Store(own.touched.Load())
	l.tail.drop() // it lacks what only the recovery read, and would answer for it
	l.marks.raise(&own.marks)
	l.foreign.Store(false)
	l.health.unblock()
	if err := own.health.refusal(); err != nil {
		l.health.freeze(err) // the device failed its writer
	}
	l.bell.ring()
	l.health.bell.ring()
	var errs []error
	for _, s := range old {
		errs = append(errs, s.retire())
	}
	return errors.Join(errs...)
}

// wait goes on reading a log that nobody writes and that there is no room to
// mend: it is tried again with every look.
func (f *follower) wait(full error) bool {
	file, err := f.log.fs.OpenRW(filepath.Join(f.log.dir, activeName))
	if err != nil {
		return false
	}
	f.file = file
	f.block(full)
	return true
}

// block says that there is no room to mend the log.
func (f *follower) block(full error) {
	if !f.log.health.blocked.Load() {
		f.log.opts.Logger.Warn("there is no room to mend a log; until there is it can be read only", "session", f.log.id, "err", full)
	}
	f.log.health.block(full)
}

// whyReadOnly says why a log cannot be written that this process only reads.
func (l *Log) whyReadOnly() error {
	if err := l.health.refusal(); err != nil {
		return err
	}
	if l.health.blocked.Load() {
		return fmt.Errorf("%w: there is none to mend it", ErrBlocked)
	}
	return ErrReadOnly
}

// announcer says when a directory changes, where the system can tell.
type announcer struct{ watcher *fsnotify.Watcher }

// news begins to listen to the session's directory.
func (f *follower) news() announcer {
	if _, real := f.log.fs.(osFS); !real {
		return announcer{}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(f.log.dir); err != nil {
			err = errors.Join(err, w.Close())
			w = nil
		}
	}
	if err != nil {
		f.warn(fmt.Errorf("watch its directory: %w", err)) // the ticker remains
	}
	return announcer{w}
}

func (a announcer) events() <-chan fsnotify.Event {
	if a.watcher == nil {
		return nil
	}
	return a.watcher.Events
}

// drain takes what came meanwhile: one look serves all of it.
func (a announcer) drain() {
	for {
		select {
		case _, ok := <-a.watcher.Events:
			if !ok {
				return
			}
		default:
			return
		}
	}
}

func (a announcer) close() {
	if a.watcher != nil {
		a.watcher.Close() // fails only if closed already
	}
}

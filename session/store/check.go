package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
	"github.com/abidehub/abide/session/store/logfile"
)

// Check verifies every invariant of the data directory dir, or of one session, and
// changes nothing. It takes no lock, so it may run beside a hub: after the
// checkpoint of a log that is being written, only the blobs are verified. The error means that the check
// could not run; findings are in the report. Files of other packages in a session's
// directory are checked too.
func Check(ctx context.Context, dir, id string, beside ...Beside) (Report, error) {
	return checkDir(ctx, disk.OS(), bootID(), dir, id, beside...)
}

// IDs returns the ids of the sessions in the data directory dir, in no order. It takes no lock.
func IDs(dir string) ([]string, error) {
	names, err := disk.OS().ReadDir(filepath.Join(dir, sessionsDir))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var ids []string
	for _, n := range names {
		if journal.ValidID(n.Name()) && n.IsDir() {
			ids = append(ids, n.Name())
		}
	}
	return ids, nil
}

// Check is the function Check for this store's directory.
func (s *Store) Check(ctx context.Context, id string) (Report, error) {
	return checkDir(ctx, s.opts.FS, s.opts.BootID, s.dir, id)
}

func checkDir(ctx context.Context, fsys FS, boot, dir, id string, beside ...Beside) (Report, error) {
	report := Report{Problems: []Problem{}}
	root := filepath.Join(dir, sessionsDir)
	if id != "" {
		if !journal.ValidID(id) {
			return report, fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
		}
		if _, err := fsys.Stat(filepath.Join(root, id)); errors.Is(err, fs.ErrNotExist) {
			return report, fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
		}
		return report, checkSession(ctx, fsys, boot, filepath.Join(root, id), &report, beside)
	}
	names, err := fsys.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("check data directory %s: %w", dir, journal.ErrNotFound)
	}
	if err != nil {
		return report, fmt.Errorf("check data directory: %w", err)
	}
	checkTop(fsys, dir, &report)
	for _, n := range names {
		name := n.Name()
		if !journal.ValidID(name) || !n.IsDir() {
			if !strings.HasPrefix(name, newPrefix) && !strings.HasPrefix(name, deletedPrefix) {
				detail := "not a session; nothing here reads it"
				if n.Type() == fs.ModeSymlink {
					detail = "a symbolic link, which no session is; put the directory itself in its place"
				}
				report.add(Problem{Kind: ProblemStray, File: filepath.Join(sessionsDir, name), Detail: detail})
			}
			continue
		}
		if err := checkSession(ctx, fsys, boot, filepath.Join(root, name), &report, beside); err != nil {
			return report, err
		}
	}
	return report, nil
}

func checkSession(ctx context.Context, fsys FS, boot, dir string, report *Report, beside []Beside) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	report.Sessions++
	c := &checking{inspection: inspection{fs: fsys, boot: boot, dir: dir, id: filepath.Base(dir)}, ctx: ctx, report: report, blobs: blobs.NewCheck(fsys, dir)}
	c.files(beside)
	for _, b := range beside {
		if repairable, err := b.Check(dir); err != nil {
			report.Problems = append(report.Problems, Problem{
				Session: c.id, Kind: ProblemUnreadable, File: b.File, Detail: err.Error(), Repairable: repairable,
			})
		}
	}
	return c.log()
}

// files checks names and modes. Files of other packages are checked by those
// packages.
func (c *checking) files(beside []Beside) {
	for _, folder := range []string{".", blobs.Dir, quarantineDir, derivedDir} {
		path := filepath.Join(c.dir, folder)
		names, err := c.fs.ReadDir(path)
		if folder != "." && (errors.Is(err, fs.ErrNotExist) || disk.IsLink(c.fs, path)) {
			continue // links are reported with the names of the session
		}
		if err != nil {
			c.add(ProblemUnreadable, folder, 0, "%v", err)
			continue
		}
		checkMode(c.fs, path, Problem{Session: c.id, File: folder}, c.report)
		for _, n := range names {
			name := filepath.Join(folder, n.Name())
			info, err := c.fs.Stat(filepath.Join(c.dir, name))
			if n.IsDir() && name == "ledger.jsonl" { // nothing else looks at it
				c.add(ProblemStray, name, 0, noFileHere)
			}
			if n.IsDir() || errors.Is(err, fs.ErrNotExist) {
				continue // a missing file was temporary, or has been sealed
			}
			modeOf(info, err, Problem{Session: c.id, File: name}, c.report)
			if folder == "." && !slices.ContainsFunc(beside, func(b Beside) bool { return b.File == name }) {
				checkJSON(c.fs, filepath.Join(c.dir, name), Problem{Session: c.id, File: name}, c.report)
			}
		}
	}
}

// log verifies the lines of all segments.
func (c *checking) log() error {
	list, err := c.segments()
	if err != nil {
		c.add(ProblemUnreadable, "", 0, "%v", err)
		return nil
	}
	c.strays(list)
	next := c.minSeq()
	if next == 0 && len(list) > 0 {
		next = list[0].first // earlier events, if any, are unknown
	}
	c.forgotten(list)
	for i, seg := range list {
		name, end := filepath.Base(seg.currentPath()), seg.lastSeq()
		if end != 0 && end < next {
			continue // retention records this before it removes the file
		}
		if seg.first > next {
			c.add(ProblemHole, name, next, "the file begins with seq %d, and no file has what comes before; retention did not remove it", seg.first)
		}
		if c.stray(seg, following(list, i)) {
			if end == 0 {
				break
			}
			next = end + 1
			continue
		}
		last, err := c.segment(seg)
		if end != 0 && errors.Is(err, fs.ErrNotExist) {
			if end < c.minSeq() {
				next = end + 1
				continue // removed since it was listed
			}
		}
		if err != nil {
			c.add(ProblemUnreadable, name, 0, "%v", err)
			last, c.ended = seg.last, true
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		c.report.Events += int64(last - max(seg.first, next) + 1)
		next = last + 1
	}
	c.labels()
	c.opening(list)
	switch {
	case c.live || !c.hasMeta || c.ended:
	case c.meta.SyncedSeq < next-1:
		c.behind(next - 1)
	case c.meta.SyncedSeq != next-1:
		c.lost(activeName, next-1)
	}
	return nil
}

// segments lists the files of the log.
func (c *checking) segments() (list []*segment, err error) {
	// While a log is being sealed it has no active file for a moment. A log with
	// small files may already have the next one.
	const mostMissing, patience = 100, 10 * time.Second
	missing := 0
	for began := time.Now(); missing < mostMissing && time.Since(began) < patience; {
		var active *segment
		if active, err = c.openActive(); err != nil {
			if errors.Is(err, fs.ErrNotExist) && pause(c.ctx, time.Millisecond) {
				missing++
				continue
			}
			return nil, err
		}
		missing = 0
		if list, err = sealedSegments(c.fs, c.dir); err != nil {
			return nil, err
		}
		c.sealed, c.active = list, active
		if active.first, err = c.firstSeq(active.file); err != nil {
			return nil, err
		}
		same, err := c.fs.Means(active.path, active.file)
		if err == nil && same {
			return append(list, active), nil
		}
		if err := errors.Join(err, active.retire()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if info, err := c.fs.Stat(active.path); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return nil, errSymlink
		}
	}
	if missing == mostMissing {
		return c.withoutActive()
	}
	return nil, errors.Join(fmt.Errorf("%s is replaced again and again", activeName), err)
}

// withoutActive lists the files of a log without its active file: the next opening
// creates one.
func (c *checking) withoutActive() ([]*segment, error) {
	c.readMeta()
	list, err := sealedSegments(c.fs, c.dir)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && !c.hasMeta {
		return nil, fmt.Errorf("there is no %s, and no other file of the log", activeName)
	}
	c.report.add(Problem{
		Session: c.id, Kind: ProblemStart, File: activeName, Repairable: true,
		Detail: "it is missing; the log continues in a new one",
	})
	return list, nil
}

// openActive opens the active file, checks whether another process writes it, and
// reads its metadata. It takes the lock for a moment, so that size and metadata
// belong together. An opening of the log meanwhile waits.
func (c *checking) openActive() (*segment, error) {
	path := filepath.Join(c.dir, activeName)
	probe, err := c.fs.Open(path)
	if err != nil {
		return nil, err
	}
	free, err := probe.TryLock()
	if err == nil {
		c.live = !free
		c.readMeta()
		c.size, err = disk.Size(probe)
	}
	if err := errors.Join(err, probe.Close()); err != nil {
		return nil, err
	}
	file, err := c.fs.Open(path)
	if err != nil {
		return nil, err
	}
	return &segment{fs: c.fs, path: path, file: file}, nil
}

// segment verifies one file, and returns the seq of its last line.
func (c *checking) segment(seg *segment) (event.Seq, error) {
	active := seg.lastSeq() == 0
	file, err := seg.acquire()
	if err != nil {
		return 0, err
	}
	defer func() {
		seg.release()
		if seg.rest(); active {
			seg.retire() // only read from
		}
	}()
	end, err := disk.Size(file)
	if err != nil {
		return 0, err
	}
	name, size := filepath.Base(seg.currentPath()), end
	switch {
	case active && c.live && (c.meta.LogFirst != seg.first || c.meta.LogBytes == 0):
		return c.newer(name, file, logfile.End{Seq: seg.first - 1}, size)
	case active && c.live:
		end = min(end, c.meta.LogBytes)
	case active:
		end = min(end, c.size)
	}
	s := logfile.NewScan(seg.first-1, seg.last)
	s.Visit = func(p logfile.Line, l logfile.Raw) { c.event(name, p, l) }
	if err := s.Run(file, 0, end); err != nil {
		return 0, err
	}
	c.told(name, s, seg.last != 0 && s.Good.Seq >= seg.last)
	c.begins(name, seg, s)
	if active && !c.live {
		if c.trusted, err = c.checkpointHolds(file, end); err != nil {
			return 0, err
		}
		c.scan, c.epoch = s, s.Epoch
	}
	if c.hasMeta && c.meta.LogFirst == seg.first && seg.last == 0 {
		c.checkpoint(name, s)
	}
	if active && c.live {
		return c.newer(name, file, logfile.End{Seq: s.Good.Seq, Offset: end}, size)
	}
	if seg.last == 0 {
		return s.Good.Seq, nil
	}
	if s.Good.Seq < seg.last {
		c.add(ProblemHole, name, s.Good.Seq+1, "the file ends with seq %d", s.Good.Seq)
	}
	return seg.last, err
}

// newer verifies the blobs of the events after the checkpoint of a log that another
// process writes, and returns the last seq. Nothing else is a problem there: the end
// of the file may be a write in progress, or one that failed and is about to be
// discarded.
func (c *checking) newer(name string, file io.ReaderAt, checkpoint logfile.End, size int64) (event.Seq, error) {
	s := logfile.NewScan(checkpoint.Seq, 0)
	s.Visit = func(p logfile.Line, _ logfile.Raw) {
		if p.Quality == logfile.Verified {
			c.values(name, p)
		}
	}
	err := s.Run(file, checkpoint.Offset, size)
	return s.Good.Seq, err
}

// told reports the notes of the scan. Bytes after the last line of a complete file
// are not a loss.
func (c *checking) told(name string, s *logfile.Scan, whole bool) {
	for _, h := range s.Holes {
		if h.From == h.To {
			c.add(ProblemHole, name, h.From, "it has no line")
			continue
		}
		c.add(ProblemHole, name, h.From, "no lines for it and all up to seq %d", h.To)
	}
	for _, b := range s.BadLines {
		c.add(ProblemDamaged, name, 0, "%d bytes at byte %d are not a line of this file", b.Size, b.Offset)
	}
	for _, again := range s.Repeats {
		c.add(ProblemRepeat, name, again.Seq, "the line at byte %d does not count: it or a higher seq was there before", again.Offset)
	}
	if torn := s.Torn(); torn.Size > 0 && !whole {
		c.add(ProblemTorn, name, s.Good.Seq, "%d bytes at byte %d, the end of the file, are not a line", torn.Size, torn.Offset)
	}
	if s.Unended {
		c.add(ProblemTorn, name, s.Good.Seq, "its line is the last and lacks its newline")
	}
}

// event verifies one line.
func (c *checking) event(name string, p logfile.Line, l logfile.Raw) {
	if m := &c.meta; p.Seq == m.SyncedSeq && l.Offset+l.Size == m.LogBytes && m.TailCRC == logfile.Hex(p.Sum) {
		c.reached = true
	}
	if p.Quality == logfile.Unverified {
		c.add(ProblemUnverified, name, p.Seq, "its checksum is absent or wrong")
	}
	if l.Size > logfile.MaxLine {
		c.add(ProblemLine, name, p.Seq, "%d bytes long", l.Size)
	}
	c.values(name, p)
}

// values verifies the blobs that a line names.
func (c *checking) values(name string, p logfile.Line) {
	if !strings.Contains(string(p.Body), `"sha256":"`) {
		return
	}
	e, err := p.Event()
	if err != nil {
		c.add(ProblemUnreadable, name, p.Seq, "%v", err)
		return
	}
	var data any
	if json.Unmarshal(e.Data, &data) != nil {
		return
	}
	for b := range blobs.References(data) {
		if !c.blobs.Sound(b) {
			c.add(ProblemBlob, name, p.Seq, "blob %s of %d bytes is missing or damaged", b.SHA256, b.Bytes)
		}
	}
}

package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// errStranger says that a file in the place of one of the log's is another session's.
var errStranger = errors.New("it belongs to another session")

// prelude bounds how far into a file its beginning is looked for: a file made by
// reopening a frozen log has what was not synced before it.
const prelude = 4 << 20

// origin is what the session_start or segment_start of a file says.
type origin struct {
	session string // empty where nothing says whose the file is
	epoch   string
	first   event.Seq
	made    event.Made
}

// originOf reads whose a file is, whatever seqs its lines have. A line whose checksum
// is wrong accuses nobody.
func originOf(file io.ReaderAt, size int64) (origin, error) {
	lines := newProbe(file, 0, min(size, prelude))
	defer lines.close()
	for {
		l, err := lines.next()
		if err != nil {
			return origin{}, notEOF(err)
		}
		if l.overlong {
			continue
		}
		if p := parseLine(l.text); p.quality == verified || p.loose {
			if o := p.origin(); o.session != "" {
				return o, nil
			}
		}
	}
}

// origin is what a line says of its file, if it is one that does.
func (p parsed) origin() (o origin) {
	switch bodyType(p.body) {
	case event.TypeSessionStart, event.TypeSegmentStart:
	default:
		return o
	}
	e, err := bodyEvent(p.body)
	if err != nil {
		return o
	}
	payload, err := e.Payload()
	if err != nil {
		return o
	}
	switch d := payload.(type) {
	case event.SessionStart:
		if e.Seq == 1 {
			o = origin{d.SessionID, d.Epoch, 1, event.Made{
				Agent: d.Agent, Workspace: d.Workspace, ProjectRoot: d.ProjectRoot, CreatedBy: d.CreatedBy,
				RequestKey: d.RequestKey, RequestHash: d.RequestHash, CreatedAt: &e.Time,
			}}
		}
	case event.SegmentStart:
		o = origin{d.SessionID, d.Epoch, d.FirstSeq, d.Made}
	}
	if !isEpoch(o.epoch) {
		o.epoch = ""
	}
	return o
}

// origin is that of a segment's file; of one that is gone, or is no file, there is none.
func (s *segment) origin() (origin, error) {
	file, err := s.acquire()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
		return origin{}, nil
	}
	if err != nil {
		return origin{}, err
	}
	defer s.release()
	size, err := sizeOf(file)
	if err != nil {
		return origin{}, fmt.Errorf("read segment: %w", err)
	}
	return originOf(file, size)
}

// kin tells the files of a log from those of other sessions that somebody put in their
// place. A directory that was renamed, or copied under another id, has its old files
// under the old id still.
type kin struct {
	id    string
	epoch string     // what the metadata says; empty if it says nothing
	files []*segment // all of the log, oldest first
}

// stranger is the session that a file belongs to; empty if that is this one, or
// nothing says whose it is.
func (k kin) stranger(seg *segment) (session string, err error) {
	o, err := seg.origin()
	if err != nil || o.session == "" || o.session == k.id {
		return "", err
	}
	if own, err := k.had(o.session); own || err != nil {
		return "", err
	}
	return o.session, nil
}

// had reports whether the log had another id before: the last file under that has the
// epoch that the log goes on in. Where nothing says which that is, most of the files
// have the id, and none this one.
func (k kin) had(id string) (bool, error) {
	last, next, count := -1, "", map[string]int{}
	for i, seg := range k.files {
		o, err := seg.origin()
		if err != nil {
			return false, err
		}
		count[o.session]++
		switch {
		case o.session == id:
			last, next = i, ""
		case o.session == k.id && last >= 0 && next == "":
			next = o.epoch
		}
	}
	if last < 0 {
		return false, nil
	}
	epoch := cmp.Or(next, k.epoch)
	if epoch == "" {
		delete(count, "")
		for other, n := range count {
			if other == k.id || n > count[id] {
				return false, nil
			}
		}
		return true, nil
	}
	if o, err := k.files[last].origin(); err != nil || o.epoch == epoch {
		return err == nil, err
	}
	s, err := scanSegment(k.files[last])
	if err != nil {
		return false, err
	}
	return slices.Contains(s.epochs, epoch), nil
}

// made is what made the session, as the oldest of its own files says that still does.
func (k kin) made() (event.Made, error) {
	for _, seg := range k.files {
		o, err := seg.origin()
		if err != nil {
			return event.Made{}, err
		}
		if o.made == (event.Made{}) {
			continue // nothing says it there, as in older logs behind the first file
		}
		if session, err := k.stranger(seg); err != nil {
			return event.Made{}, err
		} else if session == "" {
			return o.made, nil
		}
	}
	return event.Made{}, nil
}

// kin is the log's, as it is now.
func (l *Log) kin() kin { return kin{l.id, l.Epoch(), l.segs.all()} }

// estrange notes that a complete file is another session's: nothing of it is served.
func (l *Log) estrange(seg *segment, session string) {
	seg.strange.Store(true)
	seg.looked.Store(true)
	name := filepath.Base(seg.currentPath())
	l.health.sawForeign(name + " " + belongsTo(session))
	l.opts.Logger.Warn("a file of the log is another session's", "session", l.id, "file", name, "of", session)
}

// refusal is the error for whoever wants to read a file that was looked at.
func (s *segment) refusal() error {
	if s.strange.Load() {
		return errStranger
	}
	return nil
}

// belongsTo says whose a file is. What is no id is only some text in a file.
func belongsTo(session string) string {
	if !ValidID(session) {
		return errStranger.Error()[len("it "):]
	}
	return fmt.Sprintf("belongs to session %q", session)
}

// IsForeign reports whether a file of a session's directory is another session's, of
// which nothing may be shown.
func IsForeign(dir, name string) (bool, error) {
	fsys := OS()
	files, err := sealedSegments(fsys, dir)
	if err != nil {
		return false, err
	}
	active := &segment{fs: fsys, first: 1, path: filepath.Join(dir, activeName)}
	if len(files) > 0 {
		active.first = files[len(files)-1].last + 1
	}
	k := kin{id: filepath.Base(dir), files: append(files, active)}
	defer func() {
		for _, seg := range k.files {
			seg.retire() // only read from
		}
	}()
	for _, seg := range k.files {
		if filepath.Base(seg.path) != name {
			continue
		}
		if o, err := seg.origin(); err != nil || o.session == "" || o.session == k.id {
			return false, err
		}
		if m, err := readMetadata(fsys, dir); err == nil {
			k.epoch = m.Epoch
		}
		session, err := k.stranger(seg)
		return session != "", err
	}
	return false, nil
}

// strangerError says that the active file is another session's.
type strangerError struct{ session string }

func (e *strangerError) Error() string { return activeName + " " + belongsTo(e.session) }

// keepForeign moves a file that is another session's to quarantine, and says where it
// is: never a byte of it is removed, for it may be the last copy.
func keepForeign(fsys FS, dir, name, session string) (kept string, err error) {
	folder, err := ownFolder(fsys, dir, quarantineDir)
	if err != nil {
		return "", err
	}
	of := session
	if !ValidID(of) {
		of = "unknown"
	}
	for n := 1; ; n++ {
		kept = filepath.Join(quarantineDir, fmt.Sprintf("of-%s-%d-%s", of, n, name))
		if _, err := fsys.Stat(filepath.Join(dir, kept)); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
	}
	if err := fsys.Rename(filepath.Join(dir, name), filepath.Join(dir, kept)); err != nil {
		return "", fmt.Errorf("move %s, which %s: %w", name, belongsTo(session), err)
	}
	return kept, errors.Join(fsys.SyncDir(folder), fsys.SyncDir(dir))
}

// remove removes a file of the log's events that retention lets go. One that is another
// session's is kept: where, it says.
func (k kin) remove(seg *segment) (kept string, err error) {
	session, err := k.stranger(seg)
	seg.rest()
	if err != nil {
		return "", err
	}
	if session != "" {
		return keepForeign(seg.fs, filepath.Dir(seg.path), filepath.Base(seg.path), session)
	}
	return "", seg.fs.Remove(seg.path)
}

package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"sync"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// errFull says that the spool holds as much as it may.
var errFull = errors.New("too many events wait for the hub")

// Left names the recording whose events a file holds, and the seq that they follow. It
// is the first line of the file.
type Left struct {
	SessionID  string    `json:"session_id"`
	RecorderID string    `json:"recorder_id"`
	After      event.Seq `json:"after"`
}

// line is l as JSON, with spaces up to the length that it has for the greatest seq.
func (l Left) line() []byte {
	widest := l
	widest.After = math.MaxInt64
	return fmt.Appendf(nil, "%-*s", len(widest.json()), l.json())
}

func (l Left) json() []byte {
	line, err := json.Marshal(l)
	if err != nil { // strings and a number
		panic(err)
	}
	return line
}

// last is the last line of a file whose agent has ended.
type last struct {
	End *string `json:"end"` // why the session ends
}

// Dir is the directory of the files of waiting events: beside the data directory.
func Dir(data string) string { return filepath.Clean(data) + ".waiting" }

const (
	// fileEnding ends the name of a file of waiting events.
	fileEnding = ".jsonl"
	// RefusedEnding ends the name of one which its hub refused for good.
	RefusedEnding = ".refused"
)

// spool is a file of lines that wait to be handed over, oldest first. It is named after
// its session and locked by this process. If the process is killed, another one hands
// the lines over: those of a file may be there already, which the hub sees.
type spool struct {
	most int64
	news bell.Slot // a line was put or the spool ended

	mu    sync.Mutex
	path  string
	file  disk.File
	left  Left
	start int64 // of the oldest line that was not handed over
	end   int64 // of the newest line
	tail  []byte
	over  bool
}

func newSpool(dir string, of Left, most int64) (s *spool, err error) {
	fail := func(err error) (*spool, error) {
		return nil, fmt.Errorf("create a file for waiting events in %s: %w", dir, err)
	}
	fsys := disk.OS()
	if err := fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	// Named once it is locked and whole: another process takes what is not locked.
	s = &spool{most: most, news: bell.NewSlot(), left: of, path: filepath.Join(dir, of.SessionID+fileEnding)}
	aside := s.path + ".new"
	if s.file, err = fsys.Create(aside); err != nil {
		return fail(err)
	}
	locked, err := s.file.TryLock()
	if err == nil && !locked {
		err = fs.ErrExist
	}
	if err == nil {
		err = s.begin(of.After)
	}
	if err == nil {
		err = fsys.Rename(aside, s.path)
	}
	if err != nil {
		return fail(errors.Join(err, s.file.Close(), fsys.Remove(aside)))
	}
	return s, nil
}

// begin makes the file empty but for its first line, and its last where there is one.
// The first line has one length for every seq, so that a process killed in between
// leaves one.
func (s *spool) begin(after event.Seq) error {
	s.left.After = after
	line := append(s.left.line(), '\n')
	if err := s.file.Truncate(int64(len(line))); err != nil {
		return err
	}
	s.start, s.end = int64(len(line)), int64(len(line))
	return disk.WriteAll(s.file, append(line, s.tail...), 0)
}

// put adds lines, all or none.
func (s *spool) put(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.news.Ring()
	if s.end-s.start+int64(len(lines)) > s.most {
		return errFull
	}
	if err := disk.WriteAll(s.file, lines, s.end); err != nil {
		return fmt.Errorf("write waiting events: %w", err)
	}
	s.end += int64(len(lines))
	return nil
}

// finish says that nothing more is put, and why the session ends.
func (s *spool) finish(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.news.Ring()
	s.over = true
	line, err := json.Marshal(last{&reason})
	if err != nil { // a string
		panic(err)
	}
	s.tail = append(line, '\n')
	_ = disk.WriteAll(s.file, s.tail, s.end) // only the reason would be lost
}

// next returns whole lines of at most so many bytes together, but one at least, and how
// many bytes they are in the file. done says that there are none and will be none.
func (s *spool) next(most int) (lines [][]byte, size int64, done bool, err error) {
	s.mu.Lock()
	start, end, over := s.start, s.end, s.over
	s.mu.Unlock()
	if start == end {
		return nil, 0, over, nil
	}
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), 64<<10)
	for size < int64(most) {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(lines) > 0 {
			break
		}
		if err != nil {
			return nil, 0, false, fmt.Errorf("read waiting events: %w", err)
		}
		if len(lines) > 0 && size+int64(len(line)) > int64(most) {
			break
		}
		lines, size = append(lines, bytes.TrimSuffix(line, []byte("\n"))), size+int64(len(line))
	}
	return lines, size, false, nil
}

// handed says that the oldest bytes were handed over, to which the destination answered
// a seq.
func (s *spool) handed(size int64, after event.Seq) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start += size; s.start < s.end || size == 0 {
		return nil
	}
	return s.begin(after)
}

// waiting is how many bytes were not handed over.
func (s *spool) waiting() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end - s.start
}

// remove removes the file: everything was handed over.
func (s *spool) remove() error { return disk.OS().Remove(s.path) }

// refuse keeps the file under another name, and says where: its hub never takes the
// events.
func (s *spool) refuse(why error, say func(format string, args ...any)) error {
	say("the hub takes no more events of session %s: %v; the last ones are kept in %s, one JSON object a line: read them there, then delete the file",
		s.left.SessionID, why, s.path+RefusedEnding)
	return disk.OS().Rename(s.path, s.path+RefusedEnding)
}

// openSpool opens the file of a recorder that was killed. It is nil where the recorder
// still runs, or another process has the file.
func openSpool(path string) (s *spool, err error) {
	fsys := disk.OS()
	file, err := fsys.OpenRW(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if locked, err := file.TryLock(); err != nil || !locked {
		return nil, err
	}
	if same, err := fsys.Means(path, file); err != nil || !same {
		return nil, err // it was handed over meanwhile
	}
	size, err := disk.Size(file)
	if err != nil {
		return nil, err
	}
	s = &spool{most: size, news: bell.NewSlot(), path: path, file: file, over: true}
	r := bufio.NewReaderSize(io.NewSectionReader(file, 0, size), 64<<10)
	for first := true; ; first = false {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && !first {
			return s, nil // a line without an end was not passed on
		}
		if errors.Is(err, io.EOF) { // a build of before emptied it: all was handed over
			s = nil
			return nil, fsys.Remove(path)
		}
		if err != nil {
			s = nil
			return nil, err
		}
		var end last
		switch {
		case first:
			if json.Unmarshal(line, &s.left) != nil || s.left.SessionID+fileEnding != filepath.Base(path) {
				s = nil
				return nil, errors.New("it is no file of waiting events")
			}
			s.start, s.end = int64(len(line)), int64(len(line))
		case json.Unmarshal(line, &end) == nil && end.End != nil:
			s.tail = line
		default:
			s.end += int64(len(line))
		}
	}
}

// reason is why the session ends, as far as the recorder came.
func (s *spool) reason() string {
	var end last
	if json.Unmarshal(s.tail, &end) != nil || end.End == nil {
		return "the recorder was killed"
	}
	return *end.End
}

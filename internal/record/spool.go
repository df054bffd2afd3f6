package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/abidehub/abide/internal/bell"
)

// errFull says that the spool holds as much as it may.
var errFull = errors.New("too many events wait for the hub")

// spool is a file of lines that wait to be handed over, oldest first. The file has no
// name: it is gone with the process.
type spool struct {
	most int64
	news bell.Slot // a line was put or the spool ended

	mu    sync.Mutex
	file  *os.File
	start int64 // of the oldest line that was not handed over
	end   int64
	over  bool
}

func newSpool(most int64) (*spool, error) {
	file, err := os.CreateTemp("", "abide-record-*")
	if err != nil {
		return nil, fmt.Errorf("create a file for waiting events: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("create a file for waiting events: %w", err), file.Close())
	}
	return &spool{most: most, news: bell.NewSlot(), file: file}, nil
}

// put adds lines, all or none.
func (s *spool) put(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.news.Ring()
	if s.end-s.start+int64(len(lines)) > s.most {
		return errFull
	}
	if _, err := s.file.WriteAt(lines, s.end); err != nil {
		return fmt.Errorf("write waiting events: %w", err)
	}
	s.end += int64(len(lines))
	return nil
}

// finish says that nothing more is put.
func (s *spool) finish() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.news.Ring()
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

// handed says that the oldest bytes were handed over.
func (s *spool) handed(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start += size; s.start < s.end {
		return nil
	}
	s.start, s.end = 0, 0
	return s.file.Truncate(0)
}

// waiting is how many bytes were not handed over.
func (s *spool) waiting() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end - s.start
}

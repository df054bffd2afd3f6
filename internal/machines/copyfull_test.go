package machines

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/state"
)

// fullDisk is a file system without space while full is set.
type fullDisk struct {
	disk.FS
	full    *atomic.Bool
	folders bool // takes space for a folder, too
}

type fullFile struct {
	disk.File
	full *atomic.Bool
}

func (f fullFile) WriteAt(data []byte, at int64) (int, error) {
	if f.full.Load() {
		return 0, disk.ErrShort
	}
	return f.File.WriteAt(data, at)
}

// Mkdir implements disk.FS.
func (d fullDisk) Mkdir(name string) error {
	if d.full.Load() && d.folders {
		return syscall.ENOSPC
	}
	return d.FS.Mkdir(name)
}

func (d fullDisk) Open(name string) (disk.File, error)   { return d.wrap(d.FS.Open(name)) }
func (d fullDisk) OpenRW(name string) (disk.File, error) { return d.wrap(d.FS.OpenRW(name)) }
func (d fullDisk) Create(name string) (disk.File, error) { return d.wrap(d.FS.Create(name)) }

func (d fullDisk) wrap(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	return fullFile{f, d.full}, nil
}

func (d fullDisk) Means(name string, f disk.File) (bool, error) {
	return d.FS.Means(name, f.(fullFile).File)
}

// lockedBuffer is a log of an operator.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) count(words string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), words)
}

// Home's disk is full: copies stop, which is said once, and calls go on. They go on when there
// is space again.
func TestOnAFullDiskCopiesStopAndCallsGoOn(t *testing.T) {
	full, said := &atomic.Bool{}, &lockedBuffer{}
	p := newPairOf(t, HomeOptions{FS: fullDisk{disk.OS(), full, false}, Logger: slog.New(slog.NewTextHandler(said, nil))})
	p.hub.serve = func(w http.ResponseWriter, _ *http.Request, _ Caller, _ Allow) { w.WriteHeader(http.StatusTeapot) }
	id, log := p.newLog(t.TempDir())
	p.hub.set([]state.Info{lineOf(id)})
	p.join(AllowRead)
	p.linesUntil(id)
	before := p.upTo(id, p.write(log, "before")).Log().Marks().Visible
	full.Store(true)
	after := p.write(log, "while it is full")
	const words = "there is no space for copies"
	require.Eventually(t, func() bool { return said.count(words) > 0 }, patience, time.Millisecond)
	w := httptest.NewRecorder()
	require.NoError(t, p.home.Call(w, httptest.NewRequest("GET", "/api/sessions/"+id, nil), machineID, Caller{}))
	require.Equal(t, http.StatusTeapot, w.Code)
	c, err := p.home.Watch(id)
	require.NoError(t, err)
	require.Equal(t, before, c.Log().Marks().Visible, "it can be read as far as it goes")
	require.Contains(t, p.until(func(m Machine) bool { return m.Problem != "" }).Problem, "home's disk is full")
	p.write(log, "once more")
	full.Store(false)
	p.upTo(id, after+1)
	require.Equal(t, 1, said.count(words))
	require.Eventually(t, func() bool { return said.count("there is space for copies again") == 1 }, patience, time.Millisecond)
	p.until(func(m Machine) bool { return m.Problem == "" })
}

// A session without a copy is opened while home's disk is full: that is what is said, at once,
// and it opens when there is space.
func TestASessionWithoutACopyIsNotOpenedOnAFullDisk(t *testing.T) {
	for _, folders := range []bool{false, true} {
		full := &atomic.Bool{}
		p := newPairOf(t, HomeOptions{FS: fullDisk{disk.OS(), full, folders}, Logger: discard()})
		id, log := p.newLog(t.TempDir())
		p.hub.set([]state.Info{lineOf(id)})
		p.join(AllowRead)
		p.linesUntil(id)
		open := func() error {
			c, err := p.home.Watch(id)
			if err == nil {
				err = c.Begun(t.Context())
			}
			return err
		}
		full.Store(true)
		require.ErrorIs(t, open(), errHomeFull)
		require.ErrorIs(t, open(), state.ErrUnavailable)
		full.Store(false)
		require.Eventually(t, func() bool { return open() == nil }, patience, time.Millisecond)
		p.upTo(id, p.write(log, "after"))
	}
}

// What was to be copied while home's disk was full is copied when there is space, though nothing
// of it changes then.
func TestCopiesThatAFullDiskStoppedGoOnByThemselves(t *testing.T) {
	full := &atomic.Bool{}
	p := newPairOf(t, HomeOptions{FS: fullDisk{disk.OS(), full, false}, Logger: discard(), Follow: 20 * time.Millisecond})
	p.home.Configure(Keep{Copies: KeepAll})
	full.Store(true)
	dir := t.TempDir()
	id, log := p.newLog(dir)
	p.write(log, "before")
	line := lineOf(id)
	line.Epoch, line.MaxSeq = log.Epoch(), log.Marks().Visible
	p.hub.set([]state.Info{line})
	p.join(AllowRead)
	p.until(func(m Machine) bool { return strings.Contains(m.Problem, "home's disk is full") })
	for i := range 20 { // each is a change of the line, the last one, too
		p.write(log, "while it is full")
		line.MaxSeq = log.Marks().Visible
		line.Name = strings.Repeat("n", i)
		p.hub.set([]state.Info{line})
		require.Eventually(t, func() bool { return p.lines()[0].Name == line.Name }, patience, time.Millisecond)
	}
	full.Store(false)
	require.Eventually(t, func() bool {
		copied, _ := os.ReadFile(filepath.Join(p.dir, "copies", machineID, id, "events.jsonl"))
		written, _ := os.ReadFile(filepath.Join(dir, "sessions", id, "events.jsonl"))
		return len(copied) > 0 && bytes.Equal(copied, written)
	}, patience, time.Millisecond)
}

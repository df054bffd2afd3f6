package machines

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/state"
)

// fullDisk is a file system without space while full is set.
type fullDisk struct {
	disk.FS
	full *atomic.Bool
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
	p := newPairOf(t, HomeOptions{FS: fullDisk{disk.OS(), full}, Logger: slog.New(slog.NewTextHandler(said, nil))})
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
	p.write(log, "once more")
	full.Store(false)
	p.upTo(id, after+1)
	require.Equal(t, 1, said.count(words))
	require.Equal(t, 1, said.count("there is space for copies again"))
}

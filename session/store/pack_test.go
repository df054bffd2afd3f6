package store_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// filled makes a log with long lines in several complete files, and a large active one.
func filled(t *testing.T, root string) (*store.Store, *store.Log) {
	s := open(t, root, store.Options{SegmentBytes: 100 << 10})
	l := create(t, s)
	for i := range 600 {
		_, _, err := l.Append(context.Background(), message(fmt.Sprintf("%d %s", i, strings.Repeat("the same words again ", 30))))
		require.NoError(t, err)
	}
	return s, l
}

// linesOf are the lines of a session as they are stored, without opening it.
func linesOf(t *testing.T, s *store.Store, id string) []byte {
	t.Helper()
	parts, err := s.Journal().Lines(id)
	require.NoError(t, err)
	var all bytes.Buffer
	for _, part := range parts {
		lines, err := part.Open()
		require.NoError(t, err)
		_, err = io.Copy(&all, io.NewSectionReader(lines, 0, lines.Size()))
		require.NoError(t, err)
		require.NoError(t, lines.Close())
	}
	return all.Bytes()
}

// A packed log takes a fraction of the space, is read and continued as before, also after a
// restart, and is sound.
func TestAPackedLogIsReadAndContinuedAsBefore(t *testing.T) {
	root := t.TempDir()
	s, l := filled(t, root)
	dir, err := s.SessionDir(l.ID())
	require.NoError(t, err)
	stored, shown, epoch, at := linesOf(t, s, l.ID()), readAll(t, l), l.Epoch(), l.Metadata().UpdatedAt
	before, err := s.Journal().Unpacked(l.ID())
	require.NoError(t, err)
	require.NoError(t, l.Pack(t.Context()))
	require.NoError(t, l.Pack(t.Context()), "again")
	left, err := s.Journal().Unpacked(l.ID())
	require.NoError(t, err)
	require.Zero(t, left)
	sizes, err := s.Journal().Sizes(l.ID())
	require.NoError(t, err)
	require.Less(t, sizes.Log, before/5)

	same := func(s *store.Store, l *store.Log) {
		t.Helper()
		require.True(t, bytes.HasPrefix(linesOf(t, s, l.ID()), stored))
		require.Equal(t, shown, readAll(t, l)[:len(shown)])
		require.Equal(t, epoch, l.Epoch())
	}
	same(s, l)
	require.NoError(t, l.FlushMetadata(t.Context()))
	require.True(t, at.Equal(l.Metadata().UpdatedAt), "its age does not begin again")
	requireSound(t, root)
	require.NoError(t, s.Close())
	requireSound(t, root)
	s = open(t, root, store.Options{SegmentBytes: 100 << 10})
	l, err = s.Log(t.Context(), l.ID())
	require.NoError(t, err)
	require.True(t, at.Equal(l.Metadata().UpdatedAt))
	same(s, l)
	appendN(t, l, 3)
	same(s, l)
	derived, err := os.ReadDir(filepath.Join(dir, "derived"))
	require.NoError(t, err)
	require.Empty(t, derived, "no unpacked copy stays")

	s.SetKeep(1)
	require.Eventually(t, func() bool {
		packed, err := filepath.Glob(filepath.Join(dir, "*.zst"))
		return err == nil && len(packed) == 0
	}, patience, 5*time.Millisecond, "retention removes packed files, too")
}

// steps calls before each change of the disk.
type steps struct {
	*memFS
	before func()
}

func (s steps) Create(name string) (store.File, error) {
	s.before()
	f, err := s.memFS.Create(name)
	return stepped{f, s.before}, err
}
func (s steps) Rename(from, to string) error { s.before(); return s.memFS.Rename(from, to) }
func (s steps) Remove(name string) error     { s.before(); return s.memFS.Remove(name) }
func (s steps) SyncDir(name string) error    { s.before(); return s.memFS.SyncDir(name) }

func (s steps) Means(name string, f store.File) (bool, error) {
	if ours, ok := f.(stepped); ok {
		f = ours.File
	}
	return s.memFS.Means(name, f)
}

type stepped struct {
	store.File
	before func()
}

func (f stepped) Datasync() error { f.before(); return f.File.Datasync() }
func (f stepped) WriteAt(p []byte, at int64) (int, error) {
	f.before()
	return f.File.WriteAt(p, at)
}

// However far packing comes before a kill or a power cut, the log has its events, and can be
// packed again.
func TestPackingThatIsCutOffLosesNothing(t *testing.T) {
	disk := newMemFS()
	var left []*memFS
	r := rand.New(rand.NewPCG(1, 2))
	watched := steps{memFS: disk}
	var mu sync.Mutex // the log's own goroutine changes the disk, too
	recording := false
	record := func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		recording = on
	}
	watched.before = func() {
		mu.Lock()
		defer mu.Unlock()
		if recording {
			left = append(left, disk.restart(), disk.powerCut(r), disk.powerCut(r))
		}
	}
	s, err := store.Open("/data", store.Options{FS: watched, BootID: "boot", SegmentBytes: 4 << 10})
	require.NoError(t, err)
	l := create(t, s)
	for i := range 150 {
		_, _, err := l.Append(context.Background(), message(fmt.Sprint(i, strings.Repeat("x", 600))))
		require.NoError(t, err)
	}
	_, _, err = l.Append(context.Background(), prompt("synced")) // all before it is on the device
	require.NoError(t, err)
	want := readAll(t, l)
	record(true)
	require.NoError(t, l.Pack(t.Context()))
	record(false)
	require.NoError(t, s.Close())
	require.Greater(t, len(left), 100)
	for i, disk := range left {
		if !soak.On() && i%7 != 0 {
			continue
		}
		s, l := openMem(t, disk, l.ID())
		require.Equal(t, want, readAll(t, l)[:len(want)], i)
		require.NoError(t, l.Pack(t.Context()), i)
		require.Equal(t, want, readAll(t, l)[:len(want)], i)
		require.NoError(t, s.Close())
	}
}

// A damaged packed file gives placeholders, never other events, and a check says so.
func TestADamagedPackedFileIsNotBelieved(t *testing.T) {
	root := t.TempDir()
	s, l := filled(t, root)
	require.NoError(t, l.Pack(t.Context()))
	dir, err := s.SessionDir(l.ID())
	require.NoError(t, err)
	shown := readAll(t, l)
	require.NoError(t, s.Close())
	packed, err := filepath.Glob(filepath.Join(dir, "*.zst"))
	require.NoError(t, err)
	require.Greater(t, len(packed), 2)
	for name, damage := range map[string]func([]byte) []byte{
		"cut off": func(data []byte) []byte { return data[:len(data)/2] },
		"changed": func(data []byte) []byte { data[len(data)/2] ^= 0x55; return data },
		"empty":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			require.NoError(t, os.CopyFS(copied, os.DirFS(root)))
			one := filepath.Join(copied, "sessions", l.ID(), filepath.Base(packed[1]))
			data, err := os.ReadFile(one)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(one, damage(data), 0o600))
			report, err := store.Check(t.Context(), copied, l.ID())
			require.NoError(t, err)
			require.NotEmpty(t, report.Problems)
			s := open(t, copied, store.Options{})
			l, err := s.Log(t.Context(), l.ID())
			require.NoError(t, err)
			seen := 0
			for after := event.Seq(0); ; {
				b, err := l.ReadAfter(t.Context(), after, 1<<20)
				if err != nil { // the reader is told, too
					break
				}
				if b.Empty() {
					break
				}
				for g := range b.Headers() {
					e, err := g.Event()
					require.NoError(t, err)
					if e.Type != event.TypeCorrupt && e.Type != event.TypeEpoch && e.Seq <= event.Seq(len(shown)) {
						require.Equal(t, string(shown[e.Seq-1].Data), string(e.Data))
						seen++
					}
				}
				after = b.Last
			}
			require.Greater(t, seen, 10, "the rest is read")
		})
	}
}

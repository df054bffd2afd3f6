package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/store/logfile"
)

// openMem opens the only session of a data directory in memory.
func openMem(t testing.TB, fsys store.FS, id string) (*store.Store, *store.Log) {
	t.Helper()
	s, err := store.Open("/data", store.Options{FS: fsys, BootID: "boot"})
	require.NoError(t, err)
	l, err := s.Log(context.Background(), id)
	require.NoError(t, err)
	return s, l
}

// memSession creates a closed session of n events in memory.
func memSession(t testing.TB, n int) (*memFS, string) {
	t.Helper()
	disk := newMemFS()
	s, err := store.Open("/data", store.Options{FS: disk, BootID: "boot"})
	require.NoError(t, err)
	l := create(t, s)
	appendN(t, l, n-1)
	require.NoError(t, s.Close())
	return disk, l.ID()
}

func (m *memFS) put(path string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes[path] = &memNode{data: bytes.Clone(data), durable: bytes.Clone(data)}
}

func TestALogTornAtEveryByteKeepsEveryWholeLine(t *testing.T) {
	disk, id := memSession(t, 6)
	path := "/data/sessions/" + id + "/events.jsonl"
	meta := "/data/sessions/" + id + "/metadata.json"
	whole, err := disk.ReadFile(path)
	require.NoError(t, err)
	first, original := openMem(t, disk.restart(), id)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	shownAll := readAll(t, original)
	for _, withMeta := range []bool{true, false} {
		for cut := 0; cut <= len(whole); cut++ {
			if !soak.On() && withMeta != (cut%2 == 0) {
				continue // without soak half of them with metadata, the others without
			}
			t.Run(fmt.Sprintf("metadata=%v/%d", withMeta, cut), func(t *testing.T) {
				torn := disk.restart()
				torn.put(path, whole[:cut])
				if !withMeta {
					require.NoError(t, torn.Remove(meta))
				}
				lines := bytes.Count(whole[:cut], []byte("\n"))
				if rest := whole[:cut]; cut > 0 && cut < len(whole) && whole[cut] == '\n' && len(rest) > 0 {
					lines++ // only its newline is missing
				}
				s, l := openMem(t, torn, id)
				events := readAll(t, l)
				requireGapless(t, events)
				require.Equal(t, shownAll[:lines], events[:lines])
				if withMeta {
					// The six events were acknowledged, so no other event may use
					// their seqs in the same epoch.
					require.Equal(t, lines == 6, original.Epoch() == l.Epoch())
					require.GreaterOrEqual(t, len(events), 6)
				} else if lines > 0 {
					require.Equal(t, original.Epoch(), l.Epoch())
					require.Len(t, events, lines)
				}
				requireAppends(t, l)
				again := readAll(t, l)
				require.NoError(t, s.Close())
				s, l = openMem(t, torn, id)
				require.Equal(t, again, readAll(t, l))
				require.NoError(t, s.Close())
			})
		}
	}
}

func TestABadByteAnywhereCostsAtMostItsOwnLine(t *testing.T) {
	disk, id := memSession(t, 5)
	path := "/data/sessions/" + id + "/events.jsonl"
	whole, err := disk.ReadFile(path)
	require.NoError(t, err)
	first, original := openMem(t, disk.restart(), id)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	before := readAll(t, original)
	for at := range whole {
		values := []byte{0, '\n', whole[at] ^ 0x10}
		if whole[at] >= '0' && whole[at] <= '9' { // another digit can make a different valid seq
			values = append(values, whole[at]^0x01, whole[at]^0x04)
		}
		for i, value := range values {
			if whole[at] == value || !soak.On() && i != at%len(values) {
				continue // without soak one value for each byte
			}
			damaged := disk.restart()
			data := bytes.Clone(whole)
			data[at] = value
			damaged.put(path, data)
			s, l := openMem(t, damaged, id)
			events := readAll(t, l)
			requireGapless(t, events)
			hit := bytes.Count(whole[:at], []byte("\n"))
			for i, e := range before {
				if i == hit || whole[at] == '\n' && i == hit+1 {
					continue // a lost newline may cost two lines
				}
				require.Equal(t, e, events[i], "byte %d became %q", at, value)
			}
			require.NoError(t, s.Close())
		}
	}
}

// FuzzRecovery opens logs of arbitrary bytes. It must not panic and must be
// idempotent. It must keep every line whose checksum is right and whose seq is
// still free.
func FuzzRecovery(f *testing.F) {
	disk, id := memSession(f, 4)
	path := "/data/sessions/" + id + "/events.jsonl"
	whole, err := disk.ReadFile(path)
	require.NoError(f, err)
	f.Add(whole, true)
	f.Add(whole, false)
	f.Add(whole[:len(whole)-7], false)
	f.Add(append(bytes.Clone(whole), whole...), true)
	f.Add(append(make([]byte, 300), whole...), false)
	f.Add([]byte("{}\n\n\x00{\"seq\":1}\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, withMeta bool) {
		m := disk.restart()
		m.put(path, data)
		if !withMeta {
			require.NoError(t, m.Remove("/data/sessions/"+id+"/metadata.json"))
		}
		s, err := store.Open("/data", store.Options{FS: m, BootID: "boot"})
		require.NoError(t, err)
		l, err := s.Log(context.Background(), id)
		if err != nil && strings.Contains(err.Error(), "belongs to session") {
			left, readErr := m.ReadFile(path)
			require.NoError(t, errors.Join(readErr, s.Close()))
			require.Equal(t, data, left, "a file of another session was changed")
			return
		}
		require.NoError(t, err)
		marks := l.Marks()
		var first []event.Event
		if marks.Visible < 1000 { // a line may claim any seq
			first = readAll(t, l)
			requireGapless(t, first)
		}
		highest := event.Seq(0) // the highest seq that an earlier line claims, valid or not
		for _, line := range bytes.SplitAfter(data, []byte("\n")) {
			text, whole := bytes.CutSuffix(line, []byte("\n"))
			before := highest
			read := logfile.Parse(text)
			highest = max(highest, read.Seq)
			seq := read.Seq
			if !logfile.Intact(text) || !whole || seq <= before {
				continue
			}
			b, err := l.ReadAfter(context.Background(), seq-1, 1)
			require.NoError(t, err)
			object := text[:len(text)-len(`,"crc":"00000000"}`)]
			require.Equal(t, string(object)+"}", string(b.JSON), "a good line was lost")
		}
		require.NoError(t, s.Close())
		files := m.restart()
		s, l = openMem(t, m, id)
		require.Equal(t, marks, l.Marks())
		if first != nil {
			require.Equal(t, first, readAll(t, l))
		}
		require.NoError(t, s.Close())
		before, err := files.ReadFile(path)
		require.NoError(t, err)
		after, err := m.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "recovering twice changed the log")
	})
}

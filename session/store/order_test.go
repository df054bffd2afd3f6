package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// onMemory is a session's files on a file system in memory.
type onMemory struct {
	t  testing.TB
	fs *memFS
	id string
}

func (m onMemory) path(name string) string { return path.Join("/data/sessions", m.id, name) }

func (m onMemory) read(name string) []byte {
	m.t.Helper()
	data, err := m.fs.ReadFile(m.path(name))
	require.NoError(m.t, err)
	return data
}

// overwrite replaces a part of the log's bytes.
func (m onMemory) overwrite(at int, with string) {
	m.t.Helper()
	file, err := m.fs.OpenRW(m.path("events.jsonl"))
	require.NoError(m.t, err)
	_, err = file.WriteAt([]byte(with), int64(at))
	require.NoError(m.t, err)
	require.NoError(m.t, file.Close())
}

func TestFault16NobodyWhoWaitedForAFailedSyncMakesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		f, s, l := onFaulty(t, store.Options{})
		failing, syncs, held := make(chan struct{}), 0, false
		f.hold("datasync", func() {
			if !held {
				held = true
				<-failing
			}
		})
		f.set(func(_ int, op, name string) error {
			if op != "datasync" || !strings.HasPrefix(filepath.Base(name), "events") {
				return nil
			}
			if syncs++; syncs > 1 {
				return nil // a device that falsely reports success
			}
			return syscall.EIO
		})
		var waiting sync.WaitGroup
		for i := range 20 {
			waiting.Go(func() {
				_, _, err := l.Append(ctx, prompt(fmt.Sprint("p", i)))
				require.ErrorIs(t, err, journal.ErrFrozen)
			})
		}
		synctest.Wait() // one append syncs, the others share the next sync
		close(failing)
		waiting.Wait()
		require.Equal(t, 1, syncs)
		require.Error(t, s.Close())
		require.Equal(t, 1, syncs)
	})
}

func TestFault16TheMetadataOfAFrozenLogSpeaksOfSyncedEventsOnly(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	synced := l.Marks().Synced
	f.set(nthOf(1, "datasync", "events", syscall.EIO)) // the flusher's sync
	_, seen, err := l.Append(ctx, message("seen, and not on the device"))
	require.NoError(t, err)
	awaitHealth(t, l, journal.HealthFrozen)
	files := onMemory{t, f.FS.(*memFS), l.ID()}
	var m journal.Metadata
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal(files.read("metadata.json"), &m))
		return m.Frozen
	}, patience, time.Millisecond, "the next run must know")
	require.Equal(t, synced, m.SyncedSeq)
	require.Equal(t, synced, m.MaxSeq)
	require.Less(t, m.LogBytes, int64(len(files.read("events.jsonl"))))
	require.Error(t, s.Close())

	next, err := store.Open("/data", store.Options{FS: f, BootID: "boot"})
	require.NoError(t, err)
	again, err := next.Log(ctx, l.ID())
	require.NoError(t, err)
	require.Equal(t, journal.HealthOK, again.Health().State)
	require.GreaterOrEqual(t, again.Marks().Visible, seen)
	require.Contains(t, string(files.read("events.jsonl")), "seen, and not on the device", "copied to the fresh file")
	require.NoError(t, next.Close())
}

func TestFault16AFrozenLogWhoseUnsyncedLinesAreDamagedStaysFrozen(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]struct{ text, with string }{
		"in a string":      {"to be copied", "to_be copied"},
		"in the structure": {`"prompt_id"`, `"prompt_id}`},
		"the end of it":    {"}\n", "}x"},
	} {
		t.Run(name, func(t *testing.T) {
			f, s, l := onFaulty(t, store.Options{})
			_, _, err := l.Append(ctx, prompt("p1"))
			require.NoError(t, err)
			f.set(nthOf(1, "datasync", "events", syscall.EIO))
			_, last, err := l.Append(ctx, message("to be copied"), prompt("p2"))
			require.ErrorIs(t, err, journal.ErrFrozen)
			f.set(nil)

			files := onMemory{t, f.FS.(*memFS), l.ID()}
			at := bytes.LastIndex(files.read("events.jsonl"), []byte(damage.text))
			require.Positive(t, at)
			files.overwrite(at, damage.with)
			require.ErrorContains(t, l.Reopen(ctx), "damaged")
			require.Equal(t, journal.HealthFrozen, l.Health().State)
			files.overwrite(at, damage.text)
			require.NoError(t, l.Reopen(ctx))
			events := readAll(t, l)
			require.Contains(t, string(events[last-1].Data), "p2")
			requireAppends(t, l)
			require.NoError(t, s.Close())
		})
	}
}

func TestFault01NoByteOfATornEndIsLostWhereverThePowerFailsWhileItIsRepaired(t *testing.T) {
	ctx := context.Background()
	const torn = `{"seq":3,"time":"2026-02-21T14:03:07.123456Z","type":"agent_mess`
	crashed := true
	for n := 1; crashed; n++ {
		f, s, l := onFaulty(t, store.Options{})
		_, _, err := l.Append(ctx, message("whole"))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		disk := f.FS.(*memFS)
		files := onMemory{t, disk, l.ID()}
		files.overwrite(len(files.read("events.jsonl")), torn)
		file, err := disk.OpenRW(files.path("events.jsonl"))
		require.NoError(t, err)
		require.NoError(t, file.Datasync())
		require.NoError(t, file.Close())

		f = &faultFS{FS: disk}
		s, err = store.Open("/data", store.Options{FS: f, BootID: "boot"})
		require.NoError(t, err)
		f.set(nth(f.count()+n, errCrashed))
		_, err = s.Log(ctx, l.ID())
		crashed = err != nil
		_ = s.Close() // dead, or no longer needed
		for seed := range uint64(8) {
			cut := onMemory{t, disk.powerCut(rand.New(rand.NewPCG(uint64(n), seed))), l.ID()}
			kept := cut.read("events.jsonl")
			names, err := cut.fs.ReadDir(cut.path("quarantine"))
			for _, name := range names {
				kept = append(kept, cut.read(path.Join("quarantine", name.Name()))...)
			}
			require.True(t, strings.Contains(string(kept), torn), "call %d, seed %d (%v): %s", n, seed, err, f.lines())
		}
	}
}

package store_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// putInPlace stores the contents of a session's files. restore writes them into the
// current files of the same names, like cp -a, which keeps the inodes.
func putInPlace(t *testing.T, d disk, pattern string) (restore func()) {
	t.Helper()
	names, err := filepath.Glob(d.path(pattern))
	require.NoError(t, err)
	held, about := map[string][]byte{}, map[string]fs.FileInfo{}
	for _, path := range names {
		if about[path], err = os.Stat(path); err == nil && about[path].Mode().IsRegular() {
			held[path], err = os.ReadFile(path)
		}
		require.NoError(t, err)
	}
	return func() {
		t.Helper()
		for path, data := range held {
			require.NoError(t, os.WriteFile(path, data, 0o600))
			require.NoError(t, os.Chtimes(path, about[path].ModTime(), about[path].ModTime()))
		}
	}
}

// goneOn opens a session and appends n events.
func (d disk) goneOn(opts store.Options, n int) disk {
	d.t.Helper()
	o := d.open(opts)
	appendN(d.t, o.log, n)
	return o.close()
}

// TestAPairIsNeverGivenOutAgainByABackupPutBack writes a backup of all or some of a
// session's files into the current files.
func TestAPairIsNeverGivenOutAgainByABackupPutBack(t *testing.T) {
	bornFS(t)
	for pattern, again := range map[string]bool{"*": true, "events*": true, "events.jsonl": true, "queue.json": false} {
		for name, size := range map[string]int64{"one file": 0, "many files": 1000} {
			t.Run(pattern+" "+name, func(t *testing.T) {
				opts := store.Options{SegmentBytes: size}
				d := recorded(t, 10).goneOn(opts, 20)
				restore := putInPlace(t, d, pattern)
				d = d.goneOn(opts, 40)
				epoch := onDisk(t, d).Epoch
				o := d.open(opts)
				seen := readAll(t, o.log)
				d = o.close()
				restore()
				o = d.open(opts)
				require.Equal(t, again, o.log.Epoch() != epoch, "epoch %s", o.log.Epoch())
				appendN(t, o.log, 50)
				now := readAll(t, o.log)
				requireGapless(t, now)
				require.Equal(t, seen[:25], now[:25])
				next := o.log.Epoch()
				d = o.close()
				o = d.open(opts)
				require.Equal(t, next, o.log.Epoch(), "once")
				o.close()
			})
		}
	}
}

func TestMetadataThatStoodStillIsNoCopy(t *testing.T) {
	bornFS(t)
	for name, change := range map[string]func(d disk, early string){
		"as a crash leaves it":           func(d disk, early string) { require.NoError(t, os.Rename(early, d.path("metadata.json"))) },
		"with half a next one beside it": func(d disk, _ string) { d.write("metadata.json.tmp", []byte(`{"format"`)) },
		"moved": func(d disk, _ string) {
			require.NoError(t, os.Rename(d.dir(), d.dir()+"x"))
			require.NoError(t, os.Rename(d.dir()+"x", d.dir()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 10)
			early := filepath.Join(t.TempDir(), "early")
			require.NoError(t, os.Link(d.path("metadata.json"), early))
			epoch := onDisk(t, d).Epoch
			d = d.goneOn(store.Options{}, 20)
			change(d, early)
			o := d.open(store.Options{})
			require.Equal(t, epoch, o.log.Epoch())
			o.close()
		})
	}
}

// If the device fails while a copy is opened, the next opening must still detect
// the copy.
func TestACopyStaysOneWhileItCannotBeOpened(t *testing.T) {
	bornFS(t)
	d := recorded(t, 10)
	restore := putInPlace(t, d, "*")
	d = d.goneOn(store.Options{}, 20)
	epoch := onDisk(t, d).Epoch
	restore()
	f := &faultFS{FS: store.OS()}
	d.write("events.jsonl", append(d.read("events.jsonl"), "torn"...))
	s := open(t, d.root, store.Options{FS: f})
	f.set(func(_ int, op, name string) error {
		if op == "datasync" && filepath.Base(name) == "events.jsonl" {
			return syscall.EIO
		}
		return nil
	})
	_, err := s.Log(context.Background(), d.id)
	require.Error(t, err)
	require.NoError(t, s.Close())
	f.set(nil)
	o := d.open(store.Options{})
	require.NotEqual(t, epoch, o.log.Epoch())
	o.close()
}

// TestAnEndThatABackupOfTheActiveFileLacksIsToldAsLost replaces the active file.
// The metadata stays valid.
func TestAnEndThatABackupOfTheActiveFileLacksIsToldAsLost(t *testing.T) {
	const size = 6000
	for name, spoil := range map[string]func(d disk, old []byte){
		"a backup from before the last file was begun": func(d disk, old []byte) { d.write("events.jsonl", old) },
		"every line respaced, and five gone": func(d disk, _ []byte) {
			l := d.lines()
			l = l[:len(l)-5]
			for i, line := range l {
				l[i] = bytes.ReplaceAll(line, []byte(`,"`), []byte(`,     "`))
			}
			d.setLines(l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := store.Options{SegmentBytes: size}
			d := recorded(t, 30)
			old := d.read("events.jsonl")
			d = d.goneOn(opts, 40)
			sealed, err := filepath.Glob(d.path("events-*.jsonl"))
			require.NoError(t, err)
			require.Len(t, sealed, 1)
			was := onDisk(t, d)
			require.Greater(t, len(d.lines()), 10)
			o := d.open(opts)
			seen := readAll(t, o.log)
			d = o.close()

			spoil(d, old)
			require.Contains(t, kinds(t, d), store.ProblemMetadata)
			o = d.open(store.Options{})
			require.NotEqual(t, was.Epoch, o.log.Epoch())
			now := readAll(t, o.log)
			requireGapless(t, now)
			require.Equal(t, seen[:20], now[:20])
			require.Equal(t, event.TypeCorrupt, now[was.SyncedSeq-1].Type, "the synced event must be reported as lost")
			require.Positive(t, o.log.Health().Holes)
			var news []event.Type
			for _, e := range now[was.SyncedSeq:] {
				news = append(news, e.Type)
			}
			require.Contains(t, news, event.TypeEpoch)
			require.Contains(t, news, event.TypeLogTruncated)
			requireAppends(t, o.log)
			o.close()
		})
	}
}

// TestALogOfAnotherEpochThanItsMetadataIsNotGoneOnUnderIt restores a log from
// before its current epoch. The backup is longer than the current log.
func TestALogOfAnotherEpochThanItsMetadataIsNotGoneOnUnderIt(t *testing.T) {
	d := recorded(t, 10)
	short := d.read("events.jsonl")
	d = d.goneOn(store.Options{}, 50)
	long := d.read("events.jsonl")
	d = d.goneOn(store.Options{}, 10) // readers saw these events, which the backup lacks
	first := epochOf(t, d)
	d.withoutMetadata()
	d.write("events.jsonl", append(short, []byte(`{"seq":11,"time":"2026-02-21T14:03:07.123456Z","type":"epoch","data":{"epoch":"00000000000000aa","reason":"test"}}`+"\n")...))
	o := d.open(store.Options{})
	require.Equal(t, "00000000000000aa", o.log.Epoch())
	d = o.close()
	d.write("events.jsonl", long)
	o = d.open(store.Options{})
	require.NotEqual(t, first, o.log.Epoch())
	require.NotEqual(t, "00000000000000aa", o.log.Epoch())
	o.close()
}

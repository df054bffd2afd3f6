package store_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// disk is a session's files while no store has them open, for tests that damage
// them.
type disk struct {
	t    testing.TB
	root string // the data directory
	id   string
}

// recorded makes a session of n events (session_start among them), closes it
// cleanly and returns its files.
func recorded(t testing.TB, n int) disk {
	t.Helper()
	root := t.TempDir()
	s, err := store.Open(root, store.Options{})
	require.NoError(t, err)
	l := create(t, s)
	appendN(t, l, n-1)
	require.NoError(t, s.Close())
	return disk{t: t, root: root, id: l.ID()}
}

func (d disk) dir() string { return filepath.Join(d.root, "sessions", d.id) }

func (d disk) path(name string) string { return filepath.Join(d.dir(), name) }

func (d disk) read(name string) []byte {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	require.NoError(d.t, err)
	return data
}

// write puts a file there as a person would, later than the hub's last write: two
// writes within one tick of the file system's clock bear the same time.
func (d disk) write(name string, data []byte) {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(d.path(name), data, 0o600))
	now := time.Now()
	require.NoError(d.t, os.Chtimes(d.path(name), now, now))
}

// log is events.jsonl, line by line, each with its newline.
func (d disk) lines() [][]byte {
	lines := bytes.SplitAfter(d.read("events.jsonl"), []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines
}

func (d disk) setLines(lines [][]byte) { d.write("events.jsonl", bytes.Join(lines, nil)) }

// without removes the metadata.
func (d disk) withoutMetadata() {
	d.t.Helper()
	require.NoError(d.t, os.Remove(d.path("metadata.json")))
}

// quarantined returns the contents of the quarantine.
func (d disk) quarantined() [][]byte {
	d.t.Helper()
	names, err := filepath.Glob(d.path("quarantine/*"))
	require.NoError(d.t, err)
	var all [][]byte
	for _, n := range names {
		data, err := os.ReadFile(n)
		require.NoError(d.t, err)
		all = append(all, data)
	}
	return all
}

// opened is a session that was opened again.
type opened struct {
	disk
	store *store.Store
	log   *store.Log
}

func (d disk) open(o store.Options) opened {
	d.t.Helper()
	s := open(d.t, d.root, o)
	l, err := s.Log(context.Background(), d.id)
	require.NoError(d.t, err)
	return opened{disk: d, store: s, log: l}
}

// close closes the store, and proves that opening it once more changes nothing:
// recovery is idempotent.
func (o opened) close() disk {
	o.t.Helper()
	shown := readAll(o.t, o.log)
	require.NoError(o.t, o.store.Close())
	files := snapshotDir(o.t, o.dir())
	s, err := store.Open(o.root, store.Options{})
	require.NoError(o.t, err)
	l, err := s.Log(context.Background(), o.id)
	require.NoError(o.t, err)
	require.Equal(o.t, shown, readAll(o.t, l))
	require.NoError(o.t, s.Close())
	require.Equal(o.t, files, snapshotDir(o.t, o.dir()))
	return o.disk
}

// snapshotDir is every file under dir by name, but for births.
func snapshotDir(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = withoutBirth(string(data))
		return err
	}))
	return files
}

// birth is the metadata's record of its own file, which is a new file at each
// write, and the checksum of that record.
var birth = regexp.MustCompile(`,"born":"[0-9.]+","crc":"[0-9a-f]{8}"`)

func withoutBirth(text string) string { return birth.ReplaceAllString(text, "") }

// requireAppends checks that the log takes the next event under the next seq, or
// behind the start of a new file, and shows it.
func requireAppends(t testing.TB, l *store.Log) {
	t.Helper()
	before := l.Marks().Visible
	first, last, err := l.Append(context.Background(), message("after"))
	require.NoError(t, err)
	require.Contains(t, []event.Seq{before + 1, before + 2}, first)
	require.Equal(t, first, last)
	requireGapless(t, readAll(t, l))
	require.Equal(t, last, l.Marks().Visible)
}

// types lists the types of events.
func types(events []event.Event) []event.Type {
	var all []event.Type
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

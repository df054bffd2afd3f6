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

// disk is a session's files while no store has them open. Tests use it to damage
// them.
type disk struct {
	t    testing.TB
	root string // data directory
	id   string
}

// recorded creates a session of n events, including session_start. It closes the
// session cleanly and returns its files.
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

// write replaces a file with a later modification time. The explicit time is needed
// because two writes within one tick of the clock get the same time.
func (d disk) write(name string, data []byte) {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(d.path(name), data, 0o600))
	now := time.Now()
	require.NoError(d.t, os.Chtimes(d.path(name), now, now))
}

// lines returns events.jsonl as lines, each with its newline.
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

// quarantined returns the contents of the files in quarantine.
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

// close closes the store. It requires that another opening changes nothing, because
// recovery must be idempotent.
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

// snapshotDir returns every file under dir by name, without birth times.
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

// birth matches the record of the metadata's own birth time and the checksum. They
// change with each write, because each write creates a file.
var birth = regexp.MustCompile(`,"born":"[0-9.]+","crc":"[0-9a-f]{8}"`)

func withoutBirth(text string) string { return birth.ReplaceAllString(text, "") }

// requireAppends requires that the log appends an event under the next seq (or the
// one after a new file's first line) and shows it.
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

// types returns the types of events.
func types(events []event.Event) []event.Type {
	var all []event.Type
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

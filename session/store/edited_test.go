package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// sealedBytes is when the logs of these tests go on in a new file.
const sealedBytes = 512 << 10

// withSealed records a session with one complete file, and returns the lines of
// that file.
func withSealed(t testing.TB) (d disk, name string, lines [][]byte) {
	t.Helper()
	root := t.TempDir()
	s, err := store.Open(root, store.Options{SegmentBytes: sealedBytes})
	require.NoError(t, err)
	l := create(t, s)
	for i := 0; ; i++ {
		appendN(t, l, 100)
		names, err := filepath.Glob(filepath.Join(root, "sessions", l.ID(), "events-*.jsonl"))
		require.NoError(t, err)
		if len(names) == 1 {
			name = filepath.Base(names[0])
			break
		}
	}
	require.NoError(t, s.Close())
	d = disk{t: t, root: root, id: l.ID()}
	lines = bytes.SplitAfter(d.read(name), []byte("\n"))
	return d, name, slices.Clip(lines[:len(lines)-1])
}

// edited are what a person, or a program that merges, makes of a complete file.
var edited = map[string]func(lines, other [][]byte) [][]byte{
	"a stretch again, with other bytes": func(lines, other [][]byte) [][]byte {
		return slices.Insert(lines, 2500, other[1500:2500]...)
	},
	"a stretch of other bytes, far behind": func(lines, other [][]byte) [][]byte {
		return slices.Insert(lines, 3000, other[100:1100]...)
	},
	"a stretch again": func(lines, _ [][]byte) [][]byte {
		return slices.Insert(lines, 2500, slices.Clone(lines[1500:2500])...)
	},
	"a stretch missing": func(lines, _ [][]byte) [][]byte { return slices.Delete(lines, 1500, 1700) },
	"two stretches in each other's place": func(lines, _ [][]byte) [][]byte {
		return slices.Concat(lines[:1000], lines[2000:3000], lines[1000:2000], lines[3000:])
	},
}

// TestAnEditedCompleteFileIsTheSameForEveryReader reads pages from many places,
// each by a hub that knows nothing yet, and holds them against a reading from the
// start; and that against the rule.
func TestAnEditedCompleteFileIsTheSameForEveryReader(t *testing.T) {
	_, _, other := withSealed(t)
	for name, edit := range edited {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, file, lines := withSealed(t)
			lines = edit(lines, other)
			d.write(file, bytes.Join(lines, nil))
			o := d.open(store.Options{TailBytes: 1})
			whole := readAll(t, o.log)
			requireGapless(t, whole)
			for i, e := range inOrder(t, lines) {
				require.Equal(t, whole[i].Type == event.TypeCorrupt, e == nil, "seq %d", i+1)
				require.True(t, e == nil || shown(*e) == shown(whole[i]), "seq %d is not the first line", i+1)
			}
			conflicts := strings.Contains(name, "other bytes")
			require.Equal(t, conflicts, slices.Contains(kinds(t, d), store.ProblemConflict))
			require.NoError(t, o.store.Close())
			for after := event.Seq(40); int(after) < len(whole); after += 131 {
				o := d.open(store.Options{TailBytes: 1})
				b, err := o.log.ReadAfter(context.Background(), after, 8<<10)
				require.NoError(t, err)
				events, err := b.Events()
				require.NoError(t, err)
				requireSame(t, whole[after:], events, after)
				if b, err = o.log.ReadBefore(context.Background(), after, 30); err == nil {
					events, err = b.Events()
				}
				require.NoError(t, err)
				require.Len(t, events, 30)
				requireSame(t, whole[after-31:], events, after)
				require.Equal(t, conflicts, o.log.Health().Conflicts > 0, "a reader of the file says so")
				require.NoError(t, o.store.Close())
			}
		})
	}
}

// requireSame requires that a page is what a whole reading has there.
func requireSame(t testing.TB, whole, page []event.Event, at event.Seq) {
	t.Helper()
	for i, e := range page {
		require.Equal(t, shown(whole[i]), shown(e), "seq %d of the page at %d", e.Seq, at)
	}
}

// inOrder is what counts of lines by the rule: each that has a higher seq than all
// before it.
func inOrder(t testing.TB, lines [][]byte) map[int]*event.Event {
	t.Helper()
	all := map[int]*event.Event{}
	last := event.Seq(0)
	for _, line := range lines {
		var e event.Event
		require.NoError(t, json.Unmarshal(line, &e))
		if e.Seq <= last {
			continue
		}
		for last++; last < e.Seq; last++ {
			all[int(last)-1] = nil
		}
		all[int(e.Seq)-1] = &e
	}
	return all
}

func TestRepairKeepsTheConflictsOfAnEditedCompleteFileOnce(t *testing.T) {
	_, _, other := withSealed(t)
	d, file, lines := withSealed(t)
	d.write(file, bytes.Join(slices.Insert(lines, 2500, other[1500:2500]...), nil))
	r, err := store.Repair(context.Background(), d.root, d.id, store.Options{})
	require.NoError(t, err)
	require.Len(t, r.Actions, 1)
	require.Equal(t, [][]byte{bytes.Join(other[1500:2500], nil)}, d.quarantined())
	require.Equal(t, 1000, onDisk(t, d).Damage.Conflicts, "lists show it")
	r, err = store.Repair(context.Background(), d.root, d.id, store.Options{})
	require.NoError(t, err)
	require.Empty(t, r.Actions, "the second time there is nothing to do")
	o := d.open(store.Options{})
	require.Equal(t, 1000, o.log.Health().Conflicts, "nothing is counted twice")
	o.close()
}

func TestALineOfNoSeqOfItsCompleteFileHidesNothingBehindIt(t *testing.T) {
	d, file, lines := withSealed(t)
	before := len(lines)
	far := `{"seq":9000000,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x"}}` + "\n"
	d.write(file, bytes.Join(slices.Insert(lines, 1000, []byte(far)), nil))
	o := d.open(store.Options{TailBytes: 1})
	for i, e := range readAll(t, o.log)[:before] {
		require.NotEqual(t, event.TypeCorrupt, e.Type, "seq %d", i+1)
	}
	require.Equal(t, []string{store.ProblemDamaged}, kinds(t, d))
	o.close()
}

func TestAnEditIsSeenWhereTheFileBehindIsMadeAnew(t *testing.T) {
	_, _, other := withSealed(t)
	d, file, lines := withSealed(t)
	d.write(file, bytes.Join(slices.Insert(slices.Clone(lines), 2500, other[1500:2500]...), nil))
	require.NoError(t, os.Remove(d.path("events.jsonl")))
	d.withoutMetadata()
	for range 2 { // it is made by the first
		for after := event.Seq(1500); after < 2600; after += 131 {
			o := d.open(store.Options{TailBytes: 1})
			b, err := o.log.ReadAfter(context.Background(), after, 1)
			require.NoError(t, err)
			events, err := b.Events()
			require.NoError(t, err)
			var first event.Event
			require.NoError(t, json.Unmarshal(lines[after], &first))
			require.Equal(t, shown(first), shown(events[0]))
			require.NoError(t, o.store.Close())
		}
	}
}

func TestACompleteFileThatNobodyEditedIsNotReadAsAWhole(t *testing.T) {
	root := t.TempDir()
	o := store.Options{SegmentBytes: 4 << 20}
	s, err := store.Open(root, o)
	require.NoError(t, err)
	l := create(t, s)
	for range 1100 {
		_, _, err := l.Append(context.Background(), message(strings.Repeat("x", 4<<10)))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	files := &faultFS{FS: store.OS()}
	d := disk{t: t, root: root, id: l.ID()}
	opened := d.open(store.Options{FS: files, TailBytes: 1})
	for _, before := range []event.Seq{300, 700, 1000} {
		files.forget()
		_, err = opened.log.ReadBefore(context.Background(), before, 10)
		require.NoError(t, err)
		reads := 0
		for _, c := range files.trace() {
			if c.op == "read" && strings.HasPrefix(stepOf("", c.name), " sealed") {
				reads++
			}
		}
		require.Positive(t, reads)
		require.Less(t, reads, 40, "the whole file takes %d", 4<<20/(64<<10))
	}
	// One that was is, once.
	require.NoError(t, opened.store.Close())
	names, err := filepath.Glob(d.path("events-*.jsonl"))
	require.NoError(t, err)
	d.write(filepath.Base(names[0]), d.read(filepath.Base(names[0])))
	opened = d.open(store.Options{FS: files, TailBytes: 1})
	for i, want := range []bool{true, false} {
		files.forget()
		_, err = opened.log.ReadBefore(context.Background(), 300, 10)
		require.NoError(t, err)
		require.Equal(t, want, len(files.trace()) > 4<<20/(64<<10), fmt.Sprint("reading ", i))
	}
}

// The last line is where the metadata says, and those before it are not as they
// were.
func TestAnActiveFileEditedBetweenRunsIsTheSameForEveryReader(t *testing.T) {
	other := recorded(t, 4000).lines()
	for _, after := range []event.Seq{1100, 1249, 1500, 1700, 1998} { // each hub is the first to see it
		d := recorded(t, 4000)
		lines := d.lines()
		copy(lines[2000:], other[1100:1999])
		size := len(d.read("events.jsonl"))
		d.setLines(lines)
		require.Equal(t, size, len(d.read("events.jsonl")))
		o := d.open(store.Options{TailBytes: 1})
		b, err := o.log.ReadAfter(context.Background(), after, 1)
		require.NoError(t, err)
		events, err := b.Events()
		require.NoError(t, err)
		requireSame(t, []event.Event{*inOrder(t, lines)[int(after)]}, events, after)
		require.Equal(t, 899, o.log.Health().Conflicts)
		require.NoError(t, o.store.Close())
		o = d.open(store.Options{})
		require.Equal(t, 899, o.log.Health().Conflicts, "the next run knows as much")
		o.close()
	}
}

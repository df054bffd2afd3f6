package store_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// twins records two sessions of one data directory whose files have the same names,
// and returns them with what the first showed.
func twins(t *testing.T) (a, b disk, events []event.Event, sealed []string) {
	t.Helper()
	root := t.TempDir()
	s := open(t, root, store.Options{SegmentBytes: 2000})
	one, two := create(t, s), create(t, s)
	for _, l := range []*store.Log{one, two} {
		for range 60 {
			_, _, err := l.Append(context.Background(), message("said in "+l.ID()))
			require.NoError(t, err)
		}
	}
	events = readAll(t, one)
	require.NoError(t, s.Close())
	a, b = disk{t: t, root: root, id: one.ID()}, disk{t: t, root: root, id: two.ID()}
	names, err := filepath.Glob(a.path("events-*.jsonl"))
	require.NoError(t, err)
	require.Greater(t, len(names), 3)
	for _, name := range names {
		sealed = append(sealed, filepath.Base(name))
		require.FileExists(t, b.path(filepath.Base(name)))
	}
	return a, b, events, sealed
}

// swap exchanges a file of two sessions.
func swap(t *testing.T, a, b disk, name string) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "aside")
	require.NoError(t, os.Rename(a.path(name), aside))
	require.NoError(t, os.Rename(b.path(name), a.path(name)))
	require.NoError(t, os.Rename(aside, b.path(name)))
}

// requireNothingOf requires that events are as they were or placeholders, and that
// those of a file are placeholders.
func requireNothingOf(t *testing.T, other disk, now, before []event.Event, first, last event.Seq) {
	t.Helper()
	requireGapless(t, now)
	for i, e := range before {
		require.NotContains(t, string(now[i].Data), other.id)
		if e.Seq >= first && e.Seq <= last {
			require.Equal(t, event.TypeCorrupt, now[i].Type, "seq %d", e.Seq)
		} else {
			require.Equal(t, e, now[i])
		}
	}
}

func problems(t *testing.T, d disk) string {
	t.Helper()
	r, err := store.Check(context.Background(), d.root, d.id)
	require.NoError(t, err)
	var all []string
	for _, p := range r.Problems {
		all = append(all, p.String())
	}
	return strings.Join(all, "\n")
}

func TestACompleteFileOfAnotherSessionIsNeverServed(t *testing.T) {
	for _, which := range []int{0, 2, -1} {
		t.Run(fmt.Sprint(which), func(t *testing.T) {
			a, b, events, sealed := twins(t)
			name := sealed[(which+len(sealed))%len(sealed)]
			first, last := bounds(t, a.path(name))
			swap(t, a, b, name)
			own, others := a.read(name), b.read(name)
			require.Contains(t, problems(t, a), fmt.Sprintf("%s/%s seq %d: start: it belongs to session %q", a.id, name, first, b.id))
			require.Contains(t, problems(t, a), "this session's own is sessions/"+b.id+"/"+name)
			foreign, err := store.IsForeign(a.dir(), name)
			require.NoError(t, err)
			require.True(t, foreign)

			o := a.open(store.Options{SegmentBytes: 2000, TailBytes: 1})
			b1, err := o.log.ReadAfter(context.Background(), first, 1<<20)
			require.NoError(t, err)
			require.NotContains(t, string(b1.JSON), b.id)
			requireNothingOf(t, b, readAll(t, o.log), events, first, last)
			require.Contains(t, o.log.Health().Foreign, fmt.Sprintf("%s belongs to session %q", name, b.id))
			require.Positive(t, o.log.Health().Holes)
			requireAppends(t, o.log)
			require.NoError(t, o.store.Close())
			require.Equal(t, own, a.read(name), "reading leaves it where it is")

			r, err := store.Repair(context.Background(), a.root, a.id, store.Options{})
			require.NoError(t, err)
			require.Contains(t, fmt.Sprint(r.Actions), fmt.Sprintf("belongs to session %q", b.id))
			require.NoFileExists(t, a.path(name))
			require.Contains(t, a.quarantined(), own)
			r, err = store.Repair(context.Background(), a.root, a.id, store.Options{})
			require.NoError(t, err)
			require.Empty(t, r.Actions, "once")
			o = a.open(store.Options{SegmentBytes: 2000, TailBytes: 1})
			requireNothingOf(t, b, readAll(t, o.log), events, first, last)
			require.NoError(t, o.store.Close())

			a.write(name, others) // a person puts the own one back
			o = a.open(store.Options{SegmentBytes: 2000, TailBytes: 1})
			require.Equal(t, events, readAll(t, o.log)[:len(events)])
			require.NoError(t, o.store.Close())
		})
	}
}

func TestAnActiveFileOfAnotherSessionIsSetAside(t *testing.T) {
	for name, size := range map[string]int64{"beside complete files": 2000, "the only file": 0} {
		t.Run(name, func(t *testing.T) {
			a, b, events, _ := twins(t)
			if size == 0 {
				a = recorded(t, 30)
				o := a.open(store.Options{})
				events = readAll(t, o.log)
				a = o.close()
				b = recorded(t, 30)
			}
			first, last := bounds(t, a.path("events.jsonl"))
			epoch := onDisk(t, a).Epoch
			others := b.read("events.jsonl")
			a.write("events.jsonl", others)
			require.Contains(t, problems(t, a), fmt.Sprintf("belongs to session %q", b.id))
			require.Contains(t, problems(t, a), "is lost")

			o := a.open(store.Options{SegmentBytes: size})
			now := readAll(t, o.log)
			requireNothingOf(t, b, now, events, first, last)
			require.NotEqual(t, epoch, o.log.Epoch())
			require.Contains(t, types(now[len(events):]), event.TypeEpoch)
			require.Contains(t, types(now[len(events):]), event.TypeLogTruncated)
			require.Contains(t, o.log.Health().Foreign, fmt.Sprintf("%q", b.id))
			require.Positive(t, o.log.Health().Holes)
			require.Equal(t, [][]byte{others}, a.quarantined())
			requireAppends(t, o.log)
			a = o.close()
			require.NotContains(t, problems(t, a), b.id)
		})
	}
}

// A directory under another id is one that a person renamed or copied: its files agree
// with each other, also once it has some under the new id.
func TestASessionUnderAnotherIdKeepsItsEvents(t *testing.T) {
	for name, once := range map[string]bool{"not opened since": false, "gone on since": true} {
		t.Run(name, func(t *testing.T) {
			a, _, events, _ := twins(t)
			c := a
			c.id = "20200101-000000-00000000"
			require.NoError(t, os.Rename(a.dir(), c.dir()))
			opts := store.Options{SegmentBytes: 2000, TailBytes: 1}
			if once {
				for range 2 {
					o := c.open(opts)
					appendN(t, o.log, 60)
					require.NoError(t, o.store.Close())
				}
				require.NoError(t, os.Remove(c.path("metadata.json")))
			}
			_, err := store.Repair(context.Background(), c.root, c.id, opts)
			require.NoError(t, err)
			require.NotContains(t, problems(t, c), "belongs to")
			aside, err := filepath.Glob(c.path("quarantine/of-*"))
			require.NoError(t, err)
			require.Empty(t, aside)
			o := c.open(opts)
			require.Equal(t, events, readAll(t, o.log)[:len(events)])
			require.Empty(t, o.log.Health().Foreign)
			require.NoError(t, o.store.Close())
		})
	}
}

func TestRetentionKeepsTheFileOfAnotherSession(t *testing.T) {
	a, b, _, sealed := twins(t)
	swap(t, a, b, sealed[0])
	others := a.read(sealed[0])
	o := a.open(store.Options{SegmentBytes: 2000})
	_, err := o.log.Retain(context.Background(), 1)
	require.NoError(t, err)
	require.NoError(t, o.store.Close())
	require.NoFileExists(t, a.path(sealed[1]))
	require.Equal(t, [][]byte{others}, a.quarantined())
}

func TestAFileWhoseNameEndsTooEarlyIsToldByItsName(t *testing.T) {
	a, _, _, sealed := twins(t)
	for _, which := range []int{0, len(sealed) - 1} {
		first, last := bounds(t, a.path(sealed[which]))
		short := store.SealedName(first, first+1)
		require.NoError(t, os.Rename(a.path(sealed[which]), a.path(short)))
		r, err := store.Check(context.Background(), a.root, a.id)
		require.NoError(t, err)
		require.Contains(t, problems(t, a), fmt.Sprintf("seq %d: hole: it and all up to seq %d lie in this file", first+2, last))
		require.Contains(t, problems(t, a), "rename it to "+sealed[which])
		require.Empty(t, r.Notes)
		require.NoError(t, os.Rename(a.path(short), a.path(sealed[which])))
		requireSound(t, a.root)
	}
}

// sealedLine is a line with its checksum.
func sealedLine(body string) []byte {
	sum := crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))
	return fmt.Appendf(nil, "%s,\"crc\":\"%08x\"}\n", body, sum)
}

func TestWhatIsNoEpochGivesTheLogNone(t *testing.T) {
	for name, make := range map[string]func(body string) []byte{
		"of markup, without a checksum": func(body string) []byte {
			return []byte(strings.Replace(body, "EPOCH", `\u0000<script>`, 1) + "}\n")
		},
		"of markup": func(body string) []byte { return sealedLine(strings.Replace(body, "EPOCH", `<script>`, 1)) },
		"in capitals": func(body string) []byte {
			return sealedLine(strings.Replace(body, "EPOCH", "00000000000000AA", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 10)
			epoch := epochOf(t, d)
			body := `{"seq":11,"time":"2026-02-21T14:03:07.123456Z","type":"epoch","data":{"epoch":"EPOCH","reason":"x"}`
			d.write("events.jsonl", append(d.read("events.jsonl"), make(body)...))
			o := d.open(store.Options{})
			require.Equal(t, epoch, o.log.Epoch())
			o.close()
		})
	}
}

func TestAnEditedLineOfACompleteFileIsInHealth(t *testing.T) {
	a, _, events, sealed := twins(t)
	data := a.read(sealed[1])
	a.write(sealed[1], bytes.Replace(data, []byte("said in"), []byte("SAID in"), 2))
	o := a.open(store.Options{TailBytes: 1})
	require.Len(t, readAll(t, o.log), len(events))
	require.Equal(t, 2, o.log.Health().Unverified)
	require.NoError(t, o.store.Close())
	_, err := store.Repair(context.Background(), a.root, a.id, store.Options{})
	require.NoError(t, err)
	require.Equal(t, 2, onDisk(t, a).Damage.Unverified)
}

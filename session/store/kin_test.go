package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// inSmallFiles has a log go on in a new file every few lines.
var inSmallFiles = store.Options{SegmentBytes: 2000, TailBytes: 1}

// renamed gives a session's directory another id, and its metadata, too.
func renamed(t *testing.T, d disk, id string) disk {
	t.Helper()
	to := d
	to.id = id
	require.NoError(t, os.Rename(d.dir(), to.dir()))
	meta := bytes.ReplaceAll(to.read("metadata.json"), []byte(d.id), []byte(id))
	to.write("metadata.json", regexp.MustCompile(`,\s*"crc":\s*"[0-9a-f]{8}"`).ReplaceAll(meta, nil))
	return to
}

// goOn writes n more events, and with another epoch than before if it says so.
func goOn(t *testing.T, d disk, n int, anew bool) {
	t.Helper()
	if anew { // the last line is lost, which somebody may have seen
		lines := d.lines()
		d.setLines(lines[:len(lines)-1])
	}
	o := d.open(inSmallFiles)
	appendN(t, o.log, n)
	require.NoError(t, o.store.Close())
}

// requireAllOwn requires that a repair, a check and a hub take every file for the
// session's own.
func requireAllOwn(t *testing.T, d disk, lost int) {
	t.Helper()
	require.NotContains(t, problems(t, d), "belongs to")
	names, err := filepath.Glob(d.path("events*.jsonl"))
	require.NoError(t, err)
	for _, name := range names {
		foreign, err := store.IsForeign(d.dir(), filepath.Base(name))
		require.NoError(t, err)
		require.False(t, foreign, name)
	}
	_, err = store.Repair(context.Background(), d.root, d.id, inSmallFiles)
	require.NoError(t, err)
	aside, err := filepath.Glob(d.path("quarantine/of-*"))
	require.NoError(t, err)
	require.Empty(t, aside)
	o := d.open(inSmallFiles)
	missing := 0
	for _, e := range readAll(t, o.log) {
		if e.Type == event.TypeCorrupt {
			missing++
		}
	}
	require.Equal(t, lost, missing)
	require.Empty(t, o.log.Health().Foreign)
	require.NoError(t, o.store.Close())
}

const anotherID = "20200101-000000-00000000"

// Renamed to and fro, with a new epoch now and then, all files are still its own.
func TestRule29ASessionRenamedToAndFroKeepsItsEvents(t *testing.T) {
	a, _, _, _ := twins(t)
	first := a.id
	goOn(t, a, 3, true) // an epoch that only the active file has
	d := renamed(t, a, anotherID)
	requireAllOwn(t, d, 1)
	goOn(t, d, 60, false)
	goOn(t, d, 60, true) // the first file under the new id has another epoch than the last
	requireAllOwn(t, d, 2)
	d = renamed(t, d, first)
	goOn(t, d, 60, false)
	goOn(t, d, 60, true)
	d = renamed(t, d, anotherID) // some under either id, twice
	requireAllOwn(t, d, 3)
}

// Where the metadata knows the epoch it is asked, however many files are another's.
func TestRule29TheEpochCountsMoreThanTheNumberOfFiles(t *testing.T) {
	a, b, _, sealed := twins(t)
	for _, name := range sealed[1:] {
		swap(t, a, b, name)
	}
	d := renamed(t, a, anotherID)
	require.NotContains(t, problems(t, d), sealed[0]+" seq 1: start: it belongs")
	require.NotContains(t, problems(t, d), "events.jsonl seq")
	foreign, err := store.IsForeign(d.dir(), sealed[0])
	require.NoError(t, err)
	require.False(t, foreign)
}

// Files that say nothing of whose they are speak against nobody.
func TestRule29FilesThatSayNothingAreNotCounted(t *testing.T) {
	a, _, _, sealed := twins(t)
	for _, name := range sealed[1:] {
		text := a.read(name)
		text[0] = '['
		a.write(name, text)
	}
	d := renamed(t, a, anotherID)
	d.withoutMetadata()
	foreign, err := store.IsForeign(d.dir(), sealed[0])
	require.NoError(t, err)
	require.False(t, foreign)
	require.NotContains(t, problems(t, d), "belongs to")
}

// beginAnew puts another first line into a file.
func beginAnew(d disk, name, line string) {
	_, rest, _ := bytes.Cut(d.read(name), []byte("\n"))
	d.write(name, append(sealedLine(line), rest...))
}

func TestRule29WhatIsNoEpochSaysNothing(t *testing.T) {
	a, _, _, before := twins(t)
	d := renamed(t, a, anotherID)
	goOn(t, d, 60, false)
	files, err := filepath.Glob(d.path("events-*.jsonl"))
	require.NoError(t, err)
	name := filepath.Base(files[len(before)+1]) // the first that began under the new id
	first, _ := bounds(t, d.path(name))
	require.Contains(t, string(d.read(name)), anotherID)
	beginAnew(d, name, fmt.Sprintf(`{"seq":%d,"time":"2026-02-21T14:03:07.123456Z","type":"segment_start","data":{"format":1,"session_id":%q,"epoch":"<script>","first_seq":%d}`, first, anotherID, first))
	require.NotContains(t, problems(t, d), "belongs to")
}

// A session_start is one where a log begins.
func TestRule29ASessionStartWithinALogAccusesNobody(t *testing.T) {
	a, b, _, sealed := twins(t)
	first, _ := bounds(t, a.path(sealed[1]))
	beginAnew(a, sealed[1], fmt.Sprintf(`{"seq":%d,"time":"2026-02-21T14:03:07.123456Z","type":"session_start","data":{"format":1,"session_id":%q,"epoch":"00000000000000aa","agent":"x","workspace":"/w"}`, first, b.id))
	require.NotContains(t, problems(t, a), "belongs to")
}

// A repair that sets the active file aside does all else that a repair does.
func TestRule29ARepairThatSetsAFileAsideIsThorough(t *testing.T) {
	a, b, _, sealed := twins(t)
	last, _ := bounds(t, a.path(sealed[1]))
	again := fmt.Sprintf(`{"seq":%d,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"text":"another of its seq"}`, last+1)
	a.write(sealed[1], append(a.read(sealed[1]), sealedLine(again)...))
	a.write("events.jsonl", b.read("events.jsonl"))
	r, err := store.Repair(context.Background(), a.root, a.id, inSmallFiles)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(r.Actions), "belongs to")
	r, err = store.Repair(context.Background(), a.root, a.id, inSmallFiles)
	require.NoError(t, err)
	require.Empty(t, r.Actions, "the first did it all")
	require.Contains(t, a.quarantined(), sealedLine(again))
}

package store_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestFault10MetadataThatIsBehindIsBroughtUpToDate(t *testing.T) {
	d := recorded(t, 10)
	old := filepath.Join(t.TempDir(), "old")
	require.NoError(t, os.Link(d.path("metadata.json"), old))
	o := d.open(store.Options{})
	appendN(t, o.log, 5)
	epoch := o.log.Epoch()
	o.close()
	require.NoError(t, os.Rename(old, d.path("metadata.json")))
	o = d.open(store.Options{})
	require.Equal(t, journal.Marks{Min: 1, Visible: 15, Written: 15, Synced: 15}, o.log.Marks())
	require.Equal(t, epoch, o.log.Epoch())
	m := onDisk(t, d)
	require.EqualValues(t, 15, m.SyncedSeq)
	requireAppends(t, o.log)
	o.close()
}

// onDisk reads metadata.json.
func onDisk(t testing.TB, d disk) journal.Metadata {
	t.Helper()
	var m journal.Metadata
	require.NoError(t, json.Unmarshal(d.read("metadata.json"), &m))
	return m
}

func TestFault11MetadataAheadOfTheLogNeverReusesASeq(t *testing.T) {
	d := recorded(t, 10)
	before := epochOf(t, d)
	d.setLines(d.lines()[:7])
	o := d.open(store.Options{})
	require.NotEqual(t, before, o.log.Epoch())
	events := readAll(t, o.log)
	requireGapless(t, events)
	require.Equal(t, []event.Type{event.TypeCorrupt, event.TypeCorrupt, event.TypeCorrupt, event.TypeEpoch, event.TypeLogTruncated}, types(events[7:]))
	p, err := events[11].Payload()
	require.NoError(t, err)
	require.Equal(t, event.LogTruncated{From: 8, To: 10}, p)
	p, err = events[10].Payload()
	require.NoError(t, err)
	require.Equal(t, o.log.Epoch(), p.(event.Epoch).Epoch)
	requireAppends(t, o.log)
	epoch := o.log.Epoch()
	d = o.close()
	d.withoutMetadata()
	require.Equal(t, epoch, d.open(store.Options{}).log.Epoch(), "the last epoch in the log counts")
}

func TestFault11AnEmptyLogWithMetadataGoesOnBehindIt(t *testing.T) {
	for _, damage := range []func(d disk){
		func(d disk) { d.write("events.jsonl", nil) },
		func(d disk) { require.NoError(t, os.Remove(d.path("events.jsonl"))) },
		func(d disk) { d.write("events.jsonl", []byte("what\nis\nthis\n")) },
	} {
		d := recorded(t, 10)
		before := epochOf(t, d)
		damage(d)
		o := d.open(store.Options{})
		require.NotEqual(t, before, o.log.Epoch())
		events := readAll(t, o.log)
		requireGapless(t, events)
		require.Equal(t, event.TypeEpoch, events[10].Type)
		require.Equal(t, "demo", o.log.Metadata().Agent)
		requireAppends(t, o.log)
		o.close()
	}
}

func TestFault12MetadataOfNoUseIsRebuilt(t *testing.T) {
	for name, damage := range map[string]func(d disk){
		"empty":   func(d disk) { d.write("metadata.json", nil) },
		"garbage": func(d disk) { d.write("metadata.json", []byte("\x00\x00{]")) },
		"null":    func(d disk) { d.write("metadata.json", []byte("null")) },
		"missing": func(d disk) { d.withoutMetadata() },
		"another's": func(d disk) {
			d.write("metadata.json", recorded(t, 3).read("metadata.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 10)
			before := onDisk(t, d)
			damage(d)
			o := d.open(store.Options{})
			require.Equal(t, before.Epoch, o.log.Epoch())
			requireGapless(t, readAll(t, o.log))
			after := onDisk(t, d)
			before.Writer, before.Born = nil, after.Born
			require.Equal(t, before, after)
			requireAppends(t, o.log)
			o.close()
		})
	}
}

func TestFault12TheFirstLineLostGivesANewEpochOnce(t *testing.T) {
	d := recorded(t, 10)
	before := epochOf(t, d)
	lines := d.lines()
	lines[0][0] = '['
	d.setLines(lines)
	d.withoutMetadata()
	o := d.open(store.Options{})
	epoch := o.log.Epoch()
	require.NotEqual(t, before, epoch)
	require.Equal(t, event.TypeCorrupt, readAll(t, o.log)[0].Type)
	requireAppends(t, o.log)
	d = o.close()
	d.withoutMetadata()
	require.Equal(t, epoch, d.open(store.Options{}).log.Epoch())
}

func TestFault13StaleTemporaryFilesAreRemoved(t *testing.T) {
	d := recorded(t, 10)
	stale := []string{"metadata.json.tmp", ".events-next.jsonl", "room.tmp"}
	for _, name := range stale {
		d.write(name, []byte("half"))
	}
	abandoned := filepath.Join(d.root, "sessions", ".deleted-20260101-000000-00000000")
	require.NoError(t, os.MkdirAll(filepath.Join(abandoned, "blobs"), 0o700))
	halfMade := filepath.Join(d.root, "sessions", ".new-20260101-000000-00000000")
	require.NoError(t, os.Mkdir(halfMade, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(halfMade, "events.jsonl"), nil, 0o600))
	old := time.Now().Add(-time.Hour) // a recent one may belong to a write in progress
	require.NoError(t, os.Chtimes(halfMade, old, old))
	require.NoError(t, os.WriteFile(filepath.Join(d.root, "hub.json.tmp"), []byte("half"), 0o600))
	o := d.open(store.Options{})
	require.Len(t, o.store.List(), 1)
	for _, name := range stale {
		require.NoFileExists(t, d.path(name))
	}
	require.NoDirExists(t, abandoned)
	require.NoDirExists(t, halfMade)
	require.NoFileExists(t, filepath.Join(d.root, "hub.json.tmp"))
	requireAppends(t, o.log)
	o.close()
}

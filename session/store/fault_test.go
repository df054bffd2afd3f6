package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func TestFault01TornTailIsQuarantinedAndTheNextAppendIsClean(t *testing.T) {
	for _, tail := range []string{
		`{"seq":11,"time":"2026-02-21T14:03:07.123456Z","type":"agent_mes`,
		`garbage`, "\x00\x01\xff",
	} {
		d := recorded(t, 10)
		d.write("events.jsonl", append(d.read("events.jsonl"), tail...))
		o := d.open(store.Options{})
		require.Len(t, readAll(t, o.log), 10)
		require.Equal(t, [][]byte{[]byte(tail)}, d.quarantined())
		requireAppends(t, o.log)
		o.close()
	}
}

func TestFault02AMissingNewlineAfterAGoodLineKeepsTheLine(t *testing.T) {
	for _, meta := range []bool{true, false} {
		d := recorded(t, 10)
		d.write("events.jsonl", bytes.TrimSuffix(d.read("events.jsonl"), []byte("\n")))
		if !meta {
			d.withoutMetadata()
		}
		o := d.open(store.Options{})
		events := readAll(t, o.log)
		require.Len(t, events, 10)
		require.Equal(t, event.TypeAgentMessage, events[9].Type)
		require.Empty(t, d.quarantined())
		requireAppends(t, o.log)
		o.close()
	}
}

func TestFault03AZeroInPlaceOfTheLastNewlineKeepsTheLine(t *testing.T) {
	d := recorded(t, 10)
	before := epochOf(t, d)
	d.write("events.jsonl", append(bytes.TrimSuffix(d.read("events.jsonl"), []byte("\n")), 0))
	o := d.open(store.Options{})
	events := readAll(t, o.log)
	require.Len(t, events, 10)
	require.Equal(t, event.TypeAgentMessage, events[9].Type)
	require.Equal(t, before, o.log.Epoch())
	requireAppends(t, o.log)
	o.close()
}

func TestFault03AZeroTailIsCutOffAndQuarantined(t *testing.T) {
	d := recorded(t, 10)
	zeros := make([]byte, 8192)
	d.write("events.jsonl", append(d.read("events.jsonl"), zeros...))
	o := d.open(store.Options{})
	require.Len(t, readAll(t, o.log), 10)
	require.Equal(t, [][]byte{zeros}, d.quarantined())
	requireAppends(t, o.log)
	o.close()
}

func TestFault04AZeroPageInTheMiddleKeepsTheLinesBehindIt(t *testing.T) {
	for _, meta := range []bool{true, false} {
		d := recorded(t, 200)
		data := d.read("events.jsonl")
		clear(data[4096:8192])
		d.write("events.jsonl", data)
		if !meta {
			d.withoutMetadata()
		}
		o := d.open(store.Options{})
		events := readAll(t, o.log)
		requireGapless(t, events)
		require.Len(t, events, 200)
		corrupt := 0
		for _, e := range events {
			if e.Type == event.TypeCorrupt {
				corrupt++
			}
		}
		require.InDelta(t, 4096/(len(data)/200), corrupt, 3)
		require.Empty(t, d.quarantined(), "nothing with good lines behind it is cut off")
		require.NotZero(t, o.log.Health().Holes)
		requireAppends(t, o.log)
		o.close()
		require.Equal(t, data, d.read("events.jsonl")[:len(data)])
	}
}

func TestFault05AFlippedBitInAStringIsServedAsUnverified(t *testing.T) {
	for _, flip := range []byte{'t' ^ 1, 0xff} { // another letter, invalid UTF-8
		d := recorded(t, 10)
		lines := d.lines()
		at := bytes.Index(lines[4], []byte("text 3"))
		lines[4][at] = flip
		d.setLines(lines)
		d.withoutMetadata()
		o := d.open(store.Options{})
		events := readAll(t, o.log)
		requireGapless(t, events)
		require.Len(t, events, 10)
		require.True(t, events[4].Unverified)
		require.Equal(t, event.TypeAgentMessage, events[4].Type)
		require.False(t, events[5].Unverified)
		require.Equal(t, 1, o.log.Health().Unverified)
		requireAppends(t, o.log)
		o.close()
	}
}

func TestFault06AFlippedBitInTheStructureIsAPlaceholder(t *testing.T) {
	d := recorded(t, 10)
	lines := d.lines()
	lines[4][0] = '['
	d.setLines(lines)
	o := d.open(store.Options{}) // the checkpoint holds: found while reading
	events := readAll(t, o.log)
	requireGapless(t, events)
	require.Equal(t, event.TypeCorrupt, events[4].Type)
	require.Equal(t, events[3].Time, events[4].Time)
	require.NotEqual(t, event.TypeCorrupt, events[5].Type)
	require.EqualValues(t, 1, o.log.Health().Holes)
	requireAppends(t, o.log)
	o.close()
}

func TestFault06ADamagedLastLineNeverGivesItsSeqToAnother(t *testing.T) {
	for _, meta := range []bool{true, false} {
		d := recorded(t, 10)
		lines := d.lines()
		lines[9][0] = '['
		d.setLines(lines)
		if !meta {
			d.withoutMetadata()
		}
		before := epochOf(t, d)
		o := d.open(store.Options{})
		require.NotEqual(t, before, o.log.Epoch(), "seq 10 may mean something else now")
		requireAppends(t, o.log)
		o.close()
	}
}

// epochOf reads the epoch from the first line of a log.
func epochOf(t testing.TB, d disk) string {
	t.Helper()
	var e event.Event
	require.NoError(t, json.Unmarshal(d.lines()[0], &e))
	p, err := e.Payload()
	require.NoError(t, err)
	return p.(event.SessionStart).Epoch
}

func TestFault07AnIdenticalLineAgainIsShownOnce(t *testing.T) {
	for _, meta := range []bool{true, false} {
		d := recorded(t, 10)
		lines := d.lines()
		d.setLines(append(append([][]byte{}, lines...), lines[6:]...))
		if !meta {
			d.withoutMetadata()
		}
		o := d.open(store.Options{})
		require.Len(t, readAll(t, o.log), 10)
		require.Zero(t, o.log.Health().Conflicts)
		require.Empty(t, d.quarantined())
		requireAppends(t, o.log)
		o.close()
	}
}

func TestFault08AConflictingLineKeepsTheFirst(t *testing.T) {
	other := recorded(t, 10).lines()[6] // seq 7 of another session
	for _, meta := range []bool{true, false} {
		d := recorded(t, 10)
		lines := d.lines()
		d.setLines(append(append([][]byte{}, lines...), other))
		if !meta {
			d.withoutMetadata()
		}
		o := d.open(store.Options{})
		events := readAll(t, o.log)
		require.Len(t, events, 10)
		var first event.Event
		require.NoError(t, json.Unmarshal(lines[6], &first))
		require.Equal(t, first.Time, events[6].Time)
		require.Equal(t, 1, o.log.Health().Conflicts)
		require.Equal(t, [][]byte{other}, d.quarantined())
		requireAppends(t, o.log)
		d = o.close()
		again := d.open(store.Options{})
		require.Equal(t, 1, again.log.Health().Conflicts, "a restart does not forget it")
	}
}

func TestFault09AGapIsShownAsPlaceholders(t *testing.T) {
	for _, meta := range []bool{true, false} {
		d := recorded(t, 20)
		lines := d.lines()
		d.setLines(append(append([][]byte{}, lines[:5]...), lines[9:]...))
		if !meta {
			d.withoutMetadata()
		}
		o := d.open(store.Options{})
		events := readAll(t, o.log)
		requireGapless(t, events)
		require.Len(t, events, 20)
		for i, e := range events {
			require.Equal(t, i >= 5 && i < 9, e.Type == event.TypeCorrupt, "seq %d", e.Seq)
		}
		require.EqualValues(t, 4, o.log.Health().Holes)
		requireAppends(t, o.log)
		o.close()
	}
}

func TestFault09AGapOfMillionsCostsOnlyWhatIsRead(t *testing.T) {
	d := recorded(t, 5)
	d.write("events.jsonl", append(d.read("events.jsonl"),
		`{"seq":9000000000000,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x"}}`+"\n"...))
	o := d.open(store.Options{})
	b, err := o.log.ReadAfter(context.Background(), 3, 4096)
	require.NoError(t, err)
	require.EqualValues(t, 4, b.First)
	require.Less(t, len(b.JSON), 5000)
	_, err = b.Events()
	require.NoError(t, err)
	b, err = o.log.ReadBefore(context.Background(), 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 9000000000000, b.Last)
	require.EqualValues(t, 10, b.Count)
	_, _, err = o.log.Append(context.Background(), message("on"))
	require.NoError(t, err)
}

func TestFault10MetadataThatIsBehindIsBroughtUpToDate(t *testing.T) {
	d := recorded(t, 10)
	old := d.read("metadata.json")
	o := d.open(store.Options{})
	appendN(t, o.log, 5)
	epoch := o.log.Epoch()
	o.close()
	d.write("metadata.json", old)
	o = d.open(store.Options{})
	require.Equal(t, store.Marks{Min: 1, Visible: 15, Written: 15, Synced: 15}, o.log.Marks())
	require.Equal(t, epoch, o.log.Epoch())
	m := onDisk(t, d)
	require.EqualValues(t, 15, m.SyncedSeq)
	requireAppends(t, o.log)
	o.close()
}

// onDisk reads the metadata as it lies on disk.
func onDisk(t testing.TB, d disk) store.Metadata {
	t.Helper()
	var m store.Metadata
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
			before.Writer = nil
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
	old := time.Now().Add(-time.Hour) // a new one may be about to be written
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

func TestFault20TwoHubsOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	l := create(t, s)
	_, err := store.Open(dir, store.Options{})
	var locked *store.LockedError
	require.ErrorAs(t, err, &locked)
	require.Contains(t, locked.Holder, fmt.Sprintf("process %d", os.Getpid()))
	require.Contains(t, err.Error(), dir)
	requireAppends(t, l)
}

func TestFault21ALockFileOfADeadProcessIsNoLock(t *testing.T) {
	dir := t.TempDir()
	// The process id is this test's own: a reused one must not matter.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LOCK"), fmt.Appendf(nil, "process %d on x since y\n and more", os.Getpid()), 0o600))
	s := open(t, dir, store.Options{})
	text, err := os.ReadFile(filepath.Join(dir, "LOCK"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"))
	require.NotEmpty(t, s.HubID())
}

func TestFault22HugeValuesBecomeBlobsAndHugeLinesAreStillRead(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), store.Options{})
	l := create(t, s)
	huge := strings.Repeat("päge\n", 11<<20/6)
	_, _, err := l.Append(ctx, message(huge))
	require.NoError(t, err)
	events := readAll(t, l)
	var ref struct {
		Text event.BlobRef `json:"text"`
	}
	require.NoError(t, json.Unmarshal(events[1].Data, &ref))
	require.EqualValues(t, len(huge), ref.Text.Blob.Bytes)
	require.True(t, strings.HasPrefix(huge, ref.Text.Head))
	require.InDelta(t, 4096, len(ref.Text.Head), 4)
	p, err := events[1].Payload()
	require.NoError(t, err)
	require.EqualValues(t, ref.Text.Head, p.(event.AgentMessage).Text)
	blob, err := l.OpenBlob(ref.Text.Blob.SHA256)
	require.NoError(t, err)
	defer blob.Close()
	var kept bytes.Buffer
	_, err = kept.ReadFrom(blob)
	require.NoError(t, err)
	require.Equal(t, huge, kept.String())

	// A line from elsewhere that is over every cap.
	d := recorded(t, 3)
	line := fmt.Sprintf(`{"seq":4,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x","text":%q}}`+"\n", strings.Repeat("x", 3<<19))
	d.write("events.jsonl", append(d.read("events.jsonl"), line...))
	o := d.open(store.Options{})
	require.Len(t, readAll(t, o.log), 4)
	requireAppends(t, o.log)
	o.close()
}

func TestFault23ADirectoryThatCannotBeUsedSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := store.Open(file, store.Options{})
	require.ErrorContains(t, err, file)

	newer := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(newer, "hub.json"), []byte(`{"format":99,"hub_id":"aa"}`), 0o600))
	_, err = store.Open(newer, store.Options{})
	require.ErrorIs(t, err, store.ErrFormat)

	if os.Geteuid() == 0 {
		t.Log("as root every directory can be written: the rest is left to other users")
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	_, err = store.Open(filepath.Join(dir, "data"), store.Options{})
	require.ErrorIs(t, err, os.ErrPermission)
}

func TestFault24ASessionRemovedWhileOpenFailsAlone(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	gone, other := create(t, s), create(t, s)
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "sessions", gone.ID())))
	require.Eventually(t, func() bool {
		_, _, err := gone.Append(ctx, message("lost"))
		return err != nil
	}, patience, 10*time.Millisecond, "what is written goes nowhere")
	require.Equal(t, store.HealthFrozen, gone.Health().State)
	requireAppends(t, other)
	require.NoError(t, s.Delete(ctx, gone.ID()))
	require.Len(t, s.List(), 1)
	require.NoError(t, s.Close())
}

// A file that was removed or replaced takes nothing that is acknowledged.
func TestFault24NothingIsAcknowledgedInALogWhoseFileWasRemoved(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".other", []byte("{}\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".other", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.TempDir(), store.Options{})
			require.NoError(t, err)
			l := create(t, s)
			_, _, err = l.Append(t.Context(), prompt("p1"))
			require.NoError(t, err)
			require.NoError(t, remove(filepath.Join(s.Dir(), "sessions", l.ID(), "events.jsonl")))
			_, _, err = l.Append(t.Context(), prompt("p2"))
			require.ErrorIs(t, err, store.ErrFrozen)
			require.Contains(t, l.Health().Reason, "removed")
			require.Error(t, s.Close())
		})
	}
}

func TestFault25ALogEditedByHandIsReadable(t *testing.T) {
	edit := func(change func(line string) string) disk {
		d := recorded(t, 10)
		var lines [][]byte
		for _, l := range d.lines() {
			lines = append(lines, []byte(change(strings.TrimSuffix(string(l), "\n"))+"\n"))
		}
		d.setLines(lines)
		return d
	}
	crc := func(line string) string { return line[:strings.LastIndex(line, `,"crc"`)] + "}" }
	for name, c := range map[string]struct {
		change     func(string) string
		unverified bool
	}{
		"CRLF":           {func(l string) string { return l + "\r" }, false},
		"jq without crc": {crc, true},
		"pretty":         {func(l string) string { return strings.ReplaceAll(l, `,"`, ` , "`) }, false},
		"another key order": {func(l string) string {
			var m map[string]any
			require.NoError(t, json.Unmarshal([]byte(crc(l)), &m))
			out, err := json.Marshal(m) // sorts the keys: data comes first
			require.NoError(t, err)
			return string(out)
		}, true},
	} {
		for _, meta := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s metadata=%v", name, meta), func(t *testing.T) {
				d := edit(c.change)
				if !meta {
					d.withoutMetadata()
				}
				o := d.open(store.Options{})
				events := readAll(t, o.log)
				requireGapless(t, events)
				require.Len(t, events, 10)
				for _, e := range events {
					require.NotEqual(t, event.TypeCorrupt, e.Type)
					require.Equal(t, c.unverified, e.Unverified)
				}
				requireAppends(t, o.log)
				o.close()
			})
		}
	}
}

func TestFault26AClockThatGoesBackChangesNoOrder(t *testing.T) {
	at := time.Date(2026, 2, 21, 14, 0, 0, 0, time.UTC)
	o := store.Options{Now: func() time.Time { at = at.Add(-time.Hour); return at }}
	dir := t.TempDir()
	s, err := store.Open(dir, o)
	require.NoError(t, err)
	l := create(t, s)
	for range 5 {
		requireAppends(t, l)
	}
	events := readAll(t, l)
	require.True(t, events[5].Time.Before(events[1].Time))
	run := s.RunID()
	require.NoError(t, s.Close())
	again := open(t, dir, o)
	require.Greater(t, again.RunID(), run)
	l, err = again.Log(context.Background(), l.ID())
	require.NoError(t, err)
	require.Equal(t, events, readAll(t, l))
}

func TestFault27CursorsBeyondTheLog(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), store.Options{})
	l := create(t, s)
	appendN(t, l, 5)
	for _, after := range []event.Seq{6, 7, 1 << 53, 1<<63 - 1} {
		b, err := l.ReadAfter(ctx, after, 100)
		require.NoError(t, err)
		require.True(t, b.Empty())
		b, err = l.ReadBefore(ctx, after, 3)
		require.NoError(t, err)
		require.Equal(t, 3, b.Count)
	}
	for _, seq := range []event.Seq{-1, -1 << 63} {
		_, err := l.ReadAfter(ctx, seq, 100)
		require.ErrorIs(t, err, store.ErrInvalid)
		_, err = l.ReadBefore(ctx, seq, 100)
		require.ErrorIs(t, err, store.ErrInvalid)
	}
	b, err := l.ReadBefore(ctx, 1, 10)
	require.NoError(t, err)
	require.True(t, b.Empty())
	b, err = l.ReadAfter(ctx, 0, -5)
	require.NoError(t, err)
	require.Equal(t, 1, b.Count, "at least one event, whatever the bound")
}

package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
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
		require.Empty(t, d.quarantined(), "lines before valid lines were truncated")
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
	o := d.open(store.Options{}) // the checkpoint fits, so only reading finds the damage
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
		require.NotEqual(t, before, o.log.Epoch(), "the epoch must change, because seq 10 may be another event")
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
		require.EqualValues(t, 4, o.log.Health().Conflicts)
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
		requireAppends(t, o.log)
		d = o.close()
		again := d.open(store.Options{})
		require.Equal(t, 1, again.log.Health().Conflicts, "the conflict was forgotten after a restart")
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
	line := `{"seq":9000000000000,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x"}`
	line += fmt.Sprintf(`,"crc":"%08x"}`+"\n", crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)))
	d.write("events.jsonl", append(d.read("events.jsonl"), line...))
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
		require.ErrorIs(t, err, journal.ErrInvalid)
		_, err = l.ReadBefore(ctx, seq, 100)
		require.ErrorIs(t, err, journal.ErrInvalid)
	}
	b, err := l.ReadBefore(ctx, 1, 10)
	require.NoError(t, err)
	require.True(t, b.Empty())
	b, err = l.ReadAfter(ctx, 0, -5)
	require.NoError(t, err)
	require.Equal(t, 1, b.Count, "a batch must have at least one event")
}

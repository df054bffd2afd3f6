package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/store/logfile"
)

// inFiles records a session whose log has many files. It returns the complete ones,
// oldest first.
func inFiles(t *testing.T) (d disk, events []event.Event, sealed []string) {
	t.Helper()
	root := t.TempDir()
	// JSON omits trailing zeros of a time, so the files of two sessions would
	// differ in length.
	exact := func() time.Time { return time.Now().Truncate(10 * time.Microsecond).Add(time.Microsecond) }
	s := open(t, root, store.Options{SegmentBytes: 2000, Now: exact})
	l := create(t, s)
	appendN(t, l, 200)
	events = readAll(t, l)
	require.NoError(t, s.Close())
	d = disk{t: t, root: root, id: l.ID()}
	sealed, err := filepath.Glob(d.path("events-*.jsonl"))
	require.NoError(t, err)
	require.Greater(t, len(sealed), 5)
	return d, events, sealed
}

// requireLost requires that the events up to lost are marked as lost and that the
// others are unchanged.
func requireLost(t *testing.T, l *store.Log, lost event.Seq, events []event.Event) {
	t.Helper()
	require.EqualValues(t, 1, l.Marks().Min, "lost events must not count as removed by retention")
	now := readAll(t, l)
	requireGapless(t, now)
	for _, e := range now[:lost] {
		require.Equal(t, event.TypeCorrupt, e.Type)
	}
	require.Equal(t, events[lost:], now[lost:len(events)])
	page, err := l.ReadBefore(context.Background(), lost+2, 3)
	require.NoError(t, err)
	require.Equal(t, []event.Seq{lost - 1, lost + 1}, []event.Seq{page.First, page.Last})
}

func TestTheOldestFileLostIsALossAndNotRetention(t *testing.T) {
	d, events, sealed := inFiles(t)
	require.NoError(t, os.Remove(sealed[0]))
	require.NoError(t, os.Remove(sealed[1]))
	require.NoError(t, os.Remove(sealed[3]))
	require.Equal(t, []string{store.ProblemHole, store.ProblemHole}, kinds(t, d), "the oldest two files must be one hole")
	first, next := bounds(t, sealed[2])
	lost := first - 1

	o := d.open(store.Options{SegmentBytes: 2000})
	_, third := bounds(t, sealed[3])
	missing := int64(lost + third - next)
	require.Equal(t, journal.Damage{Missing: missing}, o.log.Health().Damage)
	require.Equal(t, missing, onDisk(t, d).Damage.Missing, "the metadata must count the missing events")
	b, err := o.log.ReadAfter(context.Background(), 0, 1<<20)
	require.NoError(t, err)
	require.EqualValues(t, 1, b.First)
	now := readAll(t, o.log)
	requireGapless(t, now)
	require.Equal(t, events[lost:next], now[lost:next])
	o.close()
	require.Equal(t, []string{store.ProblemHole, store.ProblemHole}, kinds(t, d), "the check after an opening must find the same")
}

func TestAllCompleteFilesLostIsALoss(t *testing.T) {
	d, events, sealed := inFiles(t)
	for _, path := range sealed {
		require.NoError(t, os.Remove(path))
	}
	require.Contains(t, kinds(t, d), store.ProblemHole)
	_, lost := bounds(t, sealed[len(sealed)-1])
	o := d.open(store.Options{SegmentBytes: 2000})
	requireLost(t, o.log, lost, events)
	o.close()
	require.Contains(t, kinds(t, d), store.ProblemHole)
}

func TestAFileThatIsLostWhileALogIsOpenIsToldAsALoss(t *testing.T) {
	d, events, sealed := inFiles(t)
	o := d.open(store.Options{SegmentBytes: 2000, TailBytes: 1})
	require.NoError(t, os.Remove(sealed[0]))
	_, lost := bounds(t, sealed[0])
	requireLost(t, o.log, lost, events)
	require.Positive(t, o.log.Health().Holes)
	requireAppends(t, o.log)
}

// bounds returns the first and last seq of a complete file.
func bounds(t *testing.T, path string) (first, last event.Seq) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		for i, to := range []*event.Seq{&first, &last} {
			line := logfile.Parse(lines[i*(len(lines)-1)])
			require.Equal(t, logfile.Verified, line.Quality)
			*to = line.Seq
		}
		return first, last
	}
	parts := regexp.MustCompile(`events-0*(\d+)-0*(\d+)\.jsonl`).FindStringSubmatch(path)
	require.NoError(t, json.Unmarshal([]byte(parts[1]), &first))
	require.NoError(t, json.Unmarshal([]byte(parts[2]), &last))
	return first, last
}

// TestFault12NumbersThatCannotBeRightAreNotActedUpon writes valid metadata with
// wrong numbers: with the old checksum, without a checksum, and with numbers that
// are consistent with each other.
func TestFault12NumbersThatCannotBeRightAreNotActedUpon(t *testing.T) {
	const far = "4302743027"
	one := func(field, value string) func(text string) string {
		return func(text string) string {
			return regexp.MustCompile(`"`+field+`":"?[0-9a-f]+`).ReplaceAllStringFunc(text, func(was string) string {
				return was[:strings.IndexAny(was, ":")+1] + value
			})
		}
	}
	unsigned := func(text string) string { return regexp.MustCompile(`,"crc":"[0-9a-f]{8}"`).ReplaceAllString(text, "") }
	wrong := map[string]func(text string) string{}
	for _, field := range []string{"synced_seq", "max_seq", "min_seq", "log_first", "event_count"} {
		wrong[field] = one(field, far)
		wrong[field+" without a checksum"] = func(text string) string { return unsigned(one(field, far)(text)) }
		wrong[field+" as large as it gets"] = func(text string) string { return unsigned(one(field, "9007199254740990")(text)) }
	}
	together := func(value string) func(text string) string {
		return func(text string) string {
			for _, field := range []string{"synced_seq", "max_seq", "event_count"} {
				text = one(field, value)(text)
			}
			return unsigned(text)
		}
	}
	wrong["the end, all of one mind"] = together("50010")
	wrong["a log that says it is larger, too"] = func(text string) string { return one("log_bytes", "90000")(together("50010")(text)) }
	wrong["one digit of the text"] = func(text string) string { return strings.Replace(text, `"demo"`, `"dem0"`, 1) }

	for name, spoil := range wrong {
		t.Run(name, func(t *testing.T) {
			d, events, sealed := inFiles(t)
			before := d.read("metadata.json")
			d.write("metadata.json", []byte(spoil(string(before))))
			require.NotEqual(t, before, d.read("metadata.json"))
			o := d.open(store.Options{SegmentBytes: 2000})
			now := readAll(t, o.log)
			require.Equal(t, events, now[:len(events)], "an event is lost or a placeholder was added")
			require.LessOrEqual(t, len(now), len(events)+2)
			require.Equal(t, event.TypeEpoch, now[len(events)].Type, "a new epoch must follow, because the seqs in the metadata may be in use")
			require.Equal(t, "demo", o.log.Metadata().Agent)
			for _, path := range sealed {
				require.FileExists(t, path)
			}
			require.Contains(t, o.quarantined(), []byte(spoil(string(before))))
			requireAppends(t, o.log)
			o.close()
			require.Empty(t, kinds(t, d))
		})
	}
}

func TestAnEndThatWasLostIsStillGoneOnBehind(t *testing.T) {
	d, events, sealed := inFiles(t)
	// Restore a backup older than the newest files.
	var before event.Seq
	for _, path := range sealed[4:] {
		require.NoError(t, os.Remove(path))
	}
	require.NoError(t, os.Rename(sealed[3], d.path("events.jsonl")))
	_, before = bounds(t, d.path("events.jsonl"))
	o := d.open(store.Options{SegmentBytes: 2000})
	now := readAll(t, o.log)
	requireGapless(t, now)
	require.Equal(t, events[:before], now[:before])
	require.Equal(t, event.TypeCorrupt, now[len(events)-1].Type)
	require.Equal(t, event.TypeEpoch, now[len(events)].Type, "a seq was used twice")
	o.close()
}

package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/store/logfile"
)

const copiesDir = "/home/copies/laptop"

// openCopies opens the copies on a file system; the test closes them.
func openCopies(t testing.TB, fsys store.FS) *store.Copies {
	t.Helper()
	c, err := store.OpenCopies(copiesDir, store.CopyOptions{FS: fsys, CacheBytes: 4 << 10})
	require.NoError(t, err)
	return c
}

func copyOf(t testing.TB, copies *store.Copies, id string) *store.Copy {
	t.Helper()
	c, err := copies.Copy(id)
	require.NoError(t, err)
	return c
}

// copied is the machine of a test: a store on a disk of its own.
type copied struct {
	disk  *memFS
	store *store.Store
	log   *store.Log
}

func newCopied(t testing.TB, o store.Options) *copied {
	t.Helper()
	m := &copied{disk: newMemFS()}
	o.FS, o.BootID = m.disk, "boot"
	m.store = open(t, "/data", o)
	m.log = create(t, m.store)
	return m
}

// restart opens the machine's store again on another state of its disk.
func (m *copied) restart(t testing.TB, disk *memFS, o store.Options) {
	t.Helper()
	id := m.log.ID()
	m.disk, o.FS = disk, disk
	m.store = open(t, "/data", o)
	l, err := m.store.Log(context.Background(), id)
	require.NoError(t, err)
	m.log = l
}

// pull reads lines into the copy until it has all, at most maxBytes at once.
func pull(c *store.Copy, l *store.Log, maxBytes func() int) error {
	ctx := context.Background()
	for {
		lines, err := l.ReadLines(ctx, c.Marks().Written, maxBytes())
		if err != nil || len(lines.Lines) == 0 {
			return err
		}
		last, err := c.Append(lines)
		if err != nil {
			return err
		}
		if last != lines.Last {
			return fmt.Errorf("the copy has seq %d, not %d", last, lines.Last)
		}
	}
}

func always(n int) func() int { return func() int { return n } }

// logFiles returns the files with lines in a session's directory.
func logFiles(m *memFS, dir string) map[string]string {
	found := map[string]string{}
	for path, text := range m.files() {
		if name := filepath.Base(path); filepath.Dir(path) == dir && strings.HasPrefix(name, "events") {
			found[name] = text
		}
	}
	return found
}

// joined is the lines of all files in order. The active file sorts last.
func joined(files map[string]string) string {
	var text strings.Builder
	for _, name := range sortedKeys(files) {
		text.WriteString(files[name])
	}
	return text.String()
}

func sortedKeys(files map[string]string) []string {
	var names []string
	for name := range files {
		if name != "events.jsonl" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, "events.jsonl")
}

// sameFiles requires that the copy has exactly the machine's files.
func (m *copied) sameFiles(t testing.TB, home *memFS) {
	t.Helper()
	id := m.log.ID()
	require.Equal(t, logFiles(m.disk, "/data/sessions/"+id), logFiles(home, copiesDir+"/"+id))
}

// beginning requires that the copy is a beginning of the machine's lines.
func beginning(t testing.TB, machine, home map[string]string) {
	t.Helper()
	whole, part := joined(machine), joined(home)
	require.True(t, strings.HasPrefix(whole, part), "the copy is no beginning of the log")
	require.True(t, part == "" || strings.HasSuffix(part, "\n"), "the copy ends within a line")
}

func TestACopyHasTheMachinesFilesAndIsReadLikeItsLog(t *testing.T) {
	m := newCopied(t, store.Options{SegmentBytes: 4 << 10, TailBytes: 1 << 10})
	appendN(t, m.log, 100)
	home := newMemFS()
	copies := openCopies(t, home)
	c := copyOf(t, copies, m.log.ID())
	require.Zero(t, c.Marks().Visible)
	changed := c.Changed()
	require.NoError(t, pull(c, m.log, always(1<<10)))
	<-changed
	m.sameFiles(t, home)
	require.Greater(t, len(logFiles(home, copiesDir+"/"+c.ID())), 2)
	require.Equal(t, m.log.Epoch(), c.Epoch())
	require.Equal(t, m.log.Marks().Visible, c.Marks().Visible)
	require.Equal(t, event.Seq(1), c.Marks().Min)
	for _, l := range []journal.Log{c.Log()} {
		after := event.Seq(0)
		for {
			want, err := m.log.ReadAfter(context.Background(), after, 700)
			require.NoError(t, err)
			got, err := l.ReadAfter(context.Background(), after, 700)
			require.NoError(t, err)
			require.Equal(t, string(want.JSON), string(got.JSON))
			if want.Empty() {
				break
			}
			after = want.Last
		}
		_, _, err := l.Append(context.Background(), 0, message("no"))
		require.ErrorIs(t, err, store.ErrCopyOnly)
	}
	require.NoError(t, copies.Close())
	_, err := c.ReadAfter(context.Background(), 0, 100)
	require.ErrorIs(t, err, journal.ErrClosed)
	copies = openCopies(t, home)
	c = copyOf(t, copies, m.log.ID())
	require.Equal(t, m.log.Epoch(), c.Epoch())
	require.Equal(t, m.log.Marks().Visible, c.Marks().Visible)
	appendN(t, m.log, 50)
	require.NoError(t, pull(c, m.log, always(1<<10)))
	m.sameFiles(t, home)
	require.NoError(t, copies.Close())
	m.sameFiles(t, home)
}

func TestACopyRefusesLinesThatDoNotFit(t *testing.T) {
	m := newCopied(t, store.Options{SegmentBytes: 2 << 10})
	appendN(t, m.log, 40)
	other := newCopied(t, store.Options{})
	appendN(t, other.log, 3)
	var stretches []journal.Stretch
	for after := event.Seq(0); ; {
		s, err := m.log.ReadLines(context.Background(), after, 1)
		require.NoError(t, err)
		if len(s.Lines) == 0 {
			break
		}
		after, stretches = s.Last, append(stretches, s)
	}
	sealed := 0
	for sealed = 1; stretches[sealed].File == 1; sealed++ {
	}
	line := func(seq event.Seq, kind event.Type, data string) []byte {
		text, _, err := logfile.Encode(nil, seq, event.Draft{Type: kind, Time: time.Now(), Data: []byte(data)})
		require.NoError(t, err)
		return text
	}
	sum := func(body string) []byte { return logfile.AppendStored(nil, []byte(body)) }
	flipped := bytes.Clone(stretches[5].Lines)
	flipped[30] ^= 1
	foreign, err := other.log.ReadLines(context.Background(), 0, 1)
	require.NoError(t, err)
	start := string(stretches[sealed].Lines)
	for name, c := range map[string]struct {
		after int // how many lines the copy has
		file  event.Seq
		lines []byte
		want  error
	}{
		"a line is missing":               {5, 1, stretches[6].Lines, store.ErrCopyGap},
		"a line comes again":              {5, 1, stretches[4].Lines, store.ErrCopyGap},
		"a file is missing":               {5, stretches[sealed].File, stretches[sealed].Lines, store.ErrCopyGap},
		"seq 0":                           {5, 1, sum(`{"seq":0,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{}}`), store.ErrCopyDamaged},
		"a negative seq":                  {5, 1, sum(`{"seq":-1,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{}}`), store.ErrCopyDamaged},
		"a bit is wrong":                  {5, 1, flipped, store.ErrCopyDamaged},
		"no newline":                      {5, 1, bytes.TrimSuffix(stretches[5].Lines, []byte("\n")), store.ErrCopyDamaged},
		"an empty line":                   {5, 1, []byte("\n"), store.ErrCopyDamaged},
		"another session":                 {0, 1, foreign.Lines, store.ErrCopyForeign},
		"the middle of a log":             {0, 1, stretches[3].Lines, store.ErrCopyDamaged},
		"a file without a start":          {sealed, stretches[sealed].File, line(event.Seq(sealed+1), "note", `{}`), store.ErrCopyDamaged},
		"a file that follows another":     {sealed, stretches[sealed].File, resum(strings.Replace(start, `"prev":"`, `"prev":"0`, 1)), store.ErrCopyDamaged},
		"a file of another session":       {sealed, stretches[sealed].File, resum(strings.Replace(start, m.log.ID(), other.log.ID()[:8]+"-other", 1)), store.ErrCopyForeign},
		"no JSON":                         {5, 1, sum(`{"seq":6,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"a"}}`), store.ErrCopyDamaged},
		"no UTF-8":                        {5, 1, sum("{\"seq\":6,\"time\":\"2026-02-21T14:03:07.123456Z\",\"type\":\"note\",\"data\":{\"a\":\"\xff\"}}"), store.ErrCopyDamaged},
		"no type":                         {5, 1, sum(`{"seq":6,"time":"2026-02-21T14:03:07.123456Z","data":{}}`), store.ErrCopyDamaged},
		"no time":                         {5, 1, sum(`{"seq":6,"time":"x","type":"note","data":{}}`), store.ErrCopyDamaged},
		"data is no object":               {5, 1, sum(`{"seq":6,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":[]}`), store.ErrCopyDamaged},
		"a merged event":                  {5, 1, sum(`{"seq":6,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{},"first_seq":5}`), store.ErrCopyDamaged},
		"too long":                        {5, 1, line(6, "note", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), store.ErrCopyDamaged},
		"a leap of an epoch too far":      {5, 1, line(1<<30, "epoch", `{"epoch":"0123456789abcdef"}`), store.ErrCopyGap},
		"an epoch in the past":            {5, 1, line(5, "epoch", `{"epoch":"0123456789abcdef"}`), store.ErrCopyGap},
		"a good line before a bad one":    {5, 1, append(bytes.Clone(stretches[5].Lines), stretches[7].Lines...), store.ErrCopyGap},
		"a newer format":                  {0, 1, resum(strings.Replace(string(stretches[0].Lines), `"format":1`, `"format":9`, 1)), store.ErrCopyDamaged},
		"a session_start of no epoch":     {0, 1, resum(strings.Replace(string(stretches[0].Lines), m.log.Epoch(), "x", 1)), store.ErrCopyDamaged},
		"a file that begins after itself": {0, 7, stretches[0].Lines, store.ErrCopyDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			home := newMemFS()
			copies := openCopies(t, home)
			defer func() { require.NoError(t, copies.Close()) }()
			dst := copyOf(t, copies, m.log.ID())
			for _, s := range stretches[:c.after] {
				_, err := dst.Append(s)
				require.NoError(t, err)
			}
			before := home.files()
			last, err := dst.Append(journal.Stretch{Lines: c.lines, File: c.file})
			require.ErrorIs(t, err, c.want)
			require.EqualValues(t, c.after, last)
			require.Equal(t, before, home.files())
			require.NoError(t, pull(dst, m.log, always(500)))
			m.sameFiles(t, home)
		})
	}
	copies := openCopies(t, newMemFS())
	defer func() { require.NoError(t, copies.Close()) }()
	for _, id := range []string{"../../../etc", "..", "", "a/b-c-d-e-f", "UPPERCASE", strings.Repeat("a", 65)} {
		_, err := copies.Copy(id)
		require.ErrorIs(t, err, journal.ErrInvalidID)
		require.ErrorIs(t, copies.Delete(id), journal.ErrInvalidID)
	}
}

// resum gives a changed line its right checksum.
func resum(line string) []byte {
	at := strings.LastIndex(line, `,"crc":"`)
	return logfile.AppendStored(nil, []byte(line[:at]+"}"))
}

// TestACopyIsEqualWhateverHappens copies random logs in random pieces, with restarts,
// kills and power cuts on both sides.
func TestACopyIsEqualWhateverHappens(t *testing.T) {
	for seed := range uint64(soak.Rounds(10, 1000)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { equalWhateverHappens(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func equalWhateverHappens(t *testing.T, r *rand.Rand) {
	o := store.Options{SegmentBytes: int64(1<<10 + r.IntN(8<<10)), TailBytes: 1 << r.IntN(14), BootID: "boot-0"}
	m := newCopied(t, o)
	home := newMemFS()
	copies := openCopies(t, home)
	piece := func() int { return 1 + r.IntN(1<<(1+r.IntN(14))) }
	for boot := 1; boot < 40; boot++ {
		switch r.IntN(10) {
		case 0: // the machine ends cleanly
			require.NoError(t, m.store.Close())
			m.restart(t, m.disk.restart(), o)
		case 1: // it is killed
			was := m.disk.restart()
			require.NoError(t, m.store.Close())
			m.restart(t, was, o)
		case 2: // its power is cut, and it may lose events
			was := m.disk.powerCut(r)
			require.NoError(t, m.store.Close())
			o.BootID = fmt.Sprint("boot-", boot)
			m.restart(t, was, o)
		case 3: // home ends
			require.NoError(t, copies.Close())
			copies = openCopies(t, home)
		case 4: // home is killed
			was := home.restart()
			require.NoError(t, copies.Close())
			home = was
			copies = openCopies(t, home)
		case 5: // home's power is cut
			was := home.powerCut(r)
			require.NoError(t, copies.Close())
			home = was
			copies = openCopies(t, home)
		case 6:
			time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		case 7:
			_, _, err := m.log.Append(context.Background(), message(strings.Repeat("large", 80<<10)))
			require.NoError(t, err)
		default:
			for range r.IntN(20) {
				_, _, err := m.log.Append(context.Background(), message(strings.Repeat("x", r.IntN(400))))
				require.NoError(t, err)
			}
		}
		c := copyOf(t, copies, m.log.ID())
		c = agree(t, copies, c, m.log)
		beginning(t, logFiles(m.disk, "/data/sessions/"+m.log.ID()), logFiles(home, copiesDir+"/"+m.log.ID()))
		if r.IntN(2) == 0 {
			require.NoError(t, pull(c, m.log, piece))
			m.sameFiles(t, home)
			require.Equal(t, m.log.Epoch(), c.Epoch())
		}
	}
	require.NoError(t, pull(copyOf(t, copies, m.log.ID()), m.log, piece))
	m.sameFiles(t, home)
	require.NoError(t, copies.Close())
	require.NoError(t, m.store.Close())
}

// agree cuts the copy where the machine's log has other lines.
func agree(t testing.TB, copies *store.Copies, c *store.Copy, l *store.Log) *store.Copy {
	t.Helper()
	ctx := context.Background()
	equal := func(seq event.Seq) bool {
		ours, ok, err := c.SumAt(ctx, seq)
		require.NoError(t, err)
		theirs, err := l.ReadLines(ctx, seq-1, 1)
		require.NoError(t, err)
		return ok && bytes.HasSuffix(theirs.Lines, []byte(`"crc":"`+ours+"\"}\n"))
	}
	last := c.Marks().Written
	upTo := last
	for upTo > 0 && !equal(upTo) {
		upTo--
	}
	if upTo == last {
		return c
	}
	kept, err := copies.Keep(c.ID(), upTo)
	require.NoError(t, err)
	require.Equal(t, upTo, kept.Marks().Written)
	_, err = c.ReadAfter(ctx, 0, 1)
	require.ErrorIs(t, err, journal.ErrClosed)
	return kept
}

package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestACopyBeginsWhereRetentionLeftOff(t *testing.T) {
	ctx := context.Background()
	m := newCopied(t, store.Options{SegmentBytes: 2 << 10})
	appendN(t, m.log, 60)
	home := newMemFS()
	copies := openCopies(t, home)
	old := copyOf(t, copies, m.log.ID())
	require.NoError(t, pull(old, m.log, always(500)))
	first, err := m.log.Retain(ctx, 5<<10)
	require.NoError(t, err)
	require.Greater(t, first, event.Seq(1))

	require.NoError(t, old.Retain(first))
	m.sameFiles(t, home)
	require.Equal(t, first, old.Marks().Min)
	_, err = old.ReadAfter(ctx, 0, 100)
	require.ErrorIs(t, err, journal.ErrRemoved)

	require.NoError(t, copies.Delete(m.log.ID()))
	_, err = old.ReadAfter(ctx, first-1, 100)
	require.ErrorIs(t, err, journal.ErrClosed)
	fresh := copyOf(t, copies, m.log.ID())
	for after := first - 1; ; {
		s, err := m.log.ReadLines(ctx, after, 500)
		require.NoError(t, err)
		if len(s.Lines) == 0 {
			break
		}
		after, err = fresh.Append(s)
		require.NoError(t, err)
	}
	m.sameFiles(t, home)
	require.Equal(t, first, fresh.Marks().Min)
	require.NoError(t, copies.Close())

	copies = openCopies(t, home)
	require.Equal(t, first, copyOf(t, copies, m.log.ID()).Marks().Min)
	ids, err := copies.IDs()
	require.NoError(t, err)
	require.Equal(t, []string{m.log.ID()}, ids)
	bytes, err := copies.Bytes()
	require.NoError(t, err)
	require.EqualValues(t, len(joined(logFiles(home, copiesDir+"/"+m.log.ID()))), bytes)
	require.NoError(t, copies.Close())
}

func TestACopyOfADamagedLogShowsWhatTheLogShows(t *testing.T) {
	for _, lost := range []struct {
		name string
		hurt func(m *memFS, dir string)
	}{
		{"a line in the middle", func(m *memFS, dir string) { hurtLine(m, dir, 1, 3) }},
		{"some lines in a row", func(m *memFS, dir string) { hurtLine(m, dir, 1, 3); hurtLine(m, dir, 1, 4) }},
		{"the last line of a file", func(m *memFS, dir string) { hurtLine(m, dir, 1, -1) }},
		{"the first line of a file", func(m *memFS, dir string) { hurtLine(m, dir, 1, 0) }},
		{"the first line of all", func(m *memFS, dir string) { hurtLine(m, dir, 0, 0) }},
		{"a whole file", func(m *memFS, dir string) { require.NoError(t, m.Remove(dir+"/"+sortedKeys(logFiles(m, dir))[1])) }},
		{"the first file", func(m *memFS, dir string) { require.NoError(t, m.Remove(dir+"/"+sortedKeys(logFiles(m, dir))[0])) }},
	} {
		t.Run(lost.name, func(t *testing.T) {
			o := store.Options{SegmentBytes: 2 << 10}
			m := newCopied(t, o)
			appendN(t, m.log, 60)
			disk := m.disk.restart()
			lost.hurt(disk, "/data/sessions/"+m.log.ID())
			o.BootID = "boot"
			m.restart(t, disk, o)
			appendN(t, m.log, 20)
			copies := openCopies(t, newMemFS())
			defer func() { require.NoError(t, copies.Close()) }()
			c := copyOf(t, copies, m.log.ID())
			require.NoError(t, pull(c, m.log, always(500)))
			requireSameEvents(t, m.log, c)
		})
	}
}

// hurtLine changes a byte of a line of the n-th file.
func hurtLine(m *memFS, dir string, n, line int) {
	m.change(dir+"/"+sortedKeys(logFiles(m, dir))[n], func(data []byte) []byte {
		lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
		if line < 0 {
			line += len(lines)
		}
		lines[line][len(lines[line])/2] ^= 1
		lines[line][1] = 'x'
		return append(bytes.Join(lines, nil), '\n')
	})
}

// requireSameEvents requires that a copy shows what the log shows from the copy's first
// event on.
func requireSameEvents(t testing.TB, l *store.Log, c *store.Copy) {
	t.Helper()
	ctx := context.Background()
	require.Equal(t, l.Marks().Visible, c.Marks().Visible)
	for after := c.Marks().Min - 1; ; {
		want, err := l.ReadAfter(ctx, after, 1)
		require.NoError(t, err)
		got, err := c.ReadAfter(ctx, after, 1)
		require.NoError(t, err)
		require.Equal(t, string(want.JSON), string(got.JSON))
		if want.Empty() {
			return
		}
		after = want.Last
	}
}

func TestTheLinesOfAPackedLogAreCopied(t *testing.T) {
	m := newCopied(t, store.Options{SegmentBytes: 4 << 10})
	appendN(t, m.log, 100)
	home := newMemFS()
	copies := openCopies(t, home)
	defer func() { require.NoError(t, copies.Close()) }()
	plain := logFiles(m.disk, "/data/sessions/"+m.log.ID())
	require.NoError(t, m.log.Pack(context.Background()))
	require.NotEqual(t, plain, logFiles(m.disk, "/data/sessions/"+m.log.ID()))
	c := copyOf(t, copies, m.log.ID())
	require.NoError(t, pull(c, m.log, always(1<<10)))
	require.Equal(t, plain, logFiles(home, copiesDir+"/"+m.log.ID()))
}

// TestAnImportedLogIsCopiedAsItLies: its lines name files that it does not have.
func TestAnImportedLogIsCopiedAsItLies(t *testing.T) {
	from := newCopied(t, store.Options{SegmentBytes: 2 << 10})
	appendN(t, from.log, 60)
	events := readAll(t, from.log)
	at := 0
	m := &copied{disk: newMemFS()}
	m.store = open(t, "/data", store.Options{FS: m.disk})
	id, err := m.store.Import(context.Background(), journal.Imported{First: events[0], Next: func() (event.Event, error) {
		if at++; at == len(events) {
			return event.Event{}, io.EOF
		}
		return events[at], nil
	}})
	require.NoError(t, err)
	m.log, err = m.store.Log(context.Background(), id)
	require.NoError(t, err)
	home := newMemFS()
	copies := openCopies(t, home)
	defer func() { require.NoError(t, copies.Close()) }()
	c := copyOf(t, copies, id)
	require.NoError(t, pull(c, m.log, always(1<<10)))
	require.Len(t, logFiles(home, copiesDir+"/"+id), 1)
	m.sameFiles(t, home)
	require.Equal(t, m.log.Epoch(), c.Epoch())
}

func TestACopyKeepsTheMachinesWordsAndBlobs(t *testing.T) {
	ctx := context.Background()
	m := newCopied(t, store.Options{})
	_, _, err := m.log.Append(ctx, message(strings.Repeat("large", 80<<10)))
	require.NoError(t, err)
	require.NoError(t, m.log.Label(func(md *journal.Metadata) { md.Name, md.Named = "a name", true }))
	home := newMemFS()
	copies := openCopies(t, home)
	c := copyOf(t, copies, m.log.ID())
	require.NoError(t, pull(c, m.log, always(1<<10)))
	other := m.log.Metadata()
	other.SessionID = "another-session"
	require.ErrorIs(t, c.SetMetadata(other), store.ErrCopyForeign)
	require.NoError(t, c.SetMetadata(m.log.Metadata()))
	names, err := m.log.BlobNames()
	require.NoError(t, err)
	require.Len(t, names, 1)
	require.ErrorIs(t, c.PutBlob(ctx, names[0], strings.NewReader("other bytes")), store.ErrCopyDamaged)
	none, err := c.BlobNames()
	require.NoError(t, err)
	require.Empty(t, none)
	blob, err := m.log.OpenBlob(names[0])
	require.NoError(t, err)
	require.NoError(t, errors.Join(c.PutBlob(ctx, names[0], blob), blob.Close()))
	require.NoError(t, copies.Close())

	copies = openCopies(t, home)
	unopened, err := copies.Metadata(m.log.ID())
	require.NoError(t, err)
	require.Equal(t, "a name", unopened.Name)
	c = copyOf(t, copies, m.log.ID())
	md := c.Metadata()
	require.Equal(t, "a name", md.Name)
	require.Equal(t, "demo", md.Agent)
	require.EqualValues(t, 2, md.MaxSeq)
	require.Equal(t, m.log.Epoch(), md.Epoch)
	stored, err := c.OpenBlob(names[0])
	require.NoError(t, err)
	require.NoError(t, stored.Close())
	_, err = copies.Metadata("not-copied-yet")
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NoError(t, copies.Close())
}

// TestACopyIsReadWhileItIsWritten reads with several readers while lines come and files
// end.
func TestACopyIsReadWhileItIsWritten(t *testing.T) {
	ctx := context.Background()
	m := newCopied(t, store.Options{SegmentBytes: 8 << 10})
	appendN(t, m.log, 2000)
	copies, err := store.OpenCopies(t.TempDir(), store.CopyOptions{CacheBytes: 2 << 10})
	require.NoError(t, err)
	c := copyOf(t, copies, m.log.ID())
	want := m.log.Marks().Visible
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for after := event.Seq(0); after < want; {
				changed := c.Changed()
				b, err := c.ReadAfter(ctx, after, 3<<10)
				if err != nil || b.Empty() {
					require.NoError(t, err)
					<-changed
					continue
				}
				theirs, err := m.log.ReadAfter(ctx, after, len(b.JSON))
				require.NoError(t, err)
				require.True(t, bytes.HasPrefix(b.JSON, theirs.UpTo(min(theirs.Last, b.Last)).JSON))
				after = b.Last
			}
		})
	}
	require.NoError(t, pull(c, m.log, always(700)))
	readers.Wait()
	require.NoError(t, copies.Close())
}

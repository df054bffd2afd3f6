package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// numbered is a streamed event of about 300 bytes that contains its seq.
func numbered(seq event.Seq) event.Draft {
	d := message("")
	d.Time = time.Now()
	d.Data = fmt.Appendf(nil, `{"message_id":"m1","text":"%0180d"}`, seq)
	return d
}

func TestATailThatAReaderHoldsNeverChanges(t *testing.T) {
	const events = 20_000
	l := create(t, open(t, t.TempDir(), store.Options{TailBytes: 256 << 10}))
	var group errgroup.Group
	group.Go(func() error {
		for seq := event.Seq(2); seq <= events; seq++ {
			if _, _, err := l.Append(context.Background(), numbered(seq)); err != nil {
				return err
			}
		}
		return nil
	})
	for reader := range uint64(3) {
		r := rand.New(rand.NewPCG(reader, 1))
		group.Go(func() error {
			var held []event.Batch
			var texts []string
			for l.Marks().Visible < events {
				// A position anywhere in the tail, including its oldest part, which
				// is dropped next.
				after := max(1, l.Marks().Visible-event.Seq(r.IntN(1200)))
				b, err := l.ReadAfter(context.Background(), after, 4<<10)
				if err != nil {
					return err
				}
				held, texts = append(held, b), append(texts, string(b.JSON))
				if len(held) > 300 {
					held, texts = held[1:], texts[1:]
				}
				runtime.Gosched()
			}
			for i, b := range held {
				if string(b.JSON) != texts[i] {
					return fmt.Errorf("events %d to %d changed", b.First, b.Last)
				}
				all, err := b.Events()
				if err != nil {
					return err
				}
				for k, e := range all {
					want := numbered(b.First + event.Seq(k))
					if e.Seq != b.First+event.Seq(k) || string(e.Data) != string(want.Data) {
						return fmt.Errorf("event %d reads as %d: %s", b.First+event.Seq(k), e.Seq, e.Data)
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// TestABatchIsNoLargerThanWasAskedFor reads with many limits, from memory and from
// the file. A batch must hold as many events as fit, but at least one.
func TestABatchIsNoLargerThanWasAskedFor(t *testing.T) {
	for name, tail := range map[string]int{"memory": 1 << 20, "file": 1} {
		t.Run(name, func(t *testing.T) {
			l := create(t, open(t, t.TempDir(), store.Options{TailBytes: tail}))
			_, err := l.ReadAfter(context.Background(), 0, 1) // the first read starts the tail
			require.NoError(t, err)
			for seq := event.Seq(2); seq <= 200; seq++ {
				_, _, err := l.Append(context.Background(), numbered(seq))
				require.NoError(t, err)
			}
			three := len(`,,`)
			for after := event.Seq(50); after < 53; after++ {
				b, err := l.ReadAfter(context.Background(), after, 1)
				require.NoError(t, err)
				require.Equal(t, 1, b.Count)
				three += len(b.JSON)
			}
			for most, want := range map[int]int{three / 2: 1, three - 1: 2, three: 3, three + 1: 3} {
				b, err := l.ReadAfter(context.Background(), 50, most)
				require.NoError(t, err)
				require.Equal(t, want, b.Count, "of at most %d bytes", most)
			}
		})
	}
}

func TestASmallTailKeepsAtLeastHalfOfItself(t *testing.T) {
	const limit = 64 << 10
	var files readsFS
	files.FS = store.OS()
	l := create(t, open(t, t.TempDir(), store.Options{TailBytes: limit, FS: &files}))
	line := numbered(1)
	behind := event.Seq(limit / 2 / (len(line.Data) + 150))
	for seq := event.Seq(2); seq < 3_000; seq++ {
		_, _, err := l.Append(context.Background(), numbered(seq))
		require.NoError(t, err)
		if seq == 3*behind {
			files.reads.Store(0)
		}
		_, err = l.ReadAfter(context.Background(), max(1, seq-behind), limit)
		require.NoError(t, err)
	}
	require.Zero(t, files.reads.Load(), "reads of the file by a follower at most half a tail behind")
}

// readsFS counts the reads of its files.
type readsFS struct {
	store.FS
	reads atomic.Int64
}

func (f *readsFS) OpenRW(name string) (store.File, error) {
	return f.counted(f.FS.OpenRW(name))
}

func (f *readsFS) Create(name string) (store.File, error) {
	return f.counted(f.FS.Create(name))
}

func (f *readsFS) Open(name string) (store.File, error) {
	return f.counted(f.FS.Open(name))
}

func (f *readsFS) Means(name string, file store.File) (bool, error) {
	return f.FS.Means(name, file.(readsFile).File)
}

func (f *readsFS) counted(file store.File, err error) (store.File, error) {
	if err != nil {
		return nil, err
	}
	return readsFile{file, f}, nil
}

type readsFile struct {
	store.File
	fs *readsFS
}

func (f readsFile) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > 1 { // a sync reads one byte
		f.fs.reads.Add(1)
	}
	return f.File.ReadAt(p, at)
}

func TestAStreamNobodyReadsMakesNoGarbage(t *testing.T) {
	l := create(t, open(t, t.TempDir(), store.Options{}))
	draft := line318()
	draft.Time = time.Now()
	grow := func(n int) {
		for range n {
			_, _, err := l.Append(context.Background(), draft)
			require.NoError(t, err)
		}
	}
	grow(8_000) // the tail is full and its chunks have their final size
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const events = 20_000
	grow(events)
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/events, uint64(100), "bytes for each event of about 300")
}

func TestAReaderThatComesWithoutATailMissesNothing(t *testing.T) {
	l := create(t, open(t, t.TempDir(), store.Options{TailBytes: 64 << 10}))
	seq, cursor := event.Seq(1), event.Seq(1)
	write := func(n int) {
		for range n {
			seq++
			_, _, err := l.Append(context.Background(), numbered(seq))
			require.NoError(t, err)
		}
	}
	readFrom := func(after event.Seq) event.Seq {
		b, err := l.ReadAfter(context.Background(), after, 8<<10)
		require.NoError(t, err)
		all, err := b.Events()
		require.NoError(t, err)
		for _, e := range all {
			after++
			require.Equal(t, after, e.Seq)
			require.Equal(t, string(numbered(after).Data), string(e.Data))
		}
		return after
	}
	for range 5 {
		write(1_000) // many times the tail without a reader
		for after := cursor; after < seq; after += 50 {
			readFrom(after)
		}
		for cursor < seq-10 {
			cursor = readFrom(cursor)
			write(3) // the tail restarts while a reader is far behind
		}
		for range 300 {
			write(1)
			cursor = readFrom(cursor)
		}
		for cursor < seq {
			cursor = readFrom(cursor)
		}
	}
}

func TestTheTimesOfABurstAreThoseOfTheClock(t *testing.T) {
	l := create(t, open(t, t.TempDir(), store.Options{}))
	draft := line318()
	draft.Time = time.Time{} // the log sets it
	began := time.Now()
	for time.Since(began) < 1100*time.Millisecond { // cross the end of a second with many clock readings
		before := time.Now().Truncate(time.Microsecond)
		seq, _, err := l.Append(context.Background(), draft)
		after := time.Now()
		require.NoError(t, err)
		b, err := l.ReadAfter(context.Background(), seq-1, 4<<10)
		require.NoError(t, err)
		all, err := b.Events()
		require.NoError(t, err)
		// While the wall clock is being corrected, it differs slightly from the
		// monotonic clock.
		require.WithinRange(t, all[0].Time, before.Add(-time.Millisecond), after.Add(time.Millisecond))
	}
}

func TestReadingAPageFromTheFileAllocatesNothingForEachEvent(t *testing.T) {
	root := t.TempDir()
	s, err := store.Open(root, store.Options{})
	require.NoError(t, err)
	l := create(t, s)
	for seq := event.Seq(2); seq <= 600; seq++ {
		_, _, err := l.Append(context.Background(), numbered(seq))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	l, err = open(t, root, store.Options{}).Log(context.Background(), l.ID())
	require.NoError(t, err)
	allocations := func(limit int) float64 {
		return testing.AllocsPerRun(20, func() {
			b, err := l.ReadBefore(context.Background(), 0, limit)
			if err != nil || b.Count != limit {
				panic(fmt.Sprint(b.Count, err))
			}
		})
	}
	// Decoding each event would take several allocations. A larger page may only
	// need a larger buffer.
	require.Less(t, allocations(500)-allocations(50), 20.0)
}

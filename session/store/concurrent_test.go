package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// collector is a Sink that requires each event once and in order.
type collector struct {
	until  event.Seq
	cursor event.Seq
	text   []string
}

var errDone = errors.New("all there")

func (c *collector) Deliver(_ context.Context, b event.Batch) error {
	events, err := b.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Seq != c.cursor+1 {
			return fmt.Errorf("seq %d after %d", e.Seq, c.cursor)
		}
		c.cursor = e.Seq
		c.text = append(c.text, string(e.Data))
	}
	if c.cursor >= c.until {
		return errDone
	}
	return nil
}

func TestFault28EveryFollowerSeesAnAppendStormWholeAndInOrder(t *testing.T) {
	// With a small tail, small files and small batches, followers often switch
	// between memory and files.
	s := open(t, t.TempDir(), store.Options{TailBytes: 16 << 10, SegmentBytes: 64 << 10})
	l := create(t, s)
	const writers, each = 4, 600
	var total atomic.Int64
	total.Store(1)
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			for i := range each {
				drafts := []event.Draft{message(fmt.Sprintf("w%d-%d", w, i))}
				if i%3 == 0 {
					drafts = append(drafts, message(fmt.Sprintf("w%d-%d b", w, i)))
				}
				if i%100 == 50 {
					drafts = append(drafts, prompt(fmt.Sprintf("w%d-%d", w, i)))
				}
				first, last, err := l.Append(context.Background(), drafts...)
				if err != nil {
					return err
				}
				if int(last-first)+1 != len(drafts) {
					return fmt.Errorf("%d drafts got seqs %d to %d", len(drafts), first, last)
				}
			}
			return nil
		})
	}
	const want = 1 + writers*(each+each/3+each/100)
	sinks := make([]*collector, 6)
	for i := range sinks {
		sinks[i] = &collector{until: want}
		group.Go(func() error {
			batch := []int{1 << 10, 64 << 10, 1}[i%3]
			err := observer.New(l, sinks[i], 0, batch).Run(context.Background())
			if errors.Is(err, errDone) {
				return nil
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, sink := range sinks[1:] {
		require.True(t, slices.Equal(sinks[0].text[:want], sink.text[:want]), "followers received different events")
	}
	require.NoError(t, l.FlushMetadata(context.Background()))
	requireSound(t, s.Dir())
}

func TestADurableEventHoldsBackThoseBehindIt(t *testing.T) {
	ctx := context.Background()
	disk := newMemFS()
	f := &faultFS{FS: disk}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "b"})
	require.NoError(t, err)
	l := create(t, s)
	require.NoError(t, l.FlushMetadata(ctx))
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.hold("datasync", func() { once.Do(func() { close(held); <-release }) })
	acked := make(chan error, 1)
	go func() {
		_, _, err := l.Append(ctx, prompt("p1")) // seq 2
		acked <- err
	}()
	<-held
	first, _, err := l.Append(ctx, message("streamed")) // seq 3; it is not synced at once
	require.NoError(t, err)
	require.EqualValues(t, 3, first)
	require.Equal(t, journal.Marks{Min: 1, Visible: 1, Written: 3, Synced: 1}, l.Marks())
	b, err := l.ReadAfter(ctx, 1, 1000)
	require.NoError(t, err)
	require.True(t, b.Empty(), "an event after an unsynced one was shown")
	b, err = l.ReadBefore(ctx, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, b.Last)
	changed := l.Changed()
	close(release)
	require.NoError(t, <-acked)
	<-changed
	require.EqualValues(t, 3, l.Marks().Visible)
	require.NoError(t, s.Close())
}

func TestConcurrentDurableAppendsShareSyncs(t *testing.T) {
	ctx := context.Background()
	f := &faultFS{FS: newMemFS()}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "b"})
	require.NoError(t, err)
	l := create(t, s)
	var syncs atomic.Int64
	const n = 100
	f.hold("datasync", func() { // the sync takes until all appends have written
		syncs.Add(1)
		for end := time.Now().Add(patience); l.Marks().Written < n+1 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	})
	var group errgroup.Group
	for i := range n {
		group.Go(func() error {
			_, last, err := l.Append(ctx, prompt(fmt.Sprint(i)))
			if err == nil && l.Marks().Synced < last {
				err = errors.New("acknowledged before it was synced")
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Less(t, syncs.Load(), int64(n/10), "waiting appends must share a sync")
	require.NoError(t, s.Close())
}

func TestStrictShowsNothingBeforeItIsSynced(t *testing.T) {
	ctx := context.Background()
	f := &faultFS{FS: newMemFS()}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "b", Durability: store.Strict})
	require.NoError(t, err)
	l := create(t, s)
	for range 20 {
		_, last, err := l.Append(ctx, message("x"))
		require.NoError(t, err)
		m := l.Marks()
		require.Equal(t, journal.Marks{Min: 1, Visible: last, Written: last, Synced: last}, m)
	}
	f.set(nthOf(1, "datasync", "events", syscall.EIO))
	_, _, err = l.Append(ctx, message("never shown"))
	require.ErrorIs(t, err, journal.ErrFrozen)
	require.EqualValues(t, 21, l.Marks().Visible)
	require.Error(t, s.Close())
}

// The limit is the store's own timer. In a synctest bubble, the device and the
// machine take no time.
func TestAStreamIsSyncedWithin100Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// With a wrapped FS the store does not watch the directory, so the time of
		// the bubble can advance.
		s := open(t, t.TempDir(), store.Options{FS: struct{ store.FS }{store.OS()}})
		l := create(t, s)
		for range 20 {
			_, last, err := l.Append(context.Background(), message("x"))
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			require.GreaterOrEqual(t, l.Marks().Synced, last)
		}
	})
}

func TestAClosingLogLetsItsReadersEnd(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(t.TempDir(), store.Options{TailBytes: 1 << 10, SegmentBytes: 8 << 10})
	require.NoError(t, err)
	l := create(t, s)
	appendN(t, l, 500)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for cursor := event.Seq(0); ; {
				changed := l.Changed()
				b, err := l.ReadAfter(ctx, cursor, 2<<10)
				if err != nil {
					return err
				}
				if cursor = b.Last; b.Empty() {
					cursor = 0
					select {
					case <-changed:
					default:
					}
				}
			}
		})
	}
	group.Go(func() error {
		for {
			if _, _, err := l.Append(ctx, message("on")); err != nil {
				return err
			}
		}
	})
	time.Sleep(20 * time.Millisecond) // let them overlap
	require.NoError(t, s.Close())
	require.ErrorIs(t, group.Wait(), journal.ErrClosed)
	_, _, err = l.Append(ctx, message("late"))
	require.ErrorIs(t, err, journal.ErrClosed)
	_, err = l.ReadBefore(ctx, 0, 1)
	require.ErrorIs(t, err, journal.ErrClosed)
	require.ErrorIs(t, l.FlushMetadata(ctx), journal.ErrClosed)
	_, err = s.Log(ctx, l.ID())
	require.ErrorIs(t, err, journal.ErrClosed)
	requireSound(t, s.Dir())
}

func TestOneSessionsDeviceIsNobodyElses(t *testing.T) {
	ctx := context.Background()
	f := &faultFS{FS: newMemFS()}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "b"})
	require.NoError(t, err)
	slow, other := create(t, s), create(t, s)
	require.NoError(t, errors.Join(slow.FlushMetadata(ctx), other.FlushMetadata(ctx)))
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.hold("datasync", func() {
		stuck := false
		once.Do(func() { stuck = true })
		if stuck {
			close(held)
			<-release
		}
	})
	acked := make(chan error, 1)
	go func() {
		_, _, err := slow.Append(ctx, prompt("p"))
		acked <- err
	}()
	<-held
	for range 10 {
		_, _, err := other.Append(ctx, prompt("q"))
		require.NoError(t, err)
	}
	require.Len(t, s.List(), 2)
	_, err = slow.ReadAfter(ctx, 0, 1000)
	require.NoError(t, err)
	close(release)
	require.NoError(t, <-acked)
	require.NoError(t, s.Close())
}

func TestManyOpenTheSameLogOnce(t *testing.T) {
	d := recorded(t, 50)
	s := open(t, d.root, store.Options{})
	logs := make([]*store.Log, 20)
	var group errgroup.Group
	for i := range logs {
		group.Go(func() (err error) {
			logs[i], err = s.Log(context.Background(), d.id)
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, l := range logs {
		require.Same(t, logs[0], l)
	}
}

package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// onFaulty creates a session on a file system in memory with injected faults.
func onFaulty(t testing.TB, o store.Options) (*faultFS, *store.Store, *store.Log) {
	t.Helper()
	f := &faultFS{FS: newMemFS()}
	o.FS, o.BootID = f, "boot"
	s, err := store.Open("/data", o)
	require.NoError(t, err)
	l := create(t, s)
	require.NoError(t, l.FlushMetadata(context.Background()))
	return f, s, l
}

func TestFault15AFullDeviceForMetadataDoesNotStopTheLog(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	f.set(func(_ int, op, _ string) error {
		if op == "create" { // the log's file is open already
			return syscall.ENOSPC
		}
		return nil
	})
	for i := range 20 {
		_, _, err := l.Append(ctx, message("x"), prompt(fmt.Sprint(i)))
		require.NoError(t, err)
	}
	require.Error(t, l.FlushMetadata(ctx))
	require.Equal(t, journal.HealthOK, l.Health().State)
	f.set(nil)
	require.NoError(t, l.FlushMetadata(ctx))
	require.NoError(t, s.Close())
}

func TestFault16AFailedSyncIsNeverRetriedAndFreezesTheLog(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	_, _, err := l.Append(ctx, prompt("p1"))
	require.NoError(t, err)
	f.set(nthOf(1, "datasync", "events", syscall.EIO))
	_, last, err := l.Append(ctx, prompt("p2"))
	require.ErrorIs(t, err, journal.ErrFrozen)
	require.ErrorIs(t, err, syscall.EIO)
	require.Equal(t, journal.HealthFrozen, l.Health().State)
	require.Contains(t, l.Health().Reason, "input/output error")
	require.Equal(t, last-1, l.Marks().Visible, "an unacknowledged event was shown")

	f.set(nil) // from now on a sync would falsely succeed
	syncs := 0
	f.hold("datasync", func() { syncs++ })
	_, _, err = l.Append(ctx, prompt("p3"))
	require.ErrorIs(t, err, journal.ErrFrozen)
	_, _, err = l.Append(ctx, message("m"))
	require.ErrorIs(t, err, journal.ErrFrozen)
	require.ErrorIs(t, l.FlushMetadata(ctx), journal.ErrFrozen)
	f.hold("datasync", nil)
	require.Len(t, readAll(t, l), int(last)-1)

	require.NoError(t, l.Reopen(ctx))
	require.Equal(t, journal.HealthOK, l.Health().State)
	events := readAll(t, l)
	requireGapless(t, events)
	require.Equal(t, event.TypeUserPrompt, events[last-1].Type, "a written but unacknowledged event was lost")
	requireAppends(t, l)
	require.NoError(t, l.Reopen(ctx), "reopening a healthy log must do nothing")
	require.NoError(t, s.Close())
}

func TestFault16AFrozenLogIsCopiedToAFreshFileByTheNextRun(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	_, _, err := l.Append(ctx, prompt("p1"))
	require.NoError(t, err)
	f.set(nthOf(1, "datasync", "events", syscall.EIO))
	_, last, err := l.Append(ctx, prompt("p2"))
	require.ErrorIs(t, err, journal.ErrFrozen)
	require.Error(t, s.Close(), "a run with a failed device must not be clean")

	s, err = store.Open("/data", store.Options{FS: f, BootID: "boot"})
	require.NoError(t, err)
	l, err = s.Log(ctx, l.ID())
	require.NoError(t, err)
	require.Equal(t, journal.HealthOK, l.Health().State)
	events := readAll(t, l)
	require.Equal(t, event.TypeUserPrompt, events[last-1].Type)
	requireAppends(t, l)
	require.NoError(t, s.Close())
	r, err := s.Check(ctx, "")
	require.NoError(t, err)
	require.Empty(t, r.Problems)
}

func TestFault19AKillBetweenSealAndCreateMakesTheActiveFile(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{SegmentBytes: 1000})
	seen := 0
	for ; l.Marks().Visible < 8; seen++ {
		_, _, err := l.Append(ctx, message(strings.Repeat("x", 100)))
		require.NoError(t, err)
	}
	require.NoError(t, l.FlushMetadata(ctx))        // it renames files too
	f.set(nthOf(2, "rename", "events", errCrashed)) // the rename of the new file
	for range 3 {
		if _, _, err := l.Append(ctx, message(strings.Repeat("x", 100))); err != nil {
			break
		}
	}
	_ = s.Close()
	disk := f.FS.(*memFS).restart()
	s, err := store.Open("/data", store.Options{FS: disk, BootID: "boot", SegmentBytes: 1000})
	require.NoError(t, err)
	l, err = s.Log(ctx, l.ID())
	require.NoError(t, err)
	events := readAll(t, l)
	requireGapless(t, events)
	require.GreaterOrEqual(t, len(events), seen)
	requireAppends(t, l)
	require.NoError(t, s.Close())
}

func TestFault19AMissingActiveFileBehindSealedOnesIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{SegmentBytes: 2000})
	require.NoError(t, err)
	l := create(t, s)
	appendN(t, l, 60)
	before := readAll(t, l)
	require.NoError(t, s.Close())
	d := disk{t: t, root: dir, id: l.ID()}
	sealed, err := filepath.Glob(d.path("events-*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, sealed)
	// As a kill right after the first rename leaves it: the newest file is sealed,
	// and the metadata does not list it yet.
	require.NoError(t, os.Remove(d.path("events.jsonl")))
	d.withoutMetadata()
	o := d.open(store.Options{})
	events := readAll(t, o.log)
	requireGapless(t, events)
	last := events[len(events)-1]
	require.Equal(t, event.TypeEpoch, last.Type)
	require.Equal(t, before[:last.Seq-2], events[:last.Seq-2])
	require.NotEqual(t, l.Epoch(), o.log.Epoch())
	require.Equal(t, "demo", o.log.Metadata().Agent)
	requireAppends(t, o.log)
	o.close()
}

func TestAMachineThatStoppedGivesOpenSessionsANewEpoch(t *testing.T) {
	ctx := context.Background()
	root := newMemFS()
	openAt := func(m *memFS, boot string) *store.Store {
		s, err := store.Open("/data", store.Options{FS: m, BootID: boot})
		require.NoError(t, err)
		return s
	}
	s := openAt(root, "monday")
	idle, busy := create(t, s), create(t, s)
	require.NoError(t, s.Close())
	s = openAt(root, "monday")
	busy, err := s.Log(ctx, busy.ID())
	require.NoError(t, err)
	_, err = s.Log(ctx, idle.ID())
	require.NoError(t, err)
	_, _, err = busy.Append(ctx, message("seen, and not synced yet"))
	require.NoError(t, err)

	killed := root.restart()
	s2 := openAt(killed, "monday")
	l, err := s2.Log(ctx, busy.ID())
	require.NoError(t, err)
	require.Equal(t, busy.Epoch(), l.Epoch(), "a kill must not change the epoch: the page cache survives it")
	require.NoError(t, s2.Close())

	crashed := root.restart()
	s3 := openAt(crashed, "tuesday")
	l, err = s3.Log(ctx, busy.ID())
	require.NoError(t, err)
	require.NotEqual(t, busy.Epoch(), l.Epoch())
	epoch := l.Epoch()
	l, err = s3.Log(ctx, idle.ID())
	require.NoError(t, err)
	require.Equal(t, idle.Epoch(), l.Epoch(), "the epoch changed, though the log was not open for writing")
	require.NoError(t, s3.Close())
	s4 := openAt(crashed, "wednesday")
	l, err = s4.Log(ctx, busy.ID())
	require.NoError(t, err)
	require.Equal(t, epoch, l.Epoch(), "the epoch changed after a clean end")
	require.NoError(t, s4.Close())
	require.NoError(t, s.Close())
}

func TestRetentionRemovesWholeFilesAndSaysWhatIsLeft(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, store.Options{SegmentBytes: 2000, TailBytes: 1})
	l := create(t, s)
	appendN(t, l, 200)
	before := readAll(t, l)
	minSeq, err := l.Retain(ctx, 6000)
	require.NoError(t, err)
	require.Greater(t, minSeq, event.Seq(100))
	require.Equal(t, minSeq, l.Marks().Min)
	require.Equal(t, minSeq, l.Metadata().MinSeq)
	_, err = l.ReadAfter(ctx, 5, 1000)
	require.ErrorIs(t, err, journal.ErrRemoved)
	b, err := l.ReadAfter(ctx, minSeq-1, 1000)
	require.NoError(t, err)
	require.Equal(t, minSeq, b.First)
	b, err = l.ReadBefore(ctx, minSeq+2, 50)
	require.NoError(t, err)
	require.Equal(t, []event.Seq{minSeq, minSeq + 1}, []event.Seq{b.First, b.Last})
	require.NoError(t, l.FlushMetadata(ctx))
	requireSound(t, dir)
	require.NoError(t, s.Close())
	requireSound(t, dir)

	d := disk{t: t, root: dir, id: l.ID()}
	for _, meta := range []bool{true, false} {
		if !meta {
			d.withoutMetadata()
		}
		o := d.open(store.Options{})
		require.Equal(t, minSeq, o.log.Marks().Min)
		b, err := o.log.ReadAfter(ctx, minSeq-1, 1<<20)
		require.NoError(t, err)
		events, err := b.Events()
		require.NoError(t, err)
		require.Equal(t, before[minSeq-1:minSeq-1+event.Seq(len(events))], events)
		require.NoError(t, o.store.Close())
	}
}

func TestSealedFilesAreReadAsOneLog(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, store.Options{SegmentBytes: 3000, TailBytes: 1})
	l := create(t, s)
	appendN(t, l, 300)
	events := readAll(t, l)
	requireGapless(t, events)
	starts := 0
	for _, e := range events {
		if e.Type == event.TypeSegmentStart {
			starts++
			p, err := e.Payload()
			require.NoError(t, err)
			made := event.Made{Agent: "demo", Workspace: "/w", CreatedAt: &events[0].Time}
			require.Equal(t, event.SegmentStart{Format: 1, SessionID: l.ID(), Epoch: l.Epoch(), FirstSeq: e.Seq, Prev: p.(event.SegmentStart).Prev, Made: made}, p)
			require.Len(t, p.(event.SegmentStart).Prev, 8)
		}
	}
	sealed, err := filepath.Glob(filepath.Join(dir, "sessions", l.ID(), "events-*.jsonl"))
	require.NoError(t, err)
	require.Len(t, sealed, starts)
	require.Greater(t, starts, 5)
	b, err := l.ReadBefore(ctx, 0, 250)
	require.NoError(t, err)
	page, err := b.Events()
	require.NoError(t, err)
	require.Equal(t, events[len(events)-250:], page, "a page crosses files")
	require.NoError(t, s.Close())
	requireSound(t, dir)
	s = open(t, dir, store.Options{SegmentBytes: 3000})
	l, err = s.Log(ctx, l.ID())
	require.NoError(t, err)
	require.Equal(t, events, readAll(t, l))
}

func TestFault68FilesBelongToTheirOwnerWhateverTheUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for _, mask := range []int{0, 0o277} {
		syscall.Umask(mask)
		root := filepath.Join(t.TempDir(), "a", "data")
		require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(root)), 0o700))
		s, err := store.Open(root, store.Options{SegmentBytes: 2000})
		require.NoError(t, err)
		l := create(t, s)
		appendN(t, l, 50)
		_, _, err = l.Append(context.Background(), message(strings.Repeat("x", 300<<10)))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		requireSound(t, root) // checks every file mode
	}
}

func TestAFailedWriteLeavesNothingBehindAShorterOne(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	f.set(nthOf(1, "write", "events", syscall.ENOSPC))
	_, _, err := l.Append(ctx, message(strings.Repeat("half of this was written", 100)))
	require.ErrorIs(t, err, journal.ErrBlocked)
	_, _, err = l.Append(ctx, message("short"))
	require.NoError(t, err)
	require.Equal(t, journal.HealthOK, l.Health().State)
	require.NoError(t, s.Close())
	r, err := s.Check(ctx, "")
	require.NoError(t, err)
	require.Empty(t, r.Problems)

	// The same if the truncation fails too at first.
	f, s, l = onFaulty(t, store.Options{})
	f.set(func(_ int, op, name string) error {
		if op == "write" && strings.Contains(name, "events") || op == "truncate" {
			return syscall.ENOSPC
		}
		return nil
	})
	for range 2 {
		_, _, err = l.Append(ctx, message(strings.Repeat("half of this was written", 100)))
		require.ErrorIs(t, err, journal.ErrBlocked)
	}
	f.set(nil)
	_, _, err = l.Append(ctx, message("short"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	r, err = s.Check(ctx, "")
	require.NoError(t, err)
	require.Empty(t, r.Problems)
}

func TestAKillWhileReopeningKeepsWhatWasSeen(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	held, release := make(chan struct{}), make(chan struct{})
	f.hold("datasync", func() { close(held); <-release }) // the flusher blocks in a sync
	_, seen, err := l.Append(ctx, message("seen, and not on the device"))
	require.NoError(t, err)
	require.Equal(t, seen, l.Marks().Visible)
	<-held
	f.hold("datasync", nil)
	f.set(nthOf(1, "datasync", "events", syscall.EIO))
	close(release)
	awaitHealth(t, l, journal.HealthFrozen)
	f.set(nthOf(1, "rename", "events", errCrashed)) // the rename of the fresh file
	require.ErrorIs(t, l.Reopen(ctx), errCrashed)
	require.Error(t, s.Close())

	disk := f.FS.(*memFS).restart()
	s, err = store.Open("/data", store.Options{FS: disk, BootID: "boot"})
	require.NoError(t, err)
	l, err = s.Log(ctx, l.ID())
	require.NoError(t, err)
	events := readAll(t, l)
	require.GreaterOrEqual(t, len(events), int(seen))
	require.Contains(t, string(events[seen-1].Data), "seen, and not on the device")
	require.NoError(t, s.Close())
}

func TestRecoveredEventsAreSyncedBeforeTheyAreShown(t *testing.T) {
	ctx := context.Background()
	disk := newMemFS()
	f := &faultFS{FS: disk}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "boot"})
	require.NoError(t, err)
	l := create(t, s)
	require.NoError(t, l.FlushMetadata(ctx))
	f.set(func(_ int, op, _ string) error {
		if op == "datasync" {
			return errCrashed // the kill comes before the sync
		}
		return nil
	})
	_, _, err = l.Append(ctx, message("in the page cache only"))
	require.NoError(t, err)
	_ = s.Close()
	killed := disk.restart()
	next, err := store.Open("/data", store.Options{FS: killed, BootID: "boot"})
	require.NoError(t, err)
	again, err := next.Log(ctx, l.ID())
	require.NoError(t, err)
	require.EqualValues(t, 2, again.Marks().Synced, "the marks must name the synced events")
	for seed := range uint64(10) {
		cut := killed.powerCut(rand.New(rand.NewPCG(seed, 7)))
		data, err := cut.ReadFile("/data/sessions/" + l.ID() + "/events.jsonl")
		require.NoError(t, err)
		require.Contains(t, string(data), "in the page cache only")
	}
	require.NoError(t, next.Close())
}

func TestASearchThatIsMisledIsNotBelieved(t *testing.T) {
	ctx := context.Background()
	d := recorded(t, 4000)
	lines := d.lines()
	// Swap two ranges of equal length. The checkpoint still fits, but the seqs no
	// longer ascend.
	for i := range 100 {
		a, b := lines[1500+i], lines[3000+i]
		require.Equal(t, len(a), len(b))
		lines[1500+i], lines[3000+i] = b, a
	}
	d.setLines(lines)
	o := d.open(store.Options{})
	whole := readAll(t, o.log)
	require.Len(t, whole, 4000)
	require.NoError(t, o.store.Close())
	for _, before := range []event.Seq{1400, 1550, 2000, 2500, 3005, 3050, 3110, 4001} {
		o := d.open(store.Options{}) // it has not read the swapped lines yet
		b, err := o.log.ReadBefore(ctx, before, 30)
		require.NoError(t, err)
		page, err := b.Events()
		require.NoError(t, err)
		require.Equal(t, whole[before-31:before-1], page, "before %d", before)
		require.NoError(t, o.store.Close())
	}
}

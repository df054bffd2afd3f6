package store_test

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestADeviceThatFailedToSyncALogThatWasOpenedIsNotBelievedTheNextTime(t *testing.T) {
	ctx := context.Background()
	d := recorded(t, 10)
	m := d.read("metadata.json")
	i := bytes.LastIndex(m, []byte(`,"crc"`))
	d.write("metadata.json", withCRC(append(m[:i:i], `,"writer":{"boot_id":"one","run_id":"x"}}`+"\n"...)))
	f := &faultFS{FS: store.OS()}
	s := open(t, d.root, store.Options{FS: f, BootID: "one"})
	f.set(nthOf(1, "datasync", "events.jsonl", syscall.EIO))
	before, err := os.Stat(d.path("events.jsonl"))
	require.NoError(t, err)
	_, err = s.Log(ctx, d.id)
	require.ErrorIs(t, err, syscall.EIO)
	require.True(t, onDisk(t, d).Frozen, "the freeze must be in the metadata already")
	l, err := s.Log(ctx, d.id)
	require.NoError(t, err)
	require.Equal(t, journal.HealthOK, l.Health().State)
	after, err := os.Stat(d.path("events.jsonl"))
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after), "the log must continue in a new file")
	requireAppends(t, l)
}

// Events that were visible before the device failed and are lost keep their seqs:
// under the same epoch no other event gets them.
func TestLinesThatAFailedDeviceLostAreGoneOnBehind(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{})
	_, _, err := l.Append(ctx, prompt("p1"))
	require.NoError(t, err)
	require.NoError(t, l.FlushMetadata(ctx))
	f.set(nthOf(1, "datasync", "events", syscall.EIO))
	_, _, err = l.Append(ctx, message("seen"), message("seen"))
	require.NoError(t, err)
	require.ErrorIs(t, l.FlushMetadata(ctx), journal.ErrFrozen)
	seen := l.Marks().Visible
	require.EqualValues(t, 4, seen)
	require.Error(t, s.Close())
	// The page cache dropped the bytes that the device did not accept.
	disk := f.FS.(*memFS)
	path := "/data/sessions/" + l.ID() + "/events.jsonl"
	disk.change(path, func(data []byte) []byte {
		return bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:2], nil)
	})
	for range 2 {
		s, err = store.Open("/data", store.Options{FS: disk, BootID: "boot"})
		require.NoError(t, err)
		again, err := s.Log(ctx, l.ID())
		require.NoError(t, err)
		require.NotEqual(t, l.Epoch(), again.Epoch())
		require.Equal(t, journal.HealthOK, again.Health().State)
		events := readAll(t, again)
		requireGapless(t, events)
		require.Equal(t, event.TypeCorrupt, events[seen-1].Type)
		require.Equal(t, event.TypeEpoch, events[seen].Type)
		requireAppends(t, again)
		require.NoError(t, s.Close())
	}
}

// After recovery adds the missing newline to a line, the checkpoint fits although
// the newline is unsynced. So recovery discards the checkpoint first, and check
// knows that.
func TestACheckpointThatDoesNotHoldIsGivenUpBeforeALineIsEnded(t *testing.T) {
	ctx := context.Background()
	d := recorded(t, 10)
	lines := d.lines()
	lines[9] = bytes.TrimSuffix(lines[9], []byte("\n"))
	d.setLines(lines)
	f := &faultFS{FS: store.OS()}
	s := open(t, d.root, store.Options{FS: f, BootID: "one"})
	f.set(func(_ int, op, name string) error {
		if step := stepOf(op, name); step == "datasync events.jsonl" || step == "rename .events-next.jsonl" {
			return syscall.EIO
		}
		return nil
	})
	_, err := s.Log(ctx, d.id)
	require.ErrorIs(t, err, syscall.EIO)
	require.Zero(t, onDisk(t, d).LogBytes)
	l, err := s.Log(ctx, d.id)
	require.NoError(t, err)
	require.Equal(t, journal.HealthFrozen, l.Health().State, "the log must be readable")
	report, err := store.Check(ctx, d.root, "")
	require.NoError(t, err)
	require.Empty(t, report.Problems, "beside a hub that has the log open")

	f.set(nil)
	require.NoError(t, l.Reopen(ctx))
	require.NoError(t, l.FlushMetadata(ctx))
	require.NotZero(t, onDisk(t, d).LogBytes)
	requireAppends(t, l)
	require.NoError(t, s.Close())
	report, err = store.Check(ctx, d.root, "")
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}

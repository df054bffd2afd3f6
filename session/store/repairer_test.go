package store_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestALogThatThereIsNoSpaceToRepairIsTriedAgainWithGrowingPausesAndNotForEver(t *testing.T) {
	d := recorded(t, 5)
	f := &faultFS{FS: store.OS()}
	var tries atomic.Int64
	f.set(func(_ int, op, name string) error {
		if filepath.Base(name) == "events.jsonl" && op == "write" {
			tries.Add(1)
			return syscall.ENOSPC
		}
		return nil
	})
	m := d.read("metadata.json")
	i := bytes.LastIndex(m, []byte(`,"crc"`))
	d.write("metadata.json", withCRC(append(m[:i:i], `,"writer":{"boot_id":"one","run_id":"x"}}`+"\n"...)))
	l := d.open(store.Options{FS: f, BootID: "two"}).log
	require.Equal(t, journal.HealthBlocked, l.Health().State)
	require.Eventually(t, func() bool { return tries.Load() > 2 }, patience, time.Millisecond)
	require.Never(t, func() bool { return tries.Load() > 15 }, time.Second, 10*time.Millisecond)
	require.Len(t, readAll(t, l), 5)
	f.set(nil)
	awaitHealth(t, l, journal.HealthOK)
	requireAppends(t, l)
}

func TestUnsyncedEventsAreNotShownWhileThereIsNoRoomToCopyThem(t *testing.T) {
	o := recorded(t, 3).open(store.Options{})
	_, _, err := o.log.Append(context.Background(), prompt("p1"))
	require.NoError(t, err)
	before := o.read("metadata.json") // from an earlier time
	_, _, err = o.log.Append(context.Background(), prompt("p2"))
	require.NoError(t, err)
	d := o.close()
	i := bytes.LastIndex(before, []byte(`,"crc"`))
	d.write("metadata.json", withCRC(append(before[:i:i], `,"frozen":true}`+"\n"...)))
	d.write("events.jsonl", append(d.read("events.jsonl"), `{"seq":`...))
	synced := onDisk(t, d).SyncedSeq
	f := &faultFS{FS: store.OS()}
	s := open(t, d.root, store.Options{FS: f})
	f.set(func(_ int, op, _ string) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	l, err := s.Log(context.Background(), d.id)
	require.NoError(t, err)
	require.Equal(t, journal.HealthBlocked, l.Health().State)
	require.Equal(t, synced, l.Marks().Visible)
	f.set(nil)
	awaitHealth(t, l, journal.HealthOK)
	require.EqualValues(t, 5, l.Marks().Visible-1, "the epoch event of the copy must count too")
}

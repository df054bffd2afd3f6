package store_test

import (
	"bytes"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

// An attempt cuts off what it could not write, of which the directory's watch
// tells, so every look that tried again would call for the next. Here they come every millisecond.
func TestALogThatThereIsNoRoomToMendIsTriedAgainWithGrowingPausesAndNotForEver(t *testing.T) {
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
	d.write("metadata.json", append(m[:i:i], `,"writer":{"boot_id":"one","run_id":"x"}}`...))
	l := d.open(store.Options{FS: f, BootID: "two", FollowEvery: time.Millisecond}).log
	require.Equal(t, store.HealthBlocked, l.Health().State)
	require.Eventually(t, func() bool { return tries.Load() > 2 }, patience, time.Millisecond)
	require.Never(t, func() bool { return tries.Load() > 15 }, time.Second, 10*time.Millisecond, "every look tries")
	require.Len(t, readAll(t, l), 5)
	f.set(nil)
	require.Eventually(t, func() bool { return !l.ReadOnly() }, patience, time.Millisecond, "it heals by itself")
	requireAppends(t, l)
}

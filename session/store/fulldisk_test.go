package store_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestFault14AValueLargerThanTheDeviceWaitsWithoutSpinning(t *testing.T) {
	ctx := context.Background()
	dir := withMount(t, "tmpfs", "-o", "size=5m,mode=0700", "abide-test")
	files := &faultFS{FS: store.OS()}
	s, err := store.Open(dir, store.Options{FS: files})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // or the file system cannot be unmounted
	l := create(t, s)
	_, _, err = l.Append(ctx, prompt("p1"))
	require.NoError(t, err)
	output := message(strings.Repeat("o", 11<<20))
	_, _, err = l.Append(ctx, output)
	require.ErrorIs(t, err, journal.ErrBlocked)

	tries := func() (n int) {
		for _, c := range files.trace() {
			if c.step() == "create room.tmp" {
				n++
			}
		}
		return n
	}
	files.forget()
	time.Sleep(2 * time.Second) // the measured time
	require.Less(t, tries(), 10, "the pauses between attempts must grow")
	require.Eventually(t, func() bool { return tries() > 0 }, time.Minute, 10*time.Millisecond, "no further attempt")
	require.Equal(t, journal.HealthBlocked, l.Health().State)
	require.Len(t, readAll(t, l), 2, "earlier events must stay readable")

	out, err := exec.Command("mount", "-o", "remount,size=64m", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	awaitHealth(t, l, journal.HealthOK)
	_, _, err = l.Append(ctx, output)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	requireSound(t, dir)
}

// awaitHealth waits until the log has the health state.
func awaitHealth(t *testing.T, l *store.Log, want journal.HealthState) {
	t.Helper()
	require.Eventually(t, func() bool { return l.Health().State == want }, patience, time.Millisecond, "its health is never %s", want)
}

package store_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// noMetadata fails the creation of metadata.json.
func noMetadata(err error) func(int, string, string) error {
	return func(_ int, op, name string) error {
		if op == "create" && strings.Contains(name, "metadata.json.tmp") {
			return err
		}
		return nil
	}
}

// asleep opens a session that an earlier run closed.
func asleep(t testing.TB) (*memFS, *faultFS, *store.Store, *store.Log) {
	t.Helper()
	disk, id := memSession(t, 3)
	f := &faultFS{FS: disk}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "monday"})
	require.NoError(t, err)
	l, err := s.Log(t.Context(), id)
	require.NoError(t, err)
	return disk, f, s, l
}

// A power cut may lose visible events. The epoch changes after it only if the
// metadata marks the log as open.
func TestNothingIsShownThatNoMetadataSpeaksOf(t *testing.T) {
	for name, no := range map[string]error{"full": syscall.ENOSPC, "failing": syscall.EIO, "out of descriptors": syscall.EMFILE} {
		t.Run(name, func(t *testing.T) {
			for i := range uint64(20) {
				disk, f, s, l := asleep(t)
				f.set(noMetadata(no))
				_, _, err := l.Append(t.Context(), message("seen by a client"))
				visible, epoch := l.Marks().Visible, l.Epoch()
				after := disk.powerCut(rand.New(rand.NewPCG(i, 1)))
				then, openErr := store.Open("/data", store.Options{FS: after, BootID: "tuesday"})
				require.NoError(t, openErr)
				again, openErr := then.Log(t.Context(), l.ID())
				require.NoError(t, openErr)
				if again.Epoch() == epoch {
					require.GreaterOrEqual(t, again.Marks().Visible, visible, "the next event would reuse a visible seq")
				}
				require.Error(t, err)
				require.NoError(t, then.Close())
				f.set(nil)
				_ = s.Close() // it returns the log's freezing as an error
			}
		})
	}
}

func TestALogThatCannotBeMarkedIsBlockedAndHealsByItself(t *testing.T) {
	_, f, s, l := asleep(t)
	before := l.Marks()
	f.set(noMetadata(syscall.ENOSPC))
	_, _, err := l.Append(t.Context(), message("x"))
	require.ErrorIs(t, err, journal.ErrBlocked)
	require.Equal(t, before, l.Marks())
	require.Equal(t, journal.HealthBlocked, l.Health().State)
	require.Contains(t, l.Health().Unsaved, "no space")
	f.set(nil)
	require.Eventually(t, func() bool { return l.Health() == journal.Health{State: journal.HealthOK} }, patience, time.Millisecond)
	requireAppends(t, l)
	require.NoError(t, s.Close())
}

func TestALogWhoseDeviceFailsItsMarkIsFrozenUntilItIsReopened(t *testing.T) {
	ctx := context.Background()
	_, f, s, l := asleep(t)
	f.set(noMetadata(syscall.EIO))
	_, _, err := l.Append(ctx, message("x"))
	require.ErrorIs(t, err, journal.ErrFrozen)
	require.ErrorIs(t, err, syscall.EIO)
	require.Contains(t, l.Health().Reason, "metadata")
	require.ErrorIs(t, l.Reopen(ctx), journal.ErrFrozen)
	require.Equal(t, journal.HealthFrozen, l.Health().State)
	f.set(nil)
	require.NoError(t, l.Reopen(ctx))
	require.Equal(t, journal.Health{State: journal.HealthOK}, l.Health())
	require.Equal(t, event.Seq(3), l.Marks().Written, "the log was copied")
	requireAppends(t, l)
	require.NoError(t, s.Close())
}

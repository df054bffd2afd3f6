package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// diverged is a machine's log, and what became of it after the machine lost its end and
// went on.
type diverged struct {
	before, after *copied
	upTo          event.Seq // the last line that both have
	blob          []byte
}

func newDiverged(t testing.TB) *diverged {
	o := store.Options{SegmentBytes: 2 << 10}
	d := &diverged{before: newCopied(t, o), after: &copied{}, blob: []byte("the bytes of a blob")}
	appendN(t, d.before.log, 40)
	require.NoError(t, d.before.log.FlushMetadata(context.Background()))
	lost := d.before.disk.restart()
	d.upTo = d.before.log.Marks().Written
	appendN(t, d.before.log, 50)
	d.after.log = d.before.log
	o.BootID = "boot of the next day"
	d.after.restart(t, lost, o)
	appendN(t, d.after.log, 30)
	require.NotEqual(t, d.before.log.Epoch(), d.after.log.Epoch())
	return d
}

// copy copies the log before and then the log after, with everything that a copy does.
func (d *diverged) copy(home store.FS) error {
	copies, err := store.OpenCopies(copiesDir, store.CopyOptions{FS: home, IdleAfter: 2 * time.Second})
	if err != nil {
		return err
	}
	return errors.Join(d.copyInto(copies), copies.Close())
}

func (d *diverged) copyInto(copies *store.Copies) error {
	id := d.before.log.ID()
	c, err := copies.Copy(id)
	if err != nil {
		return err
	}
	if sum, ok, err := c.SumAt(context.Background(), d.upTo+1); err != nil {
		return err
	} else if theirs := d.after.sumAt(d.upTo + 1); !ok || sum != theirs {
		if err := c.SetMetadata(d.before.log.Metadata()); err != nil {
			return err
		}
		if err := pull(c, d.before.log, always(300)); err != nil {
			return err
		}
		if err := c.PutBlob(context.Background(), sha(d.blob), bytes.NewReader(d.blob)); err != nil {
			return err
		}
		time.Sleep(10 * time.Second) // it is synced, and rests
		if c, err = copies.Keep(id, d.upTo); err != nil {
			return err
		}
	}
	if err := pull(c, d.after.log, always(300)); err != nil {
		return err
	}
	return c.SetMetadata(d.after.log.Metadata())
}

// sumAt is the checksum of a line.
func (m *copied) sumAt(seq event.Seq) string {
	s, err := m.log.ReadLines(context.Background(), seq-1, 1)
	if err != nil || s.Last != seq {
		return ""
	}
	_, sum, _ := strings.Cut(string(s.Lines), `"crc":"`)
	return sum[:8]
}

// verify requires that home has a beginning of one of the logs, that copying goes on
// from there, and that nothing but lines of the machine is in quarantine.
func (d *diverged) verify(t testing.TB, home *memFS) {
	t.Helper()
	id := d.before.log.ID()
	dir := copiesDir + "/" + id
	if copies, err := store.OpenCopies(copiesDir, store.CopyOptions{FS: home}); err == nil {
		c, err := copies.Copy(id)
		require.NoError(t, err)
		text := joined(logFiles(home, dir))
		befores, afters := joined(logFiles(d.before.disk, "/data/sessions/"+id)), joined(logFiles(d.after.disk, "/data/sessions/"+id))
		require.True(t, strings.HasPrefix(befores, text) || strings.HasPrefix(afters, text), "the copy is no beginning of a log of the machine")
		require.EqualValues(t, strings.Count(text, "\n") > 0, c.Marks().Visible > 0)
		require.NoError(t, copies.Close())
	}
	require.NoError(t, d.copy(home))
	d.after.sameFiles(t, home)
	old := joined(logFiles(d.before.disk, "/data/sessions/"+id))
	for path, text := range home.files() {
		if strings.HasPrefix(path, dir+"/quarantine/") && !strings.HasSuffix(path, ".tmp") {
			require.Contains(t, old, text)
		}
	}
	require.Equal(t, string(d.blob), home.files()[dir+"/blobs/"+sha(d.blob)])
}

func TestAKillAtAnyCallLeavesABeginningOfTheLogInItsCopy(t *testing.T) {
	everyCopyCall(t, func(t *testing.T, d *diverged, n int) bool {
		disk := newMemFS()
		home := &faultFS{FS: disk, fault: nth(n, errCrashed)}
		err := d.copy(home)
		if !home.died() {
			require.NoError(t, err)
			return false
		}
		again := disk.restart()
		d.verify(t, again) // copies the rest
		for cut := range uint64(3 * cuts()) {
			d.verify(t, again.powerCut(rand.New(rand.NewPCG(uint64(n), cut))))
			d.verify(t, disk.powerCut(rand.New(rand.NewPCG(uint64(n), cut))))
		}
		return true
	})
}

func TestACallThatFailsLeavesABeginningOfTheLogInItsCopy(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE, errHalf} {
		everyCopyCall(t, func(t *testing.T, d *diverged, n int) bool {
			failed, disk := false, newMemFS()
			home := &faultFS{FS: disk}
			home.set(func(call int, op, _ string) error {
				if call < n || failed || cause == errHalf && op != "write" || cause == syscall.ENOSPC && !writes(op) {
					return nil
				}
				failed = true
				return cause
			})
			copies, err := store.OpenCopies(copiesDir, store.CopyOptions{FS: home, IdleAfter: 2 * time.Second})
			if err != nil {
				copies, err = store.OpenCopies(copiesDir, store.CopyOptions{FS: home, IdleAfter: 2 * time.Second})
				require.NoError(t, err)
			}
			for attempt := 0; ; attempt++ { // as a follower does
				if err = d.copyInto(copies); err == nil {
					break
				}
				require.Less(t, attempt, 3, "the copy does not go on: %v", err)
			}
			d.after.sameFiles(t, disk)
			_ = copies.Close()
			d.verify(t, disk.restart())
			d.verify(t, disk.powerCut(rand.New(rand.NewPCG(uint64(n), 7))))
			return failed
		})
	}
}

// everyCopyCall calls try for a fault at the first call, the second, and so on, until
// it reports that there was none.
func everyCopyCall(t *testing.T, try func(t *testing.T, d *diverged, n int) bool) {
	step := soak.Rounds(5, 1) // outside of a soak one call in five
	for n, more := 1+sample(t.Name())%step, true; more; n += step {
		require.Less(t, n, 5000, "the copying does not end")
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { more = try(t, newDiverged(t), n) })
		})
	}
}

// sha is the name of a blob.
func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

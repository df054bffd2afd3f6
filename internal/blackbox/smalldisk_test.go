package blackbox_test

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// smallDisk is a directory on a separate tmpfs that can be made full at any moment.
// It is safe for concurrent use.
type smallDisk struct {
	dir string
	mu  sync.Mutex
	// full: the disk is full. was: it was full since the last call of wasFull.
	full, was bool
}

// roomyBytes is the size of a disk that is not full. A tmpfs takes memory only for
// its content.
const roomyBytes = 4 << 30

// newSmallDisk mounts a tmpfs. It returns nil if the process may not mount one.
func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	d := &smallDisk{dir: t.TempDir()}
	if err := syscall.Mount("abide-test", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", roomyBytes)); err != nil {
		t.Logf("no tmpfs can be mounted: %v", err)
		return nil
	}
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return syscall.Unmount(d.dir, 0) == nil }, patience, 50*time.Millisecond, "unmount %s", d.dir)
	})
	return d
}

// fill leaves this many bytes of free space.
func (d *smallDisk) fill(room int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		var stat syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &stat); err != nil {
			return fmt.Errorf("look at %s: %w", d.dir, err)
		}
		used := int64(stat.Blocks-stat.Bfree) * stat.Bsize
		if err := d.resize(used + room); err == nil {
			d.full, d.was = true, true
			return nil
		} else if room > 1<<30 {
			return err
		}
		room += 1 << 20 // more was written meanwhile
	}
}

// heal makes space again.
func (d *smallDisk) heal() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = false
	return d.resize(roomyBytes)
}

// keepRoom heals the disk and prevents fill while f runs.
func (d *smallDisk) keepRoom(f func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = false
	if err := d.resize(roomyBytes); err != nil {
		return err
	}
	f()
	return nil
}

// wasFull reports whether the disk was full since the last call.
func (d *smallDisk) wasFull() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.was
	d.was = d.full
	return was
}

func (d *smallDisk) resize(bytes int64) error {
	if err := syscall.Mount("abide-test", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
		return fmt.Errorf("resize %s to %d bytes: %w", d.dir, bytes, err)
	}
	return nil
}

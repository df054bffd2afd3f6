package blackbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// device is a FUSE directory whose files fail with EIO on command, like those on a
// dying disk. The kernel's own calls fail, so any program can use it.
type device struct {
	// Set at construction.
	dir   string // as the program under test sees it
	under string // of the files behind it

	mu     sync.Mutex
	broken func(op, path string) bool
	calls  map[string]int // by op and path, since the last call of fail
}

// newDevice mounts a device. It skips the test where FUSE is not available.
func newDevice(t *testing.T) *device {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system that fails needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skipf("no FUSE on this machine: %v", err)
	}
	d := &device{dir: t.TempDir(), under: t.TempDir()}
	root := &fs.LoopbackRoot{Path: d.under}
	top := &deviceNode{LoopbackNode: &fs.LoopbackNode{RootData: root}, device: d}
	root.RootNode = top
	server, err := fs.Mount(d.dir, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "failing"}})
	if err != nil {
		t.Skipf("FUSE cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		require.NoError(t, server.Unmount())
		server.Wait()
	})
	return d
}

// fail makes every call for which broken returns true fail with EIO, until it is
// called with nil. Ops are read, write, fsync, create and rename; create and rename
// have the new name as their path. Paths are relative to the directory.
func (d *device) fail(broken func(op, path string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken, d.calls = broken, map[string]int{}
}

// times counts the calls of op since fail on files whose path contains path.
func (d *device) times(op, path string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for call, times := range d.calls {
		if strings.HasPrefix(call, op+" ") && strings.Contains(call, path) {
			n += times
		}
	}
	return n
}

// call counts one call and returns its error.
func (d *device) call(op, path string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken == nil {
		return fs.OK
	}
	d.calls[op+" "+path]++
	if d.broken(op, path) {
		return syscall.EIO
	}
	return fs.OK
}

// deviceNode is a file or directory of a device.
type deviceNode struct {
	*fs.LoopbackNode
	device *device
}

// WrapChild implements fs.NodeWrapChilder. It keeps every file inside the device.
func (n *deviceNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &deviceNode{LoopbackNode: child.(*fs.LoopbackNode), device: n.device}
}

func (n *deviceNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	file, _, errno := n.LoopbackNode.Open(ctx, flags)
	// Bypass the page cache: each read(2) reaches the device, so each can fail.
	return n.wrap(file, errno), fuse.FOPEN_DIRECT_IO, errno
}

func (n *deviceNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.device.call("create", filepath.Join(n.Path(nil), name)); errno != fs.OK {
		return nil, nil, 0, errno
	}
	inode, file, _, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return inode, n.wrap(file, errno), fuse.FOPEN_DIRECT_IO, errno
}

// Rename implements fs.NodeRenamer.
func (n *deviceNode) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if errno := n.device.call("rename", filepath.Join(to.EmbeddedInode().Path(nil), newName)); errno != fs.OK {
		return errno
	}
	return n.LoopbackNode.Rename(ctx, name, to, newName, flags)
}

func (n *deviceNode) wrap(file fs.FileHandle, errno syscall.Errno) fs.FileHandle {
	if errno != fs.OK {
		return nil
	}
	fd, _ := file.(fs.FilePassthroughFder).PassthroughFd()
	return &deviceFile{loopback: file.(loopback), device: n.device, fd: fd}
}

// loopback lists the operations on an open file. It leaves out PassthroughFd: with
// passthrough the kernel would bypass the device, and no call could fail.
type loopback interface {
	fs.FileReader
	fs.FileWriter
	fs.FileFsyncer
	fs.FileFlusher
	fs.FileReleaser
	fs.FileGetattrer
	fs.FileSetattrer
}

// deviceFile is an open file of a device.
type deviceFile struct {
	loopback
	device *device
	fd     int // of the file behind it
}

// path returns the current name of the file, because a renamed file must still
// fail. It asks the kernel: the library's tree can hold the old name of a removed
// file with the same inode number.
func (f *deviceFile) path() string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.fd))
	if err != nil {
		return "unknown: " + err.Error()
	}
	return strings.TrimPrefix(path, f.device.under+"/")
}

func (f *deviceFile) Read(ctx context.Context, buf []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	if errno := f.device.call("read", f.path()); errno != fs.OK {
		return nil, errno
	}
	return f.loopback.Read(ctx, buf, at)
}

func (f *deviceFile) Write(ctx context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	if errno := f.device.call("write", f.path()); errno != fs.OK {
		return 0, errno
	}
	return f.loopback.Write(ctx, data, at)
}

func (f *deviceFile) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if errno := f.device.call("fsync", f.path()); errno != fs.OK {
		return errno
	}
	return f.loopback.Fsync(ctx, flags)
}

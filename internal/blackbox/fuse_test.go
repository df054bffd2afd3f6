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

// device is a directory whose files fail with EIO on command, as those on a
// dying disk do. The kernel's own calls fail, so any program can be put on it.
type device struct {
	// Set at construction.
	dir   string // for the program under test
	under string // where its files are

	mu     sync.Mutex
	broken func(op, path string) bool
	calls  map[string]int // by op and path, since break was called
}

// newDevice mounts one, or skips the test where that cannot be done.
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

// fail makes the calls for which broken says so fail with EIO, until nil is
// given. Ops are read, write, fsync, create and rename, the last two by the new
// name; paths are relative to the directory.
func (d *device) fail(broken func(op, path string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken, d.calls = broken, map[string]int{}
}

// times is how often files with that in their path saw op since fail.
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

// call notes one call and says what becomes of it.
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

// WrapChild implements fs.NodeWrapChilder: a file in a device belongs to it.
func (n *deviceNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &deviceNode{LoopbackNode: child.(*fs.LoopbackNode), device: n.device}
}

func (n *deviceNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	file, _, errno := n.LoopbackNode.Open(ctx, flags)
	// Past the page cache: each read(2) is asked for, so each can fail.
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

// loopback has the kernel's requests to an open file. That the kernel may pass the
// device by (PassthroughFd) is not offered to it: no call would fail.
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
	fd     int // of the calls that do not fail
}

// path is the file's name at this moment: a rename does not make it sound. The
// kernel is asked, as the library's tree of names can keep an old one of a file
// that has the inode number of one just removed.
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

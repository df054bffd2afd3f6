package store_test

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/abidehub/abide/session/store"
)

// memFS is a file system in memory with separate device and page cache, so that a
// test can cut the power: see powerCut. It implements store.FS and follows POSIX
// strictly: fdatasync makes contents durable, fsync of the directory makes names
// durable, and nothing else does. After a failed sync, later syncs succeed but the
// bytes reach the device only if they are written again.
type memFS struct {
	mu    sync.Mutex
	nodes map[string]*memNode // by clean path, as programs see them
	// names are the durable entries of each directory, as of its last sync.
	names  map[*memNode]map[string]*memNode
	locks  map[*memNode]*memFile
	births bool // files have birth times
	made   int  // number of files created
}

type memNode struct {
	dir     bool
	kind    fs.FileMode // file type; zero for files and directories
	link    string      // target of a symbolic link
	born    int         // order of creation
	written time.Time
	data    []byte // as programs see it
	durable []byte // certain to survive a power cut
	dropped []bool // by byte of data: a sync failed to write it
}

func newMemFS() *memFS {
	m := &memFS{nodes: map[string]*memNode{}, names: map[*memNode]map[string]*memNode{}, locks: map[*memNode]*memFile{}}
	m.nodes["/"] = &memNode{dir: true}
	m.names[m.nodes["/"]] = map[string]*memNode{}
	return m
}

// restart returns the file system as a new process sees it after a kill: everything
// but locks.
func (m *memFS) restart() *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := newMemFS()
	next.births, next.made = m.births, m.made
	for path, n := range m.nodes {
		next.nodes[path] = n.copy()
	}
	for path, n := range m.nodes {
		if !n.dir {
			continue
		}
		durable := map[string]*memNode{}
		for name, child := range m.names[n] {
			durable[name] = next.nodes[filepath.Join(path, name)]
			if m.nodes[filepath.Join(path, name)] != child || durable[name] == nil {
				durable[name] = child.copy()
			}
		}
		next.names[next.nodes[path]] = durable
	}
	return next
}

func (n *memNode) copy() *memNode {
	c := *n
	c.data, c.durable, c.dropped = slices.Clone(n.data), slices.Clone(n.durable), slices.Clone(n.dropped)
	return &c
}

// powerCut returns the file system after a power cut. Any part of the unsynced
// bytes may be on the device. Where a file grew, its bytes may be zeros.
func (m *memFS) powerCut(r *rand.Rand) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := newMemFS()
	next.births, next.made = m.births, m.made
	root := m.nodes["/"]
	next.nodes["/"] = &memNode{dir: true}
	m.survive(next, r, "/", root)
	for path, n := range next.nodes {
		if n.dir {
			next.names[n] = next.children(path)
		}
	}
	return next
}

func (m *memFS) survive(next *memFS, r *rand.Rand, path string, n *memNode) {
	entries := map[string]*memNode{}
	for name, child := range m.names[n] {
		entries[name] = child
	}
	// The kernel may have written any unsynced name, but a rename is atomic.
	if r.IntN(2) == 0 {
		entries = m.children(m.nameOf(n))
	}
	for name, child := range entries {
		at := filepath.Join(path, name)
		if child.dir {
			next.nodes[at] = &memNode{dir: true}
			m.survive(next, r, at, child)
			continue
		}
		data := slices.Clone(child.durable)
		if len(child.data) >= len(data) {
			extra := child.data[len(data):]
			switch r.IntN(4) {
			case 0: // none of the data
			case 1: // all of it
				data = slices.Clone(child.data)
			case 2: // a part of it
				data = append(data, extra[:r.IntN(len(extra)+1)]...)
			case 3: // the size, and a part of the data
				n := r.IntN(len(extra) + 1)
				data = append(append(data, extra[:n]...), make([]byte, len(extra)-n)...)
			}
		}
		next.nodes[at] = &memNode{
			kind: child.kind, link: child.link, born: child.born, written: child.written, data: data, durable: slices.Clone(data),
		}
	}
}

// nameOf returns the current path of a directory, or an invalid path once it is
// removed. The caller holds mu.
func (m *memFS) nameOf(n *memNode) string {
	for path, other := range m.nodes {
		if other == n {
			return path
		}
	}
	return "nowhere"
}

// children returns the entries directly under path. The caller holds mu.
func (m *memFS) children(path string) map[string]*memNode {
	prefix := strings.TrimSuffix(path, "/") + "/"
	all := map[string]*memNode{}
	for p, n := range m.nodes {
		if rest, ok := strings.CutPrefix(p, prefix); ok && rest != "" && !strings.Contains(rest, "/") {
			all[rest] = n
		}
	}
	return all
}

// files returns every file by path, except the files that each run rewrites.
func (m *memFS) files() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]string{}
	for path, n := range m.nodes {
		if base := filepath.Base(path); !n.dir && base != "hub.json" && base != "LOCK" {
			all[path] = withoutBirth(string(n.data))
		}
	}
	return all
}

// edit is change with a newer modification time, like an edit by a person.
func (m *memFS) edit(path string, change func([]byte) []byte) {
	time.Sleep(time.Millisecond)
	m.change(path, change)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes[path].written = time.Now()
}

// copyOver replaces a file by a new one, like a restored backup.
func (m *memFS) copyOver(path string, data []byte) {
	m.mu.Lock()
	m.made++
	m.nodes[path] = &memNode{born: m.made, written: time.Now()}
	m.mu.Unlock()
	m.change(path, func([]byte) []byte { return slices.Clone(data) })
}

// change changes a file on the device and keeps its modification time.
func (m *memFS) change(path string, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[path]
	if n == nil {
		n = &memNode{}
		m.nodes[path] = n
	}
	n.data = change(slices.Clone(n.data))
	n.durable = slices.Clone(n.data)
	dir := m.nodes[filepath.Dir(path)]
	m.names[dir] = m.children(filepath.Dir(path))
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// stand replaces a file on the device by something of another type. link is the
// target if that is a symbolic link.
func (m *memFS) stand(path string, kind fs.FileMode, link string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made++
	n := &memNode{dir: kind == fs.ModeDir, born: m.made, written: time.Now()}
	if m.nodes[path] = n; n.dir {
		m.names[n] = map[string]*memNode{}
	} else {
		n.kind, n.link = kind, link
	}
	m.names[m.nodes[filepath.Dir(path)]] = m.children(filepath.Dir(path))
}

// move renames a file or directory on the device, like a person.
func (m *memFS) move(from, to string) {
	_ = m.RemoveAll(to)
	_ = m.Rename(from, to)
	_ = m.SyncDir(filepath.Dir(from))
	_ = m.SyncDir(filepath.Dir(to))
}

// file returns the regular file of that name. The caller holds mu.
func (m *memFS) file(op, name string) (*memNode, error) {
	n := m.nodes[filepath.Clean(name)]
	if n != nil && n.kind == fs.ModeSymlink {
		n = m.nodes[n.link]
	}
	switch {
	case n == nil:
		return nil, pathError(op, name, fs.ErrNotExist)
	case n.dir || n.kind != 0:
		return nil, pathError(op, name, store.ErrNoFile)
	}
	return n, nil
}

func (m *memFS) open(name string) (store.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.file("open", name)
	if err != nil {
		return nil, err
	}
	return &memFile{fs: m, node: n, name: name}, nil
}

func (m *memFS) Open(name string) (store.File, error)   { return m.open(name) }
func (m *memFS) OpenRW(name string) (store.File, error) { return m.open(name) }

func (m *memFS) Create(name string) (store.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.nodes[name] != nil {
		return nil, pathError("create", name, fs.ErrExist)
	}
	if p := m.nodes[filepath.Dir(name)]; p == nil || !p.dir {
		return nil, pathError("create", name, fs.ErrNotExist)
	}
	m.made++
	n := &memNode{born: m.made, written: time.Now()}
	m.nodes[name] = n
	return &memFile{fs: m, node: n, name: name}, nil
}

func (m *memFS) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if n := m.nodes[name]; n != nil {
		if !n.dir {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
		return nil
	}
	if p := m.nodes[filepath.Dir(name)]; p == nil || !p.dir {
		return pathError("mkdir", name, fs.ErrNotExist)
	}
	n := &memNode{dir: true}
	m.nodes[name], m.names[n] = n, map[string]*memNode{}
	return nil
}

func (m *memFS) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.file("open", name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(n.data), nil
}

func (m *memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if n := m.nodes[name]; n == nil {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	} else if !n.dir {
		return nil, pathError("readdir", name, syscall.ENOTDIR)
	}
	var list []fs.DirEntry
	for child, n := range m.children(name) {
		list = append(list, fs.FileInfoToDirEntry(n.info(child)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (m *memFS) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[filepath.Clean(name)]
	if n == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return n.info(filepath.Base(name)), nil
}

// Born implements the store's optional interface for birth times.
func (m *memFS) Born(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.births {
		return "", nil
	}
	n := m.nodes[filepath.Clean(name)]
	if n == nil {
		return "", pathError("born", name, fs.ErrNotExist)
	}
	return strconv.Itoa(n.born), nil
}

func (m *memFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	if m.nodes[from] == nil || m.nodes[filepath.Dir(to)] == nil {
		return pathError("rename", from, fs.ErrNotExist)
	}
	if there := m.nodes[to]; there != nil && there.dir != m.nodes[from].dir {
		return pathError("rename", from, fs.ErrExist)
	}
	for p, n := range m.nodes {
		if p == from || strings.HasPrefix(p, from+"/") {
			delete(m.nodes, p)
			m.nodes[to+strings.TrimPrefix(p, from)] = n
		}
	}
	return nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.nodes[name] == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if len(m.children(name)) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	delete(m.nodes, name)
	return nil
}

func (m *memFS) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	for p := range m.nodes {
		if p == name || strings.HasPrefix(p, name+"/") {
			delete(m.nodes, p)
		}
	}
	return nil
}

func (m *memFS) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	n := m.nodes[name]
	if n == nil {
		return pathError("syncdir", name, fs.ErrNotExist)
	}
	m.names[n] = m.children(name)
	return nil
}

func (m *memFS) Means(name string, f store.File) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[filepath.Clean(name)]
	if n == nil {
		return false, pathError("stat", name, fs.ErrNotExist)
	}
	return n == f.(*memFile).node, nil
}

// memFile is an open file of a memFS.
type memFile struct {
	fs   *memFS
	node *memNode
	name string
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if grow := off + int64(len(p)) - int64(len(f.node.data)); grow > 0 {
		f.node.data = append(f.node.data, make([]byte, grow)...)
	}
	if int(off) < len(f.node.dropped) {
		clear(f.node.dropped[off:min(len(f.node.dropped), int(off)+len(p))])
	}
	f.node.written = time.Now()
	return copy(f.node.data[off:], p), nil
}

func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.written = time.Now()
	if size <= int64(len(f.node.data)) {
		f.node.data = slices.Clone(f.node.data[:size])
		f.node.dropped = f.node.dropped[:min(len(f.node.dropped), int(size))]
	} else {
		f.node.data = append(f.node.data, make([]byte, size-int64(len(f.node.data)))...)
	}
	return nil
}

func (f *memFile) Datasync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	before := f.node.durable
	f.node.durable = slices.Clone(f.node.data)
	for i, dropped := range f.node.dropped {
		if dropped {
			f.node.durable[i] = 0
			if i < len(before) {
				f.node.durable[i] = before[i]
			}
		}
	}
	return nil
}

// failSync simulates a failed sync: see memFS.
func (f *memFile) failSync() {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n := f.node
	n.dropped = append(n.dropped, make([]bool, max(0, len(n.data)-len(n.dropped)))...)
	for i, b := range n.data {
		n.dropped[i] = n.dropped[i] || i >= len(n.durable) || n.durable[i] != b
	}
}

func (f *memFile) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.node.info(filepath.Base(f.name)), nil
}

func (f *memFile) TryLock() (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if holder := f.fs.locks[f.node]; holder != nil && holder != f {
		return false, nil
	}
	f.fs.locks[f.node] = f
	return true, nil
}

func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.locks[f.node] == f {
		delete(f.fs.locks, f.node)
	}
	return nil
}

type memInfo struct {
	name    string
	dir     bool
	kind    fs.FileMode
	size    int64
	written time.Time
}

func (n *memNode) info(name string) memInfo {
	return memInfo{name, n.dir, n.kind, int64(len(n.data)), n.written}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.written }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return i.kind | 0o600
}

package server_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// TestFault39AThousandTabsReadTheFileAsOftenAsOne wakes a thousand tabs at the same
// cursor, far before the tail in memory. They then follow live.
func TestFault39AThousandTabsReadTheFileAsOftenAsOne(t *testing.T) {
	const tabs = 1000
	files := &countedFS{FS: store.OS()}
	h := startHub(t, hubOptions{
		fs: files, tail: 64 << 10, idle: time.Hour, untold: true,
		limits: server.Limits{Clients: 2 * tabs},
		// A tab that waits for the others sends no pong.
		timing: server.Timing{Write: time.Hour, Ping: time.Hour},
	})
	s := h.session()
	h.prompt(s, "p1", "say 1500")
	end := s.Log().Marks().Visible
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)

	alone := peers{h.dial("/api/ws")}
	alone.observe(ctx, s.ID(), s.Log().Epoch())
	alone.collect(ctx, 0, end)
	one := files.reads.Swap(0)
	require.Positive(t, one, "the backlog is in memory")
	alone[0].conn.CloseNow()
	// Once no tab follows, no frame is cached.
	require.Eventually(t, func() bool { return strings.Contains(h.api("GET", "/api/health", nil).body, `"clients":0`) }, patience, 10*time.Millisecond)

	all := make(peers, tabs)
	for i := range all {
		all[i] = h.dial("/api/ws")
	}
	// No tab may finish before the last one begins, however slow the machine.
	files.hold()
	all.observe(ctx, s.ID(), s.Log().Epoch())
	for _, p := range all {
		find[*wire.State](p, nil)
	}
	files.letGo()
	all.collect(ctx, 0, end)
	many := files.reads.Swap(0)
	t.Logf("%d reads of the file for one tab, %d for %d tabs at once", one, many, tabs)
	// Frames can end at different events than for one tab, so some extra frames may
	// be built.
	require.LessOrEqual(t, many, 2*one, "not once for each of %d tabs", tabs)

	// Less than the tail in memory, so that no tab falls behind it.
	h.prompt(s, "p2", "say 50")
	all.collect(ctx, end, s.Log().Marks().Visible)
	require.Zero(t, files.reads.Load(), "live events were read from the file")
	for _, p := range all {
		p.conn.CloseNow()
	}
}

// peers are the tabs of a test.
type peers []*peer

// observe makes every tab observe the session from its beginning.
func (all peers) observe(ctx context.Context, session, epoch string) {
	for _, p := range all {
		p.ctx = ctx
		p.send(&wire.Observe{SessionID: session, AfterSeq: ptr(event.Seq(0)), Epoch: epoch})
	}
}

// collect waits until each tab has received the events after cursor up to end, once
// and in order.
func (all peers) collect(ctx context.Context, cursor, end event.Seq) {
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() {
			for at := cursor; at < end; {
				head, events := p.rawEvents()
				if head.FirstSeq != at+1 || !bytes.Contains(events, []byte(fmt.Sprintf(`"seq":%d,`, head.LastSeq))) {
					p.t.Errorf("tab %d: %d after %d", i, head.FirstSeq, at)
					return
				}
				at = head.LastSeq
			}
		})
	}
	wait.Wait()
}

// countedFS counts the reads of event files and can block them.
type countedFS struct {
	store.FS
	reads atomic.Int64
	gate  sync.RWMutex           // locked while reads must wait
	next  atomic.Pointer[func()] // called once before the next read
}

func (f *countedFS) hold()  { f.gate.Lock() }
func (f *countedFS) letGo() { f.gate.Unlock() }

func (f *countedFS) Open(name string) (store.File, error) {
	file, err := f.FS.Open(name)
	return f.count(file, name), err
}

func (f *countedFS) OpenRW(name string) (store.File, error) {
	file, err := f.FS.OpenRW(name)
	return f.count(file, name), err
}

func (f *countedFS) Create(name string) (store.File, error) {
	file, err := f.FS.Create(name)
	return f.count(file, name), err
}

func (f *countedFS) Means(name string, file store.File) (bool, error) {
	if counted, ok := file.(countedFile); ok {
		file = counted.File
	}
	return f.FS.Means(name, file)
}

func (f *countedFS) count(file store.File, name string) store.File {
	if file == nil || !strings.HasPrefix(filepath.Base(name), "events") {
		return file
	}
	return countedFile{file, f}
}

// countedFile is an open event file.
type countedFile struct {
	store.File
	fs *countedFS
}

func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	if next := f.fs.next.Swap(nil); next != nil {
		(*next)()
	}
	f.fs.gate.RLock()
	defer f.fs.gate.RUnlock()
	if len(p) > 1 { // a sync reads one byte
		f.fs.reads.Add(1)
	}
	return f.File.ReadAt(p, at)
}

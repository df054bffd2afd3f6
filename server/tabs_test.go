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

// TestFault39AThousandTabsReadTheFileAsOftenAsOne has a thousand tabs wake at
// the same cursor, far behind what is kept in memory, and then follow live.
func TestFault39AThousandTabsReadTheFileAsOftenAsOne(t *testing.T) {
	const tabs = 1000
	files := &countedFS{FS: store.OS()}
	h := startHub(t, hubOptions{
		fs: files, tail: 64 << 10,
		limits: server.Limits{Clients: 2 * tabs},
		timing: server.Timing{Write: time.Minute},
	})
	s := h.session()
	h.prompt(s, "p1", "say 1500")
	end := s.Log().Marks().Visible
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)

	alone := peers{h.dial("/api/ws")}
	alone.wake(t, ctx, s.ID(), s.Log().Epoch(), end)
	one := files.reads.Swap(0)
	require.Positive(t, one, "what the tabs missed is not in memory")
	alone[0].conn.CloseNow()
	// Nobody follows any more, so no frame is kept.
	require.Eventually(t, func() bool { return strings.Contains(h.api("GET", "/api/health", nil).body, `"clients":0`) }, patience, 10*time.Millisecond)

	all := make(peers, tabs)
	for i := range all {
		all[i] = h.dial("/api/ws")
	}
	all.wake(t, ctx, s.ID(), s.Log().Epoch(), end)
	many := files.reads.Swap(0)
	t.Logf("%d reads of the file for one tab, %d for %d tabs at once", one, many, tabs)
	// Tabs that want the same frame at the same moment may each make it.
	require.Less(t, many, 20*one)

	h.prompt(s, "p2", "say 200")
	all.collect(ctx, end, s.Log().Marks().Visible)
	require.Zero(t, files.reads.Load(), "live news comes from memory")
	for _, p := range all {
		p.conn.CloseNow()
	}
}

// peers are the tabs of a test.
type peers []*peer

// wake has all observe the session from its beginning at once, and waits until
// each has seen all of it.
func (all peers) wake(t *testing.T, ctx context.Context, session, epoch string, end event.Seq) {
	t.Helper()
	frame, err := wire.Encode(&wire.Observe{SessionID: session, AfterSeq: ptr(event.Seq(0)), Epoch: epoch})
	require.NoError(t, err)
	for _, p := range all {
		p.ctx = ctx
		p.sendRaw(string(frame))
	}
	all.collect(ctx, 0, end)
}

// collect waits until each has seen the events after cursor, up to end, each
// once and in order.
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

// countedFS counts the reads of event files.
type countedFS struct {
	store.FS
	reads atomic.Int64
}

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
	return countedFile{file, &f.reads}
}

// countedFile is an event file.
type countedFile struct {
	store.File
	reads *atomic.Int64
}

func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	f.reads.Add(1)
	return f.File.ReadAt(p, at)
}

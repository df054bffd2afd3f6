package store_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// halfwayFS stops in the middle of a line, once, when it is armed.
type halfwayFS struct {
	store.FS
	armed atomic.Bool
	half  chan struct{} // closed when half of a line is written
	rest  chan struct{} // the other half waits until this is closed
	full  bool          // there is no room for the other half
}

func (h *halfwayFS) Create(name string) (store.File, error) {
	file, err := h.FS.Create(name)
	if err != nil || filepath.Base(name) != "events.jsonl" {
		return file, err
	}
	return &halfwayFile{File: file, fs: h}, nil
}

func (h *halfwayFS) Means(name string, file store.File) (bool, error) {
	if wrapped, ok := file.(*halfwayFile); ok {
		file = wrapped.File
	}
	return h.FS.Means(name, file)
}

type halfwayFile struct {
	store.File
	fs *halfwayFS
}

func (f *halfwayFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.fs.armed.CompareAndSwap(true, false) {
		return f.File.WriteAt(p, off)
	}
	n, err := f.File.WriteAt(p[:len(p)/2], off)
	if err != nil {
		return n, err
	}
	close(f.fs.half)
	<-f.fs.rest
	if f.fs.full {
		return n, syscall.ENOSPC
	}
	more, err := f.File.WriteAt(p[n:], off+int64(n))
	return n + more, err
}

func TestAFollowerThatMeetsHalfALineShowsTheLineOnceItIsWhole(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	writing := &halfwayFS{FS: store.OS(), half: make(chan struct{}), rest: make(chan struct{})}
	r, err := store.OpenRecorder(dir, store.Options{FS: writing})
	require.NoError(t, err)
	recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	reading := &faultFS{FS: store.OS()}
	hub := open(t, dir, store.Options{FS: reading})
	l, err := hub.Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, l.ReadOnly())

	var looks atomic.Int64 // each begins with the question whose file it is
	reading.hold("stat", func() { looks.Add(1) })
	writing.armed.Store(true)
	appended := make(chan error, 1)
	go func() {
		_, _, err := recorded.Append(ctx, message("in two halves"))
		appended <- err
	}()
	<-writing.half
	before := looks.Load()
	require.Eventually(t, func() bool { return looks.Load() >= before+2 }, patience, 5*time.Millisecond, "one whole look")
	require.EqualValues(t, 1, l.Marks().Visible)
	close(writing.rest)
	require.NoError(t, <-appended)
	require.Eventually(t, func() bool { return l.Marks().Visible == 2 }, patience, 5*time.Millisecond, "with nothing behind it")
	events := readAll(t, l)
	requireGapless(t, events)
	require.Contains(t, string(events[1].Data), "in two halves")
	require.NoError(t, r.Close())
}

func TestAHubThatTakesALogOverShowsWhatItHadNotSeenYet(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	r, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	f := &faultFS{FS: store.OS()}
	hub := open(t, dir, store.Options{FS: f})
	l, err := hub.Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, l.ReadOnly())

	// The follower is kept at the end of one look, so that the next one finds the
	// lock free and lines that no look has seen.
	looked, next := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.hold("readfile", func() { once.Do(func() { close(looked); <-next }) })
	<-looked
	appendN(t, recorded, 10)
	before := readAll(t, recorded)
	require.NoError(t, r.Close())
	health := l.HealthChanged()
	close(next)
	<-health
	require.False(t, l.ReadOnly())
	require.Equal(t, before, readAll(t, l))
	require.Equal(t, store.Marks{Min: 1, Visible: 11, Written: 11, Synced: 11}, l.Marks())
	requireAppends(t, l)
}

func TestAHubThatStartsLeavesASessionAloneThatARecorderIsMaking(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	f := &faultFS{FS: store.OS()}
	r, err := store.OpenRecorder(dir, store.Options{FS: f})
	require.NoError(t, err)
	making, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.hold("rename", func() { once.Do(func() { close(making); <-goOn }) })
	var l *store.Log
	made := make(chan error, 1)
	go func() {
		var err error
		l, err = r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
		made <- err
	}()
	<-making
	hub := open(t, dir, store.Options{})
	require.Empty(t, hub.List(), "it has no name yet")
	close(goOn)
	require.NoError(t, <-made)
	requireAppends(t, l)
	require.NoError(t, r.Close())
	require.NoError(t, hub.Close())
	requireSound(t, dir)
	hub = open(t, dir, store.Options{})
	require.Len(t, hub.List(), 1)
}

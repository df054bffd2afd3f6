package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

// reading counts the searches that are reading files.
func reading(t *testing.T) int {
	t.Helper()
	var stacks strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
	return strings.Count(stacks.String(), "search.(*Query).Run(")
}

// slowFS is a file system on which one file cannot be opened before answers is closed.
type slowFS struct {
	store.FS
	slow    string
	answers chan struct{}
}

func (f slowFS) Open(name string) (store.File, error) {
	if name == f.slow {
		<-f.answers
	}
	return f.FS.Open(name)
}

func TestManySearchesAtOnceTakeTurnsAndKeepNobodyFromWork(t *testing.T) {
	h := &hub{t: t, dir: t.TempDir(), workspace: t.TempDir(), agents: newAgents()}
	const id = "20260221-140307-aaaaaaaa"
	dir := filepath.Join(h.dir, "sessions", id)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	metadata, err := json.Marshal(journal.Metadata{Format: 1, SessionID: id, Status: "idle", MinSeq: 1, MaxSeq: 9})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "metadata.json"), metadata, 0o600))
	slow := filepath.Join(dir, "events.jsonl")
	require.NoError(t, os.WriteFile(slow, nil, 0o600))
	answers := make(chan struct{})
	h.open(func(_ *session.Options, o *store.Options) { o.FS = slowFS{o.FS, slow, answers} })
	t.Cleanup(h.close)
	answer := sync.OnceFunc(func() {
		close(answers)
		require.Eventually(t, func() bool { return reading(t) == 0 }, patience, tick)
		require.NoError(t, os.RemoveAll(dir))
	})
	t.Cleanup(answer)

	const searches = 40
	left, leave := context.WithCancel(ctxOf(t))
	defer leave()
	ended := make(chan error, searches)
	var all sync.WaitGroup
	for range searches {
		all.Go(func() {
			_, err := h.manager.Search().Find(left, search.Request{Text: "nowhere", Limit: 5})
			ended <- err
		})
	}
	most := max(1, runtime.GOMAXPROCS(0)/2)
	require.Eventually(t, func() bool { return reading(t) == most }, patience, tick, "the first searches must begin")
	page, err := h.manager.List(list.Options{})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	prompt(t, h.create(), "p1")
	require.Equal(t, most, reading(t), "the other searches must wait")

	leave() // the waiting searches end at once, without a free slot
	for range searches - most {
		require.ErrorIs(t, receive(t, ended, "a search that waits does not end with its caller"), context.Canceled)
	}
	answer()
	all.Wait()
	found, err := h.manager.Search().Find(ctxOf(t), search.Request{Text: "nowhere", Limit: 5})
	require.NoError(t, err)
	require.Empty(t, found.NextCursor)
}

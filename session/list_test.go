package session_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/store"
)

// shelf is a file system in memory with the sessions of an earlier hub: their
// metadata without logs. It counts the opened files of sessions.
type shelf struct {
	store.FS
	sessions string // the sessions directory
	files    fstest.MapFS
	opened   *atomic.Int64
}

func shelve(t testing.TB, dir string, n int) shelf {
	t.Helper()
	s := shelf{store.OS(), filepath.Join(dir, "sessions"), fstest.MapFS{}, &atomic.Int64{}}
	for i := range n {
		at := time.Date(2026, 2, 21, 14, 3, 7, 0, time.UTC).Add(time.Duration(i) * time.Second)
		m := journal.Metadata{
			Format: 1, SessionID: fmt.Sprintf("%s-%08x", at.Format("20060102-150405"), i), Name: fmt.Sprintf("Task N%d", i),
			Agent: "fake", Workspace: "/work", ProjectRoot: fmt.Sprintf("/projects/p%d", i%100), CreatedAt: at, UpdatedAt: at,
			Status: "idle", LastLine: "It is done.", EventCount: 9, MinSeq: 1, MaxSeq: 9, Epoch: "0123456789abcdef",
		}
		data, err := json.Marshal(m)
		require.NoError(t, err)
		s.files[m.SessionID+"/metadata.json"] = &fstest.MapFile{Data: data}
	}
	return s
}

func (s shelf) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == s.sessions {
		return s.files.ReadDir(".")
	}
	return s.FS.ReadDir(name)
}

func (s shelf) ReadFile(name string) ([]byte, error) {
	if rest, within := strings.CutPrefix(name, s.sessions+"/"); within {
		return s.files.ReadFile(rest)
	}
	return s.FS.ReadFile(name)
}

func (s shelf) Open(name string) (store.File, error) {
	s.count(name)
	return s.FS.Open(name)
}

func (s shelf) OpenRW(name string) (store.File, error) {
	s.count(name)
	return s.FS.OpenRW(name)
}

func (s shelf) count(name string) {
	if strings.HasPrefix(name, s.sessions) {
		s.opened.Add(1)
	}
}

func TestTenThousandSessionsAreListedAndFoundWithoutTheirLogs(t *testing.T) {
	const sessions = 10_000
	h := &hub{t: t, dir: t.TempDir(), workspace: t.TempDir(), agents: newAgents()}
	shelf := shelve(t, h.dir, sessions)
	h.open(func(_ *session.Options, o *store.Options) { o.FS = shelf })
	t.Cleanup(h.close)
	listed := func(o list.Options) list.Page {
		page, err := h.manager.List(o)
		require.NoError(t, err)
		return page
	}
	seen, cursor := map[string]bool{}, ""
	last := time.Now().Add(time.Hour)
	for {
		page := listed(list.Options{Limit: 500, Cursor: cursor})
		for _, info := range page.Sessions {
			require.False(t, seen[info.SessionID], "twice in the list")
			require.False(t, info.UpdatedAt.After(last), "not newest first")
			seen[info.SessionID], last = true, info.UpdatedAt
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Len(t, seen, sessions)
	require.Len(t, listed(list.Options{Query: "TASK n4321"}).Sessions, 1, "by its name")
	require.Len(t, listed(list.Options{Query: "/p42", Limit: 500}).Sessions, sessions/100, "by its project")
	require.Len(t, listed(list.Options{Project: "/projects/p7", Limit: 500}).Sessions, sessions/100)
	require.Empty(t, listed(list.Options{Query: "nowhere"}).Sessions)
	h.manager.Problems()
	require.Zero(t, shelf.opened.Load(), "opened files")
}

func TestNewsOfTheListTellTheLatestOfEachSessionOnce(t *testing.T) {
	h := newHub(t)
	a, b := h.create(), h.create()
	_, _, v := h.manager.ChangesSince(0)
	update := func(s *session.BackgroundSession, pinned bool) {
		require.NoError(t, h.manager.Update(ctxOf(t), s.ID(), session.Patch{Pinned: &pinned}))
	}
	update(a, true)
	update(b, true)
	update(a, false)
	changed, _, v := h.manager.ChangesSince(v)
	pinned := map[string]bool{}
	for _, info := range changed {
		pinned[info.SessionID] = info.Pinned
	}
	require.Len(t, changed, len(pinned))
	require.Equal(t, map[string]bool{a.ID(): false, b.ID(): true}, pinned)
	require.NoError(t, h.manager.Delete(ctxOf(t), a.ID()))
	changed, gone, _ := h.manager.ChangesSince(v)
	for _, info := range changed { // its metadata may be written only now
		require.Equal(t, b.ID(), info.SessionID)
	}
	require.Equal(t, []string{a.ID()}, gone)
}

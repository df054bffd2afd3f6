package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// The hub holds the last copy of a removed file, and following its advice keeps it.
func TestHealthSaysHowAFileThatWasRemovedComesBack(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "hello")
	require.Eventually(t, func() bool { return s.State().Turn.State == session.TurnIdle }, patience, 2*time.Millisecond)
	before := h.api("GET", "/api/sessions/"+s.ID()+"/events", nil).body
	require.NoError(t, os.Remove(h.eventsFile(s.ID())))
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p2", Text: "into nothing"})
	require.ErrorIs(t, err, state.ErrUnavailable)
	list := h.health(h.token)
	require.Len(t, list, 1)
	require.Equal(t, "frozen", list[0].Kind)
	require.Contains(t, list[0].What, "removed or replaced while the hub had it open")
	require.Contains(t, list[0].Do, "/reopen")
	require.NotContains(t, list[0].Do, "restart")
	res := h.api("POST", "/api/sessions/"+s.ID()+"/reopen", nil)
	require.Equal(t, 200, res.status, res.body)
	require.Empty(t, h.health(h.token))
	h.prompt(mustSession(t, h, s.ID()), "p3", "goes on")
	dir := h.dir
	h.stop()
	h = startHub(t, hubOptions{dir: dir})
	after := h.api("GET", "/api/sessions/"+s.ID()+"/events", nil).body
	_, lines, _ := strings.Cut(before, `"events":[`)
	require.Contains(t, after, lines[:strings.LastIndex(lines, "]")])
}

// fullFor is a file system that has no space for files of one name while full is
// set.
type fullFor struct {
	store.FS
	name string
	full atomic.Bool
}

func (d *fullFor) Create(name string) (store.File, error) {
	if d.full.Load() && strings.HasPrefix(filepath.Base(name), d.name) {
		return nil, &os.PathError{Op: "create", Path: name, Err: syscall.ENOSPC}
	}
	return d.FS.Create(name)
}

func (h *hub) requireName(id, name string) {
	h.t.Helper()
	require.Contains(h.t, h.api("GET", "/api/sessions/"+id, nil).body, `"name":"`+name+`"`)
}

func TestANameThatIsRefusedForWantOfRoomIsNotTaken(t *testing.T) {
	disk := &fullFor{FS: store.OS(), name: "labels.json"}
	h := startHub(t, hubOptions{fs: disk})
	s := h.session()
	require.Equal(t, 200, h.api("PATCH", "/api/sessions/"+s.ID(), map[string]any{"name": "first"}).status)
	disk.full.Store(true)
	res := h.api("PATCH", "/api/sessions/"+s.ID(), map[string]any{"name": "second"})
	require.Equal(t, 503, res.status, res.body)
	disk.full.Store(false)
	h.requireName(s.ID(), "first")
	require.Equal(t, 200, h.api("PATCH", "/api/sessions/"+s.ID(), map[string]any{"pinned": true}).status)
	dir := h.dir
	h.stop()
	h = startHub(t, hubOptions{dir: dir})
	h.requireName(s.ID(), "first")
}

// The name is stored in two files, and one of them is enough to keep it.
func TestANameIsTakenThoughTheMetadataCannotBeWrittenAndHealthSaysSo(t *testing.T) {
	disk := &fullFor{FS: store.OS(), name: "metadata.json"}
	h := startHub(t, hubOptions{fs: disk})
	s := h.session()
	disk.full.Store(true)
	res := h.api("PATCH", "/api/sessions/"+s.ID(), map[string]any{"name": "taken"})
	require.Equal(t, 200, res.status, res.body)
	list := h.health(h.token)
	require.Len(t, list, 1)
	require.Equal(t, s.ID(), list[0].SessionID)
	require.Equal(t, "blocked", list[0].Kind)
	require.Contains(t, list[0].What, "metadata")
	disk.full.Store(false)
	require.Eventually(t, func() bool { return len(h.health(h.token)) == 0 }, patience, 5*time.Millisecond, "the problem does not end by itself")
	// A file that a person put there stays until a person removes it.
	path := filepath.Join(h.dir, "sessions", s.ID(), "metadata.json")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Equal(t, 200, h.api("PATCH", "/api/sessions/"+s.ID(), map[string]any{"name": "again"}).status)
	list = h.health(h.token)
	require.Len(t, list, 1)
	require.Equal(t, "damaged", list[0].Kind)
	require.NoError(t, os.Remove(path))
	dir := h.dir
	h.stop()
	h = startHub(t, hubOptions{dir: dir})
	h.requireName(s.ID(), "again")
}

func TestHealthSaysThatAQueueCannotBeWritten(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "hello")
	inTheWay := filepath.Join(filepath.Dir(h.eventsFile(s.ID())), "queue.json.tmp", "x")
	require.Eventually(t, func() bool { return os.MkdirAll(inTheWay, 0o700) == nil }, patience, 2*time.Millisecond, "a save is always under way")
	h.prompt(s, "p2", "goes on")
	require.Eventually(t, func() bool { return len(h.health(h.token)) > 0 }, patience, 2*time.Millisecond)
	list := h.health(h.token)
	require.Equal(t, "damaged", list[0].Kind)
	require.Contains(t, list[0].What, "waiting prompts cannot be written: directory not empty")
	require.Contains(t, list[0].Do, "queue.json")
	require.NoError(t, os.Remove(inTheWay))
	require.Eventually(t, func() bool { return len(h.health(h.token)) == 0 }, patience, 2*time.Millisecond)
}

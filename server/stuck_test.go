package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// refusedPrompt sends a prompt that must be refused, and returns the error.
func (h *hub) refusedPrompt(id, prompt string) *wire.Error {
	h.t.Helper()
	screen := h.dial("/api/sessions/" + id + "/ws")
	screen.send(&wire.Prompt{RequestID: "r-" + prompt, SessionID: id, PromptID: prompt, Text: "more"})
	return find[*wire.Error](screen, nil)
}

func TestFault16ARefusedPromptSaysWhatHealthSays(t *testing.T) {
	disk := newSickDisk()
	h := startHub(t, hubOptions{fs: disk})
	s := h.session()
	h.prompt(s, "p1", "hello")
	broken := error(syscall.EIO)
	disk.sync.Store(&broken)
	for _, prompt := range []string{"p2", "p3"} { // the first one meets the failure, the second comes after it
		refused := h.refusedPrompt(s.ID(), prompt)
		list := h.health(h.token)
		require.Len(t, list, 1)
		require.Equal(t, wire.CodeUnavailable, refused.Code)
		require.Equal(t, list[0].What+"; "+list[0].Do, refused.Message, prompt)
	}
	disk.sync.Store(nil)
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+s.ID()+"/reopen", nil).status)
}

func TestFault14APromptWithoutRoomSaysWhatHealthSays(t *testing.T) {
	disk := newSickDisk()
	h := startHub(t, hubOptions{fs: disk})
	s := h.session()
	h.prompt(s, "p1", "hello")
	full := error(syscall.ENOSPC)
	disk.write.Store(&full)
	for _, prompt := range []string{"p2", "p3"} {
		refused := h.refusedPrompt(s.ID(), prompt)
		list := h.health(h.token)
		require.Len(t, list, 1)
		require.Equal(t, wire.CodeUnavailable, refused.Code)
		require.Equal(t, list[0].What+"; "+list[0].Do, refused.Message, prompt)
	}
	disk.write.Store(nil)
}

func TestFault24TheDirectoryOfAllSessionsMayBeTakenAwayAndPutBack(t *testing.T) {
	h := startHub(t, hubOptions{})
	open, asleep := h.session(), h.session()
	h.prompt(open, "p1", "hello")
	h.prompt(asleep, "p1", "hello")
	dir := h.dir
	h.stop()
	h = startHub(t, hubOptions{dir: dir})
	open = mustSession(t, h, open.ID())
	folder, away := filepath.Join(dir, "sessions"), filepath.Join(t.TempDir(), "away")
	require.NoError(t, os.Rename(folder, away))

	api := func(method, path string, body any) response { // requires 503 with a remedy, never 500 or 404
		t.Helper()
		res := h.api(method, path, body)
		require.Equal(t, 503, res.status, path+res.body)
		require.Equal(t, "unavailable", res.code(t))
		require.Contains(t, res.body, "the directory of all sessions is gone; put the directory `sessions` back")
		require.NotContains(t, res.body, dir)
		return res
	}
	require.Contains(t, h.refusedPrompt(open.ID(), "p2").Message, "the directory of all sessions is gone")
	api("GET", "/api/sessions/"+asleep.ID()+"/events", nil)
	api("POST", "/api/sessions/"+open.ID()+"/reopen", nil)
	api("POST", "/api/sessions", map[string]any{"agent": "puppet"})
	api("DELETE", "/api/sessions/"+asleep.ID(), nil)
	list := h.health(h.token)
	require.Len(t, list, 2)
	for _, one := range list {
		require.Equal(t, "unreadable", one.Kind)
		require.Equal(t, "the directory of all sessions is gone", one.What)
	}

	require.NoError(t, os.Rename(away, folder))
	list = h.health(h.token)
	require.Len(t, list, 1, "a session that was not open must recover by itself")
	require.Equal(t, sick{open.ID(), "frozen", "the session's directory was gone for a while, and is back", list[0].Do}, list[0])
	require.Equal(t, list[0].What+"; "+list[0].Do, h.refusedPrompt(open.ID(), "p3").Message)
	require.Equal(t, 200, h.api("GET", "/api/sessions/"+asleep.ID()+"/events", nil).status)
	require.Equal(t, "idle", h.statuses(h.token)[asleep.ID()])
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+open.ID()+"/reopen", nil).status)
	h.prompt(mustSession(t, h, open.ID()), "p4", "goes on")
	h.prompt(mustSession(t, h, asleep.ID()), "p4", "goes on")
	require.Empty(t, h.health(h.token))
	require.Equal(t, 201, h.api("POST", "/api/sessions", map[string]any{"agent": "puppet"}).status)
}

func TestFault24EventsOfADirectoryThatIsAwayCannotBeReadForNow(t *testing.T) {
	h := startHub(t, hubOptions{file: 4 << 10, tail: 1})
	s := h.session()
	for n := range 8 {
		h.prompt(s, fmt.Sprintf("p%d", n), strings.Repeat("long ", 200))
	}
	data, dir := h.dir, filepath.Join(h.dir, "sessions", s.ID())
	h.stop()
	h = startHub(t, hubOptions{dir: data, file: 4 << 10, tail: 1, idle: 20 * time.Millisecond})
	mustSession(t, h, s.ID())
	complete, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, complete)
	away := filepath.Join(t.TempDir(), "away")
	require.NoError(t, os.Rename(dir, away))
	// The files that the opening synced stay open and readable until the log is
	// idle, also where the log froze because it wrote its metadata just now.
	var res response
	require.Eventually(t, func() bool {
		res = h.api("GET", "/api/sessions/"+s.ID()+"/events", nil)
		return res.status != 200
	}, patience, 50*time.Millisecond)
	require.Equal(t, 503, res.status)
	require.Contains(t, res.body, "the session's directory is gone; delete the session, or put its directory back")
	require.NoError(t, os.Rename(away, dir))
	require.Equal(t, 200, h.api("GET", "/api/sessions/"+s.ID()+"/events", nil).status)
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+s.ID()+"/reopen", nil).status)
}

func TestABlobThatCannotBeReadSaysWhatToDo(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	text := strings.Repeat("much text ", 40_000)
	h.prompt(s, "p1", text)
	dir := filepath.Join(h.dir, "sessions", s.ID(), "blobs")
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
	blob := filepath.Join(dir, names[0].Name())
	get := func() response { return h.api("GET", "/api/sessions/"+s.ID()+"/blobs/"+names[0].Name(), nil) }
	require.Equal(t, 200, get().status)
	named := func() { // requires that check names the session
		t.Helper()
		report, err := store.Check(context.Background(), h.dir, s.ID())
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(report.Problems), names[0].Name())
	}
	require.NoError(t, os.Rename(blob, blob+".aside"))
	res := get()
	require.Equal(t, 404, res.status)
	require.Contains(t, res.body, "`abide check "+s.ID()+"` says so: put the file back")
	named()

	require.NoError(t, os.Mkdir(blob, 0o700))
	res = get()
	require.Equal(t, 503, res.status)
	require.Equal(t, "unavailable", res.code(t))
	require.Contains(t, res.body, "the file of this value is damaged; `abide check "+s.ID()+"` names it: put it back from a backup")
	named()
	_, err = s.Attach(context.Background(), event.Actor{ID: "t"}, "a.txt", "text/plain", strings.NewReader(text))
	require.ErrorIs(t, err, state.ErrUnavailable)
	require.ErrorContains(t, err, "the file cannot be kept")
	require.ErrorContains(t, err, "abide check "+s.ID())

	require.NoError(t, os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"-away"))
	require.Contains(t, get().body, "the session's directory is gone")
	require.NoError(t, os.Rename(filepath.Dir(dir)+"-away", filepath.Dir(dir)))
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+s.ID()+"/reopen", nil).status)
}

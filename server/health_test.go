package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

// sick is a session with a problem in the hub's health.
type sick struct {
	SessionID string `json:"session_id"`
	Kind      string `json:"kind"`
	What      string `json:"what"`
	Do        string `json:"do"`
}

// health returns the sessions with problems that a token sees.
func (h *hub) health(token string) []sick {
	h.t.Helper()
	res := h.do("GET", "/api/health", nil, http.Header{"Authorization": {"Bearer " + token}})
	require.Equal(h.t, 200, res.status, res.body)
	require.NotContains(h.t, res.body, h.dir, "a path of the hub in a response")
	var answer struct {
		Status          string
		Protocol        int
		Version         string
		HubID           string `json:"hub_id"`
		Scope           string
		Time            string
		UptimeMS        int64 `json:"uptime_ms"`
		Limits          wire.Limits
		Clients         int
		IgnoredMessages int64 `json:"ignored_messages"`
		Notifications   json.RawMessage
		Interruptions   json.RawMessage
		Derived         json.RawMessage
		Sessions        []sick `json:"sessions"`
	}
	res.decode(h.t, &answer)
	require.NotNil(h.t, answer.Sessions)
	for _, s := range answer.Sessions {
		require.NotEmpty(h.t, s.What)
		require.NotEmpty(h.t, s.Do)
	}
	return answer.Sessions
}

func (h *hub) eventsFile(id string) string {
	return filepath.Join(h.dir, "sessions", id, "events.jsonl")
}

func TestFault08HealthShowsAConflictToThoseWhoMayReadIt(t *testing.T) {
	h := startHub(t, hubOptions{})
	hurt, well := h.session(), h.session()
	h.prompt(hurt, "p1", "hello")
	require.Empty(t, h.health(h.token))
	other := h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: well.ID(), Name: "other"})
	own := h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: hurt.ID(), Name: "own"})
	dir := h.dir
	h.stop()
	lines, err := os.ReadFile(h.eventsFile(well.ID()))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(lines), "\n")
	log, err := os.OpenFile(h.eventsFile(hurt.ID()), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = log.WriteString(first + "\n") // seq 1 of another session
	require.NoError(t, err)
	require.NoError(t, log.Close())

	for range 2 { // the next start reports it too
		h = startHub(t, hubOptions{dir: dir})
		require.Equal(t, 200, h.api("GET", "/api/sessions/"+hurt.ID(), nil).status, "a session with this problem must be readable")
		list := h.health(h.token)
		require.Len(t, list, 1)
		require.Equal(t, hurt.ID(), list[0].SessionID)
		require.Equal(t, "damaged", list[0].Kind)
		require.Contains(t, list[0].What, "twice")
		require.Equal(t, list, h.health(own))
		require.Empty(t, h.health(other), "it may not read that session")
		h.stop()
	}
	h = startHub(t, hubOptions{dir: dir})
	require.Len(t, h.health(h.token), 1, "also before the session is opened")
}

func TestHealthShowsAFullAndAFailingDeviceForTheirSession(t *testing.T) {
	disk := newSickDisk()
	h := startHub(t, hubOptions{fs: disk})
	s := h.session()
	h.prompt(s, "p1", "hello")

	full := error(syscall.ENOSPC)
	disk.write.Store(&full)
	// The log looks at the free space after a while, and finds some: it is blocked until then.
	require.Eventually(t, func() bool {
		_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p2", Text: "more"})
		require.ErrorIs(t, err, state.ErrUnavailable)
		list := h.health(h.token)
		return len(list) == 1 && list[0].Kind == "blocked"
	}, patience, 2*time.Millisecond)
	disk.write.Store(nil)
	require.Eventually(t, func() bool { return len(h.health(h.token)) == 0 }, patience, 2*time.Millisecond, "the problem does not end by itself")
	require.Eventually(t, func() bool { return s.State().Turn.State == session.TurnIdle }, patience, 2*time.Millisecond)

	broken := error(syscall.EIO)
	disk.sync.Store(&broken)
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p3", Text: "more"})
	require.Error(t, err)
	list := h.health(h.token)
	require.Len(t, list, 1)
	require.Equal(t, "frozen", list[0].Kind)
	require.Contains(t, list[0].Do, "reopen")

	screen := h.dial("/api/sessions/" + s.ID() + "/ws")
	reopen := func() response { return h.api("POST", "/api/sessions/"+s.ID()+"/reopen", nil) }
	require.Equal(t, 503, reopen().status, "the device still fails")
	require.Equal(t, "frozen", h.health(h.token)[0].Kind)
	require.Equal(t, 200, h.api("GET", "/api/sessions/"+s.ID()+"/events", nil).status, "the events on disk are not served")
	find[*wire.Goodbye](screen, nil) // it reconnects with its cursor
	disk.sync.Store(nil)
	res := reopen()
	require.Equal(t, 200, res.status, res.body)
	require.Empty(t, h.health(h.token))
	h.prompt(mustSession(t, h, s.ID()), "p4", "goes on")
	require.Equal(t, 200, reopen().status, "the reopen failed on a working device")
}

func TestASessionWhoseLogCannotBeOpenedIsUnavailableWithWordsAndOthersWork(t *testing.T) {
	h := startHub(t, hubOptions{})
	hurt, well := h.session(), h.session()
	h.prompt(hurt, "p1", "hello")
	dir := h.dir
	h.stop()
	aside := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.Rename(h.eventsFile(hurt.ID()), aside))
	require.NoError(t, os.Mkdir(h.eventsFile(hurt.ID()), 0o700)) // a directory in place of the file: opening it fails for root too

	h = startHub(t, hubOptions{dir: dir})
	screen := h.dial("/api/ws")
	for _, path := range []string{"", "/events", "/queue", "/rules", "/ws"} {
		res := h.api("GET", "/api/sessions/"+hurt.ID()+path, nil)
		require.Equal(t, 503, res.status, path)
		require.Equal(t, "unavailable", res.code(t))
		require.Contains(t, res.body, "abide check "+hurt.ID())
		require.NotContains(t, res.body, dir)
		require.NotEmpty(t, res.header.Get("Retry-After"))
	}
	require.Equal(t, wire.SessionStatus("damaged"), find[*wire.Session](screen, func(m *wire.Session) bool {
		return m.Session.SessionID == hurt.ID()
	}).Session.Status, "open lists hear of it")
	screen.send(&wire.Observe{RequestID: "r1", SessionID: hurt.ID(), Tail: ptr(10)})
	refused := find[*wire.Error](screen, nil)
	require.Equal(t, "r1", refused.RequestID)
	require.Equal(t, wire.CodeUnavailable, refused.Code)
	require.Contains(t, refused.Message, "abide check")
	screen.send(&wire.Prompt{RequestID: "r2", SessionID: hurt.ID(), PromptID: "p2", Text: "x"})
	require.Equal(t, wire.CodeUnavailable, find[*wire.Error](screen, nil).Code)

	require.Equal(t, map[string]string{hurt.ID(): "damaged", well.ID(): "idle"}, h.statuses(h.token))
	own := h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: hurt.ID(), Name: "own"})
	require.Equal(t, map[string]string{hurt.ID(): "damaged"}, h.statuses(own))
	require.Equal(t, "unreadable", h.health(own)[0].Kind)
	h.prompt(mustSession(t, h, well.ID()), "p1", "still works")

	require.NoError(t, os.Remove(h.eventsFile(hurt.ID())))
	require.NoError(t, os.Rename(aside, h.eventsFile(hurt.ID())))
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+hurt.ID()+"/reopen", nil).status, "the reopen failed after the repair")
	require.Empty(t, h.health(h.token))
	require.Equal(t, "idle", h.statuses(h.token)[hurt.ID()])
}

func TestASessionThatCannotBeOpenedCanBeDeleted(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	dir := h.dir
	h.stop()
	require.NoError(t, os.Remove(h.eventsFile(s.ID())))
	require.NoError(t, os.Mkdir(h.eventsFile(s.ID()), 0o700))
	h = startHub(t, hubOptions{dir: dir})
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+s.ID(), nil).status)
	require.Equal(t, 404, h.api("GET", "/api/sessions/"+s.ID(), nil).status)
	require.Empty(t, h.health(h.token))
}

// statuses returns the status of each session in the list of a token.
func (h *hub) statuses(token string) map[string]string {
	h.t.Helper()
	res := h.do("GET", "/api/sessions", nil, http.Header{"Authorization": {"Bearer " + token}})
	require.Equal(h.t, 200, res.status, res.body)
	var page wire.SessionPage
	res.decode(h.t, &page)
	all := map[string]string{}
	for _, s := range page.Sessions {
		all[s.SessionID] = string(s.Status)
	}
	return all
}

// Health says how far each kind that is derived is behind the logs, and a request makes up for
// its own.
func TestHealthSaysHowFarWhatIsDerivedIsBehind(t *testing.T) {
	h := startHub(t, hubOptions{})
	lags := func() map[string]wire.Derived {
		var health wire.Health
		res := h.api("GET", "/api/health", nil)
		require.NoError(t, json.Unmarshal([]byte(res.body), &health))
		all := map[string]wire.Derived{}
		for _, d := range health.Derived {
			all[d.Kind] = d
		}
		return all
	}
	require.Equal(t, map[string]wire.Derived{"usage": {Kind: "usage"}, "sizes": {Kind: "sizes"}, "snapshots": {Kind: "snapshots"}}, lags())
	s := h.session()
	h.prompt(s, "p1", "/plan")
	end := int64(s.Log().Marks().Visible)
	require.Equal(t, wire.Derived{Kind: "usage", Sessions: 1, Events: end}, lags()["usage"])
	require.Equal(t, wire.Derived{Kind: "sizes", Sessions: 1, Events: end}, lags()["sizes"])
	require.Equal(t, http.StatusOK, h.api("GET", "/api/usage", nil).status)
	require.Equal(t, wire.Derived{Kind: "usage"}, lags()["usage"])
	require.Equal(t, http.StatusOK, h.api("GET", "/api/storage", nil).status)
	require.Equal(t, wire.Derived{Kind: "sizes"}, lags()["sizes"])
	h.prompt(s, "p2", "/plan")
	require.Equal(t, 1, lags()["usage"].Sessions)
	require.Equal(t, int64(s.Log().Marks().Visible)-end, lags()["usage"].Events)
	shared := h.mint(auth.TokenRequest{Name: "watch", Scope: auth.Viewer, SessionID: s.ID()})
	require.NotContains(t, h.do("GET", "/api/health", nil, http.Header{"Authorization": {"Bearer " + shared}}).body, "derived")
}

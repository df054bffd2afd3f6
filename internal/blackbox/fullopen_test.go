package blackbox_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// TestASessionWithAnOpenTurnWaitsForRoomAndThenGoesOn kills a hub in the middle of
// a turn and fills the device, so that the next hub cannot write the end of the
// turn. Requests for the session get 503 with Retry-After until there is space.
// Then the session recovers as after any kill.
func TestASessionWithAnOpenTurnWaitsForRoomAndThenGoesOn(t *testing.T) {
	disk := newSmallDisk(t)
	if disk == nil {
		t.Skip("no file system can be mounted here")
	}
	h := newHub(t, settings{data: filepath.Join(disk.dir, "data")})
	s := h.create("demo")
	c := h.screen("screen", s, 0)
	c.prompt(s.SessionID, "open", "/ask")
	c.untilAsked(1)
	token := h.token()
	h.kill()
	fillLastPage(t, h.data, s.SessionID)
	require.NoError(t, disk.fill(0))
	_, ok := h.line(h.spawn())
	require.True(t, ok, "the hub ended:\n%s", h.logged())

	ask := func(path string) (status int, retryAfter, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.addr+"/api/sessions"+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, res.Header.Get("Retry-After"), string(text)
	}
	status, _, list := ask("")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, list, s.SessionID, "the session is missing from the list")
	events := "/" + s.SessionID + "/events"
	for range 3 {
		status, after, body := ask(events)
		require.Equal(t, http.StatusServiceUnavailable, status, body)
		require.NotEmpty(t, after, "no Retry-After")
		require.Contains(t, body, "no space left", "the cause is missing")
		require.NotContains(t, body, h.data, "the response names a path of the hub")
	}

	require.NoError(t, disk.heal())
	require.Eventually(t, func() bool { status, _, _ := ask(events); return status == http.StatusOK }, patience, 50*time.Millisecond)
	require.Equal(t, event.StopHubRestart, c.untilTurnEnds("open").StopReason)
	require.Eventually(t, func() bool {
		_, err := c.socket().Prompt(t.Context(), wire.Prompt{SessionID: s.SessionID, PromptID: "next", Text: "/burst 10"})
		return err == nil
	}, patience, 100*time.Millisecond)
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("next").StopReason)
}

// fillLastPage appends to a session's log until its last page is almost full. A
// full device still accepts writes within an allocated page.
func fillLastPage(t *testing.T, data, session string) {
	t.Helper()
	st, err := store.Open(data, store.Options{})
	require.NoError(t, err)
	l, err := st.Log(t.Context(), session)
	require.NoError(t, err)
	size := func() int {
		info, err := os.Stat(filepath.Join(data, "sessions", session, "events.jsonl"))
		require.NoError(t, err)
		return int(info.Size())
	}
	say := func(n int) {
		draft, err := event.NewDraft(event.AgentMessage{MessageID: "m", Text: event.Text(strings.Repeat("x", n))}, 1, time.Time{})
		require.NoError(t, err)
		_, _, err = l.Append(t.Context(), draft)
		require.NoError(t, err)
	}
	before := size()
	say(1)
	const page, spare = 4096, 20
	line := size() - before
	left := page - size()%page - spare - line
	if left < 0 {
		left += page
	}
	say(1 + left)
	require.InDelta(t, page-spare, size()%page, spare)
	require.NoError(t, st.Close())
}

package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// saved returns the saved snapshot of a session once it has an event.
func (h *hub) saved(id string, seq event.Seq) (s wire.Snapshot) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		res := h.api("GET", "/api/sessions/"+id+"/snapshot?saved=true", nil)
		if res.status != http.StatusOK {
			require.Equal(h.t, http.StatusNotFound, res.status)
			return false
		}
		s = wire.Snapshot{}
		res.decode(h.t, &s)
		return s.AtSeq >= seq
	}, patience, 5*time.Millisecond)
	return s
}

// A snapshot is saved by itself after a turn, and answered with all events when it is asked
// for; its open plan entries are the session's suggestions.
func TestASnapshotIsSavedAndAnswered(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "plan")
	end := h.await(s, 0, event.TypeTurnEnd)
	got := h.saved(s.ID(), end.Seq)
	require.Equal(t, state.SnapshotVersion, got.Version)
	talk := got.AgentContext.ConversationHistory
	require.Equal(t, []string{"user: plan", "assistant: I wrote it."}, []string{string(talk[0].Role) + ": " + string(talk[0].Content), string(talk[1].Role) + ": " + string(talk[1].Content)})
	require.Equal(t, "Write it", got.AgentContext.CurrentTask)
	require.Equal(t, []string{"Look around"}, got.AgentContext.CompletedTasks)
	require.Equal(t, []string{"Write it", "Test it"}, got.AgentContext.Suggestions)
	require.Equal(t, got.AgentContext.Suggestions, s.State().Suggestions)
	require.Equal(t, []string{"ls", "a.go\n"}, []string{string(got.Outputs[0].Content), string(got.Outputs[1].Content)})
	require.Equal(t, "/w/a.go", got.Files[0].Path)
	require.Equal(t, 1, got.Metadata.ToolCalls)
	require.Equal(t, got.StateSizeBytes, got.StoredBytes)
	require.InDelta(t, 1, got.CompressionRatio, 0)

	h.prompt(s, "p2", "Write it")
	end = h.await(s, end.Seq, event.TypeTurnEnd)
	var now wire.Snapshot
	res := h.api("GET", "/api/sessions/"+s.ID()+"/snapshot", nil)
	require.Equal(t, http.StatusOK, res.status)
	res.decode(t, &now)
	require.GreaterOrEqual(t, now.AtSeq, end.Seq)
	require.Equal(t, []string{"Test it"}, now.AgentContext.Suggestions, "what was asked for is no suggestion")

	require.Equal(t, http.StatusBadRequest, h.api("GET", "/api/sessions/"+s.ID()+"/snapshot?saved=yes", nil).status)
	require.Equal(t, http.StatusNotFound, h.api("GET", "/api/sessions/20200101-000000-00000000/snapshot", nil).status)
	other := h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: h.session().ID()})
	require.Equal(t, http.StatusForbidden, h.do("GET", "/api/sessions/"+s.ID()+"/snapshot", nil, http.Header{"Authorization": {"Bearer " + other}}).status)
}

// The list of sessions that wait to be resumed says what they were about, without opening any.
func TestSessionsToResumeHaveAPreview(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "plan")
	h.await(s, 0, event.TypeTurnEnd)
	require.Equal(t, http.StatusAccepted, h.api("POST", "/api/sessions/"+s.ID()+"/pause", nil).status)
	h.saved(s.ID(), h.await(s, 0, event.TypeSessionPaused).Seq)
	var page wire.SessionPage
	h.api("GET", "/api/sessions?resumable=true", nil).decode(t, &page)
	require.Len(t, page.Sessions, 1)
	require.Equal(t, "Write it", page.Sessions[0].Preview.LastTask)
	require.Equal(t, 1, page.Sessions[0].Preview.FilesCount)
	require.Equal(t, 1, page.Sessions[0].Preview.OutputsCount)
	require.Positive(t, page.Sessions[0].Preview.StateSizeBytes)
}

// A snapshot that cannot be saved is said, and costs the session nothing.
func TestASnapshotThatCannotBeSavedIsSaid(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	derived := filepath.Join(h.dir, "sessions", s.ID(), "derived")
	require.NoError(t, os.RemoveAll(derived))
	require.NoError(t, os.WriteFile(derived, []byte("in the way"), 0o600))
	health := func() (a wire.Health) {
		h.api("GET", "/api/health", nil).decode(t, &a)
		return a
	}
	h.prompt(s, "p1", "plan")
	end := h.await(s, 0, event.TypeTurnEnd)
	require.Eventually(t, func() bool { return strings.Contains(health().Snapshots, s.ID()) }, patience, 20*time.Millisecond)
	require.Contains(t, health().Snapshots, "Nothing of the session is lost")
	require.Equal(t, http.StatusOK, h.api("GET", "/api/sessions/"+s.ID()+"/snapshot", nil).status, "it is made all the same")
	require.NoError(t, os.Remove(derived))
	h.prompt(s, "p2", "say 3")
	h.saved(s.ID(), h.await(s, end.Seq, event.TypeTurnEnd).Seq)
	require.Eventually(t, func() bool { return health().Snapshots == "" }, patience, 20*time.Millisecond)
}

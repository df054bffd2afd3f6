package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// recording is a session that another program records beside the hub.
type recording struct {
	t        *testing.T
	recorder *store.Recorder
	log      *store.Log
}

func (h *hub) record(payloads ...event.Payload) *recording {
	h.t.Helper()
	recorder, err := store.OpenRecorder(h.dir, store.Options{})
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = recorder.Close() }) // most tests have closed it
	log, err := recorder.Create(h.t.Context(), event.SessionStart{Agent: "puppet", Workspace: h.t.TempDir()})
	require.NoError(h.t, err)
	r := &recording{t: h.t, recorder: recorder, log: log}
	r.say(payloads...)
	return r
}

func (r *recording) say(payloads ...event.Payload) {
	r.t.Helper()
	for _, p := range payloads {
		d, err := event.NewDraft(p, 1, time.Now())
		require.NoError(r.t, err)
		_, _, err = r.log.Append(r.t.Context(), d)
		require.NoError(r.t, err)
	}
}

func (r *recording) path() string { return "/api/sessions/" + r.log.ID() }

// listed is a session's line of the list a query asks for, or an empty one.
func (h *hub) listed(id, query string) (line wire.SessionInfo) {
	h.t.Helper()
	var page struct {
		Sessions []wire.SessionInfo `json:"sessions"`
	}
	h.api("GET", "/api/sessions?"+query, nil).decode(h.t, &page)
	for _, s := range page.Sessions {
		if s.SessionID == id {
			return s
		}
	}
	return wire.SessionInfo{}
}

func (h *hub) awaitListed(id, query, what string, fits func(wire.SessionInfo) bool) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return fits(h.listed(id, query)) }, patience, 10*time.Millisecond, what)
}

func asking(id string) event.PermissionRequest {
	return event.PermissionRequest{PermissionID: id, Title: "Remove the build", Options: []event.PermissionOption{
		{OptionID: "yes", Name: "Yes", Kind: event.AllowOnce}, {OptionID: "no", Name: "No", Kind: event.RejectOnce},
	}}
}

func TestNothingChangesWhatAnotherProcessRecordsAndItIsTheHubsAfterwards(t *testing.T) {
	h := startHub(t, hubOptions{})
	r := h.record(event.UserPrompt{PromptID: "theirs", Text: "Clean up"}, event.TurnStart{PromptID: "theirs"}, asking("q"))
	id := r.log.ID()
	h.awaitListed(id, "status=all", "the request is seen", func(s wire.SessionInfo) bool { return s.Status == "needs_you" })

	for _, refused := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/prompt", map[string]string{"text": "mine", "prompt_id": "mine"}},
		{"POST", "/prompt", map[string]string{"text": "later", "prompt_id": "later", "scheduled_at": "2099-01-01T00:00:00Z"}},
		{"POST", "/queue", map[string]string{"text": "mine", "prompt_id": "queued"}},
		{"DELETE", "/queue", nil},
		{"PATCH", "/queue/mine", map[string]string{"text": "other"}},
		{"DELETE", "/queue/mine", nil},
		{"POST", "/cancel", nil},
		{"POST", "/force-reset", nil},
		{"POST", "/permissions/q", map[string]string{"option_id": "yes"}},
		{"POST", "/permissions/unknown", map[string]string{"option_id": "yes"}},
		{"POST", "/restart", nil},
		{"POST", "/reopen", nil},
		{"POST", "/authenticate", map[string]string{"method_id": "browser"}},
		{"POST", "/attachments?name=a.txt", "some bytes"},
		{"POST", "/rules", map[string]string{"scope": "session", "effect": "allow", "kind": "read"}},
		{"POST", "/rules", map[string]string{"scope": "agent", "effect": "allow", "kind": "read"}},
		{"POST", "/rules", map[string]string{"scope": "session", "effect": "allow", "permission_id": "q"}},
		{"DELETE", "", nil},
	} {
		res := h.api(refused.method, r.path()+refused.path, refused.body)
		require.Equal(t, http.StatusConflict, res.status, "%s %s: %s", refused.method, refused.path, res.body)
		require.Equal(t, string(wire.CodeConflict), res.code(t))
		require.Contains(t, res.body, "another abide records this session", "%s %s", refused.method, refused.path)
		require.Contains(t, res.body, "until it ends", "%s %s", refused.method, refused.path)
	}
	p := h.dial("/api/ws")
	for _, refused := range []wire.Message{
		&wire.Prompt{RequestID: "r", SessionID: id, PromptID: "mine", Text: "mine"},
		&wire.PermissionAnswer{RequestID: "r", SessionID: id, PermissionID: "q", OptionID: "yes"},
		&wire.Cancel{RequestID: "r", SessionID: id},
		&wire.ForceReset{RequestID: "r", SessionID: id},
		&wire.RestartAgent{RequestID: "r", SessionID: id},
		&wire.Authenticate{RequestID: "r", SessionID: id, MethodID: "browser"},
		&wire.SetMode{RequestID: "r", SessionID: id, ModeID: "plan"},
		&wire.SetConfigOption{RequestID: "r", SessionID: id, ConfigID: "model", Value: "large"},
		&wire.QueueEdit{RequestID: "r", SessionID: id, PromptID: "mine", Text: "other"},
		&wire.QueueMove{RequestID: "r", SessionID: id, PromptID: "mine"},
		&wire.QueueRemove{RequestID: "r", SessionID: id, PromptID: "mine"},
		&wire.QueueClear{RequestID: "r", SessionID: id},
	} {
		p.send(refused)
		answer := find(p, func(m *wire.Error) bool { return m.RequestID == "r" })
		require.Equal(t, wire.CodeConflict, answer.Code, "%T: %s", refused, answer.Message)
		require.Contains(t, answer.Message, "another abide records this session", "%T", refused)
	}
	for _, allowed := range []struct {
		method, path string
		body         any
	}{
		{"GET", "", nil}, {"GET", "/events?after_seq=0", nil}, {"GET", "/queue", nil}, {"GET", "/rules", nil},
		{"PATCH", "", map[string]any{"name": "Theirs", "pinned": true, "archived": true}},
	} {
		res := h.api(allowed.method, r.path()+allowed.path, allowed.body)
		require.Equal(t, http.StatusOK, res.status, "%s %s: %s", allowed.method, allowed.path, res.body)
	}
	p.send(&wire.Observe{RequestID: "o", SessionID: id})
	find(p, func(m *wire.EventsLoaded) bool { return m.RequestID == "o" })
	p.reads(mustSession(t, h, id), 2)
	require.EqualValues(t, 2, *h.listed(id, "status=all").ReadSeq, "people may read")

	r.say(event.PermissionOutcome{PermissionID: "q", Outcome: event.OutcomeSelected, OptionID: "yes", By: "them"},
		event.TurnEnd{PromptID: "theirs", StopReason: event.StopEndTurn})
	require.NoError(t, r.recorder.Close())
	h.awaitListed(id, "status=all", "the hub has it", func(s wire.SessionInfo) bool {
		return s.Status == "interrupted" && !mustSession(t, h, id).Log().ReadOnly()
	})
	require.NotContains(t, h.log.String(), "log takes nothing more")
	var res response
	require.Eventually(t, func() bool {
		res = h.api("POST", r.path()+"/prompt", map[string]string{"text": "mine", "prompt_id": "mine"})
		return res.status != http.StatusConflict
	}, patience, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, res.status, res.body)
	line := h.listed(id, "status=all")
	require.True(t, line.Name == "Theirs" && line.Pinned && line.Archived, "%+v", line)
}

func TestTheListFollowsWhatAnotherProcessRecords(t *testing.T) {
	h := startHub(t, hubOptions{})
	r := h.record(event.UserPrompt{PromptID: "theirs", Text: "Clean up the cellar"}, event.TurnStart{PromptID: "theirs"})
	id := r.log.ID()
	h.awaitListed(id, "status=all", "nobody asked for it yet", func(s wire.SessionInfo) bool {
		return s.Name == "Clean up the cellar" && s.Status == "running"
	})
	h.awaitListed(id, "q=cellar", "it is found by its name", func(s wire.SessionInfo) bool { return s.SessionID == id })
	r.say(event.AgentMessage{MessageID: "m", Text: "It is swept."})
	h.awaitListed(id, "status=all", "its last line", func(s wire.SessionInfo) bool { return s.LastLine == "It is swept." })
	r.say(asking("q"))
	h.awaitListed(id, "status=needs_you", "it needs somebody", func(s wire.SessionInfo) bool {
		return s.LastLine == "Allow: Remove the build?"
	})
	require.Equal(t, 200, h.api("PATCH", r.path(), map[string]any{"name": "Mine", "pinned": true}).status)
	before := r.log.Metadata()
	for i := range 5 { // each is news for who follows
		text := strings.Repeat("x", i+1)
		r.say(event.AgentMessage{MessageID: text, Text: event.Text(text)})
		h.awaitListed(id, "status=all", "the next line", func(s wire.SessionInfo) bool {
			require.True(t, s.Name == "Mine" && s.Pinned, "what a person set is forgotten: %+v", s)
			return s.MaxSeq == before.MaxSeq+event.Seq(i)+1
		})
	}
	require.NoError(t, r.recorder.Close())
	h.awaitListed(id, "status=all", "the hub has it", func(s wire.SessionInfo) bool {
		require.True(t, s.Name == "Mine" && s.Pinned, "what a person set is forgotten: %+v", s)
		return s.Status == "interrupted"
	})
	h.stop()
	h = startHub(t, hubOptions{dir: h.dir})
	line := h.listed(id, "status=all")
	require.True(t, line.Name == "Mine" && line.Pinned && line.Status == "interrupted", "%+v", line)
}

func TestWhatWasRecordedWithoutAHubHasLostNoQueue(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	h.stop()
	r := h.record(event.UserPrompt{PromptID: "theirs", Text: "Clean up"}, event.TurnStart{PromptID: "theirs"},
		event.AgentMessage{MessageID: "m", Text: "Done."}, event.TurnEnd{PromptID: "theirs", StopReason: event.StopEndTurn})
	require.NoError(t, r.recorder.Close())
	for range 2 {
		h = startHub(t, hubOptions{dir: dir})
		s := mustSession(t, h, r.log.ID())
		for _, e := range h.events(s) {
			require.NotEqual(t, event.TypeError, e.Type, "%s", e.Data)
		}
		h.awaitListed(s.ID(), "status=all", "its line", func(s wire.SessionInfo) bool { return s.LastLine == "Done." })
		h.stop()
	}
}

func TestADirectoryTakenAwayUnderItsRecorderShowsAndCanBeDeleted(t *testing.T) {
	h := startHub(t, hubOptions{})
	r := h.record(event.UserPrompt{PromptID: "theirs", Text: "Clean up"}, event.TurnStart{PromptID: "theirs"})
	id := r.log.ID()
	h.awaitListed(id, "status=all", "it is followed", func(s wire.SessionInfo) bool { return s.Status == "running" })
	dir, err := h.store.SessionDir(id)
	require.NoError(t, err)
	// In one step: while its files went one by one the recorder would write others.
	require.NoError(t, os.Rename(dir, filepath.Join(t.TempDir(), "away")))
	h.awaitListed(id, "status=all", "it is shown as damaged", func(s wire.SessionInfo) bool { return s.Status == wire.SessionStatus(session.StatusDamaged) })
	require.Contains(t, h.api("GET", "/api/health", nil).body, "directory is gone")
	_ = r.recorder.Close() // it has nothing to write to
	res := h.api("DELETE", r.path(), nil)
	require.Equal(t, http.StatusNoContent, res.status, res.body)
	require.Empty(t, h.listed(id, "status=all").SessionID)
}

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

type apiDoc struct {
	OpenAPI    string `json:"openapi"`
	Paths      map[string]map[string]apiOperation
	Components struct{ Schemas map[string]apiSchema }
}

type apiOperation struct {
	Summary    string
	Parameters []struct {
		Name, In string
		Schema   apiSchema
	}
	RequestBody *struct {
		Content map[string]struct{ Schema apiSchema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema apiSchema }
	}
	Security []map[string][]string
	Scope    string `json:"x-scope"`
}

type apiSchema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]apiSchema
	Required   []string
	Items      *apiSchema
	Enum       []string
}

func readDoc(t *testing.T, h *hub) apiDoc {
	t.Helper()
	res := h.api("GET", "/api/openapi.json", nil)
	require.Equal(t, 200, res.status)
	var doc apiDoc
	require.NoError(t, json.Unmarshal([]byte(res.body), &doc))
	require.Equal(t, "3.1.0", doc.OpenAPI)
	return doc
}

// fits checks a decoded response against a schema. It refuses fields that the
// schema does not have.
func (d apiDoc) fits(s apiSchema, value any, at string) error {
	if s.Ref != "" {
		named, ok := d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		if !ok {
			return fmt.Errorf("%s: %s is not there", at, s.Ref)
		}
		return d.fits(named, value, at)
	}
	ok := true
	switch s.Type {
	case "object":
		object, isObject := value.(map[string]any)
		if !isObject {
			return fmt.Errorf("%s: %T is no object", at, value)
		}
		for _, name := range s.Required {
			if _, there := object[name]; !there {
				return fmt.Errorf("%s: %s is missing", at, name)
			}
		}
		for name, field := range object {
			schema, known := s.Properties[name]
			if !known {
				return fmt.Errorf("%s: %s is not documented", at, name)
			}
			if err := d.fits(schema, field, at+"."+name); err != nil {
				return err
			}
		}
	case "array":
		list, isList := value.([]any)
		if !isList {
			return fmt.Errorf("%s: %T is no array", at, value)
		}
		for i, item := range list {
			if err := d.fits(*s.Items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "string":
		var text string
		if text, ok = value.(string); ok && s.Enum != nil {
			ok = slices.Contains(s.Enum, text)
		}
	case "integer", "number":
		_, ok = value.(float64)
	case "boolean":
		_, ok = value.(bool)
	}
	if !ok {
		return fmt.Errorf("%s: %v is no %v", at, value, s.Type)
	}
	return nil
}

// apiCall is a request that succeeds.
type apiCall struct {
	method, route, path string
	body                any
}

// everyCall has one request for each documented operation, in an order in which all of
// them succeed, and the page that some of them are sent by.
func everyCall(t *testing.T, h *hub) ([]apiCall, *page) {
	t.Helper()
	s := h.session()
	one := "/api/sessions/" + s.ID()
	require.NoError(t, os.WriteFile(filepath.Join(s.Info().Workspace, "a.txt"), []byte("hello"), 0o600))
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "a"}, {"config", "user.email", "a@b"}, {"commit", "-q", "--allow-empty", "-m", "first"},
		{"branch", "side"}, {"commit", "-q", "--allow-empty", "-m", "second"}, {"switch", "-q", "side"},
	} {
		git(t, s.Info().Workspace, args...)
	}
	remote := t.TempDir()
	git(t, remote, "init", "-q", "--bare")
	git(t, s.Info().Workspace, "remote", "add", "origin", "git@github.com:ann/pot.git")
	git(t, s.Info().Workspace, "config", "remote.origin.pushurl", remote)
	now := *h.manager.Settings()
	now.Git = map[string]settings.Git{s.Info().Workspace: {Push: true}}
	require.NoError(t, h.manager.Configure(now))
	h.prompt(s, "p0", "say 3")
	phone := h.page("phone", nil)
	blob, err := s.Log().PutBlobFrom(context.Background(), "text/plain", strings.NewReader("hello"))
	require.NoError(t, err)
	_, err = s.Prompt(context.Background(), session.PromptRequest{PromptID: "asking", Text: "ask"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.State().PendingPermissions) == 1 }, patience, 1e6)
	_, err = s.Prompt(context.Background(), session.PromptRequest{PromptID: "waiting", Text: "hold"})
	require.NoError(t, err)
	rule, err := s.AddRule(context.Background(), state.Rule{Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "read", CreatedBy: "owner"})
	require.NoError(t, err)
	comment, err := s.Comments().Add(state.Comment{CommentID: "c1", FromSeq: 1, Text: "look", By: "ann"}, false)
	require.NoError(t, err)
	doomed := h.session().ID()
	var trashed [2]string
	for i := range trashed {
		trashed[i] = h.session().ID()
		require.NoError(t, h.manager.Trash(context.Background(), trashed[i], event.Actor{Name: "ann"}))
	}
	device := ""
	for _, g := range h.registry.Grants() {
		if g.Name == "phone" {
			device = g.ID
		}
	}
	code, err := h.registry.MintPairingCode()
	require.NoError(t, err)
	_, public := newPageKey(t)
	challenge := phone.challenge()

	recording, err := h.manager.Record(context.Background(), session.CreateRequest{Agent: "other", Workspace: t.TempDir(), Actor: event.Actor{Name: "ann"}})
	require.NoError(t, err)

	// Two interrupted turns: one is resumed, the other dismissed.
	var cut [2]struct {
		path string
		body map[string]string
	}
	for i := range cut {
		failed := h.session()
		cut[i].path = "/api/sessions/" + failed.ID()
		h.prompt(failed, "cut", "fail")
		var offer map[string]any
		h.api("GET", cut[i].path+"/interruption", nil).decode(t, &offer)
		cut[i].body = map[string]string{"interruption_id": offer["interruption_id"].(string)}
	}

	told := newBrowser(t)
	told.as = bearer(h.token)
	told.subscribe(h)
	questions := h.session()
	h.ask(questions, "asked")
	question := told.next()
	for question.SessionID != questions.ID() {
		question = told.next()
	}

	var job wire.JobInfo
	h.api("POST", "/api/jobs", map[string]any{"task": "say hello", "worktree": false}).decode(t, &job)
	_, err = h.manager.Session(context.Background(), job.JobID) // as open as the others
	require.NoError(t, err)

	attempt, _, err := h.manager.CreateJob(context.Background(), session.CreateRequest{Agent: "puppet"}, event.Job{Task: "say hello", Attempts: 2}) // the other is gone
	require.NoError(t, err)
	_, err = h.manager.Session(context.Background(), attempt.SessionID)
	require.NoError(t, err)

	daily := map[string]any{"job": map[string]any{"task": "say hello", "worktree": false}, "cron": "0 3 * * *"}
	var schedule wire.Schedule
	h.api("POST", "/api/schedules", daily).decode(t, &schedule)
	oneSchedule := "/api/schedules/" + schedule.ScheduleID

	joinCode, _, err := h.machines.NewLink()
	require.NoError(t, err)
	laptopCode, _, err := h.machines.NewLink()
	require.NoError(t, err)
	_, laptop, err := h.machines.Join(laptopCode, machines.Joining{ID: "00000000000000bb", Name: "laptop", Allow: machines.AllowRead})
	require.NoError(t, err)
	home := startHub(t, hubOptions{})
	homeCode, _, err := home.machines.NewLink()
	require.NoError(t, err)
	calls := []apiCall{
		{"GET", "/api/schedules", "", nil},
		{"POST", "/api/schedules", "", daily},
		{"GET", "/api/schedules/{schedule}", oneSchedule, nil},
		{"POST", "/api/schedules/{schedule}/pause", oneSchedule + "/pause", nil},
		{"POST", "/api/schedules/{schedule}/resume", oneSchedule + "/resume", nil},
		{"DELETE", "/api/schedules/{schedule}", oneSchedule, nil},
		{"GET", "/api/jobs", "", nil},
		{"GET", "/api/jobs/{id}", "/api/jobs/" + job.JobID, nil},
		{"POST", "/api/jobs", "", map[string]any{"task": "say hello", "policy": map[string]any{"preset": "edit"}, "caps": map[string]any{"rounds": 3}}},
		{"POST", "/api/jobs/start", "", map[string]any{"task": "say hello"}},
		{"POST", "/api/jobs/{id}/cancel", "/api/jobs/" + job.JobID + "/cancel", nil},
		{"POST", "/api/jobs/{id}/retry", "/api/jobs/" + job.JobID + "/retry", nil},
		{"POST", "/api/jobs/{id}/discard-others", "/api/jobs/" + attempt.SessionID + "/discard-others", nil},
		{"GET", "/api/sessions/{id}/interruption", cut[0].path + "/interruption", nil},
		{"POST", "/api/sessions/{id}/resume", cut[0].path + "/resume", cut[0].body},
		{"POST", "/api/sessions/{id}/dismiss", cut[1].path + "/dismiss", cut[1].body},
		{"GET", "/api/ready", "", nil},
		{"GET", "/api/health", "", nil},
		{"GET", "/api/devices", "", nil},
		{"POST", "/api/devices/seen", "", map[string]string{"until": "2026-01-01T00:00:00Z"}},
		{"POST", "/api/pairings", "", nil},
		{"PATCH", "/api/machines/{machine}", "/api/machines/" + laptop.ID, map[string]string{"name": "the laptop"}},
		{"DELETE", "/api/machines/{machine}", "/api/machines/" + laptop.ID, nil},
		{"POST", "/api/home", "", map[string]string{"link": machines.Link(home.origin(), homeCode)}},
		{"DELETE", "/api/home", "", nil},
		{"POST", "/api/machines/links", "", nil},
		{"POST", "/api/machines/join", "", map[string]string{"code": joinCode, "id": "00000000000000aa", "name": "laptop", "allow": "read"}},
		{"GET", "/api/machines", "", nil},
		{"GET", "/api/push", "", nil},
		{"POST", "/api/push/subscriptions", "", browserSubscription()},
		{"POST", "/api/push/subscriptions/{subscription}/test", "/api/push/subscriptions/" + told.id + "/test", nil},
		{"POST", "/api/answer", "", map[string]string{"token": question.Answer.Token, "option_id": "yes"}},
		{"DELETE", "/api/push/subscriptions/{subscription}", "/api/push/subscriptions/" + told.id, nil},
		{"GET", "/api/channels", "", nil},
		{"PUT", "/api/channels/{channel}", "/api/channels/hook", map[string]any{"events": []string{"failed"}}},
		{"POST", "/api/channels/{channel}/test", "/api/channels/hook/test", nil},
		{"GET", "/api/search", "/api/search?q=ask", nil},
		{"GET", "/api/usage", "/api/usage?by=turn", nil},
		{"GET", "/api/audit", "", nil},
		{"GET", "/api/agents", "", nil},
		{"GET", "/api/openapi.json", "", nil},
		{"GET", "/api/sessions", "", nil},
		{"POST", "/api/pair", "", map[string]string{"code": code, "page_key": public}},
		{"POST", "/api/page", "", map[string]string{"challenge": challenge, "signature": phone.sign(h.origin(), challenge)}},
		{"PATCH", "/api/devices/{device}", "/api/devices/" + device, map[string]string{"name": "Phone"}},
		{"DELETE", "/api/devices/{device}", "/api/devices/" + device, nil},
		{"POST", "/api/sessions", "", map[string]string{"name": "x"}},
		{"GET", "/api/sessions/{id}", one, nil},
		{"PATCH", "/api/sessions/{id}", one, map[string]bool{"pinned": true}},
		{"POST", "/api/sessions/{id}/record", "/api/sessions/" + recording.Session.ID() + "/record", map[string]any{"recorder_id": recording.RecorderID}},
		{"POST", "/api/sessions/{id}/record/end", "/api/sessions/" + recording.Session.ID() + "/record/end", map[string]any{"recorder_id": recording.RecorderID}},
		{"POST", "/api/sessions/{id}/end", "/api/sessions/" + doomed + "/end", map[string]string{"reason": "done"}},
		{"DELETE", "/api/sessions/{id}", "/api/sessions/" + doomed, nil},
		{"GET", "/api/sessions/{id}/events", one + "/events", nil},
		{"POST", "/api/import", "", map[string]any{
			"seq": 1, "time": "2026-02-21T14:03:07Z", "type": "session_start",
			"data": map[string]any{"format": 1, "session_id": "20260221-140307-9f3a11c0", "epoch": "0123456789abcdef", "agent": "demo", "workspace": "/src"},
		}},
		{"POST", "/api/sessions/{id}/fork", one + "/fork", map[string]any{"seq": 2}},
		{"GET", "/api/sessions/{id}/export", one + "/export?redact=preview", nil},
		{"POST", "/api/sessions/{id}/export/address", one + "/export/address", nil},
		{"POST", "/api/sessions/{id}/comments", one + "/comments", map[string]any{"from_seq": 1, "text": "why?"}},
		{"GET", "/api/sessions/{id}/comments", one + "/comments", nil},
		{"PATCH", "/api/sessions/{id}/comments/{comment}", one + "/comments/" + comment.CommentID, map[string]any{"resolved": true}},
		{"DELETE", "/api/sessions/{id}/comments/{comment}", one + "/comments/" + comment.CommentID, nil},
		{"GET", "/api/sessions/{id}/overview", one + "/overview", nil},
		{"GET", "/api/sessions/{id}/snapshot", one + "/snapshot", nil},
		{"GET", "/api/sessions/{id}/blobs/{sha256}", one + "/blobs/" + blob.SHA256, nil},
		{"POST", "/api/sessions/{id}/blobs/{sha256}/address", one + "/blobs/" + blob.SHA256 + "/address", nil},
		{"POST", "/api/sessions/{id}/prompt", one + "/prompt", map[string]string{"prompt_id": "p0", "text": "say 3"}},
		{"GET", "/api/sessions/{id}/state", one + "/state", nil},
		{"GET", "/api/sessions/{id}/queue", one + "/queue", nil},
		{"POST", "/api/sessions/{id}/queue", one + "/queue", map[string]string{"text": "later"}},
		{"GET", "/api/sessions/{id}/queue/{prompt}", one + "/queue/waiting", nil},
		{"PATCH", "/api/sessions/{id}/queue/{prompt}", one + "/queue/waiting", map[string]string{"text": "changed"}},
		{"DELETE", "/api/sessions/{id}/queue/{prompt}", one + "/queue/waiting", nil},
		{"DELETE", "/api/sessions/{id}/queue", one + "/queue", nil},
		{"GET", "/api/folders", "", nil},
		{"POST", "/api/folders", "", map[string]string{"path": filepath.Join(s.Info().Workspace, "made")}},
		{"GET", "/api/folder", "/api/folder?path=/", nil},
		{"GET", "/api/agents/setup", "", nil},
		{"GET", "/api/agents/{name}/sessions", "/api/agents/puppet/sessions", nil},
		{"POST", "/api/agents/{name}/adopt", "/api/agents/puppet/adopt", map[string]string{"agent_session_id": "before"}},
		{"POST", "/api/agents", "", map[string]string{"name": "here"}},
		{"POST", "/api/agents/{name}/check", "/api/agents/fake/check", map[string]string{"prompt": "hello"}},
		{"POST", "/api/agents/{name}/login", "/api/agents/fake/login", map[string]string{"method_id": "here"}},
		{"GET", "/api/agents/{name}/login", "/api/agents/fake/login?seen=0", nil},
		{"POST", "/api/agents/{name}/login/input", "/api/agents/fake/login/input", map[string]string{"text": "42"}},
		{"DELETE", "/api/agents/{name}/login", "/api/agents/fake/login", nil},
		{"POST", "/api/agents/{name}/logout", "/api/agents/fake/logout", nil},
		{"POST", "/api/folder/allow", "", map[string]string{"path": "/elsewhere"}},
		{"GET", "/api/sessions/{id}/files", one + "/files", nil},
		{"GET", "/api/sessions/{id}/file", one + "/file?path=a.txt", nil},
		{"GET", "/api/sessions/{id}/complete", one + "/complete?q=a", nil},
		{"GET", "/api/sessions/{id}/changes", one + "/changes", nil},
		{"GET", "/api/sessions/{id}/change", one + "/change?path=a.txt", nil},
		{"GET", "/api/sessions/{id}/branch", one + "/branch", nil},
		{"POST", "/api/sessions/{id}/branch/commit", one + "/branch/commit", map[string]any{"message": "m", "confirm": []string{"turn"}}},
		{"POST", "/api/sessions/{id}/branch/update", one + "/branch/update", map[string]any{"method": "merge", "confirm": []string{"turn"}}},
		{"POST", "/api/sessions/{id}/branch/merge", one + "/branch/merge", map[string]any{"method": "squash", "confirm": []string{"turn"}}},
		{"POST", "/api/sessions/{id}/branch/push", one + "/branch/push", map[string]any{"confirm": []string{"turn"}}},
		{"POST", "/api/sessions/{id}/branch/pull-request", one + "/branch/pull-request", map[string]any{"confirm": []string{"unpushed"}}},
		{"POST", "/api/sessions/{id}/branch/discard", one + "/branch/discard", map[string]any{}},
		{"GET", "/api/sessions/{id}/undo", one + "/undo?turn=1", nil},
		{"GET", "/api/storage", "", nil},
		{"POST", "/api/storage/clean", "", map[string]any{"dry_run": true, "older_than": "0s", "lifecycles": []string{"completed"}}},
		{"GET", "/api/trash", "", nil},
		{"POST", "/api/trash/{id}/restore", "/api/trash/" + trashed[0] + "/restore", nil},
		{"DELETE", "/api/trash/{id}", "/api/trash/" + trashed[1], nil},
		{"GET", "/api/worktrees", "", nil},
		{"POST", "/api/worktrees/prune", "", nil},
		{"POST", "/api/worktrees/remove", "", map[string]any{"folder": "/nowhere"}},
		{"GET", "/api/sessions/{id}/rules", one + "/rules", nil},
		{"POST", "/api/sessions/{id}/rules", one + "/rules", map[string]string{"scope": "session", "effect": "allow", "kind": "read"}},
		{"DELETE", "/api/sessions/{id}/rules/{rule}", one + "/rules/" + rule.ID, nil},
		{"POST", "/api/sessions/{id}/attachments", one + "/attachments?name=a.json", map[string]string{"a": "file"}},
		{"POST", "/api/sessions/{id}/permissions/{permission}", one + "/permissions/perm-1", map[string]string{"option_id": "yes"}},
		{"POST", "/api/sessions/{id}/cancel", one + "/cancel", nil},
		{"POST", "/api/sessions/{id}/force-reset", one + "/force-reset", nil},
		{"POST", "/api/sessions/{id}/authenticate", one + "/authenticate", map[string]string{"method_id": "browser"}},
		{"POST", "/api/sessions/{id}/mode", one + "/mode", map[string]string{"mode_id": "plan"}},
		{"POST", "/api/sessions/{id}/option", one + "/option", map[string]string{"config_id": "model", "value": "big"}},
		{"POST", "/api/sessions/{id}/reopen", one + "/reopen", nil},
		{"POST", "/api/sessions/{id}/restart", one + "/restart", nil},
		{"POST", "/api/sessions/{id}/undo", one + "/undo", map[string]any{"turn": 1, "what": "talk"}},
		{"POST", "/api/sessions/{id}/redo", one + "/redo", map[string]any{}},
		{"POST", "/api/sessions/{id}/pause", one + "/pause", nil},
	}
	for i := range calls {
		if calls[i].path == "" {
			calls[i].path = calls[i].route
		}
	}
	return calls, phone
}

// Every documented operation is called. Status, media type and every field of the
// response must match the document.
func TestEveryAnswerIsAsDocumented(t *testing.T) {
	h := startHub(t, hubOptions{git: newGit(t)})
	doc := readDoc(t, h)
	calls, phone := everyCall(t, h)
	asked := map[string]bool{}
	for _, r := range calls {
		name := r.method + " " + r.route
		asked[name] = true
		op, ok := doc.Paths[r.route][strings.ToLower(r.method)]
		require.True(t, ok, "%s is not documented", name)
		require.NotEmpty(t, op.Summary, name)
		header := bearer(h.token)
		switch {
		case r.route == "/api/pair", r.route == "/api/answer":
			header = map[string][]string{"Origin": {h.origin()}}
		case r.route == "/api/pairings":
			header = phone.header()
			header.Set("Origin", h.origin())
		case r.route == "/api/page":
			header = phone.half()
		case len(op.Security) == 0:
			header = nil
		}
		res := h.do(r.method, r.path, r.body, header)
		if r.route == "/api/worktrees/remove" { // without git there is none, and its success has no body
			require.Equal(t, 404, res.status, res.body)
			continue
		}
		if r.route == "/api/sessions/{id}/branch/discard" { // the session has no copy; its success has no body
			require.Equal(t, 409, res.status, res.body)
			continue
		}
		documented, ok := op.Responses[fmt.Sprint(res.status)]
		require.True(t, ok, "%s answered %d: %s", name, res.status, res.body)
		if len(documented.Content) == 0 {
			require.Empty(t, res.body, name)
			continue
		}
		schema, ok := documented.Content["application/json"]
		if !ok {
			continue // bytes
		}
		require.Equal(t, "application/json", res.header.Get("Content-Type"), name)
		var value any
		require.NoError(t, json.Unmarshal([]byte(res.body), &value))
		for end, kind := range map[string]string{"/events": "events_loaded", "/state": "state"} {
			if frame, ok := value.(map[string]any); ok && strings.HasSuffix(r.route, end) {
				require.Equal(t, kind, frame["type"]) // it is the socket's frame
				delete(frame, "type")
			}
		}
		require.NoError(t, doc.fits(schema.Schema, value, name))
	}
	for path, operations := range doc.Paths {
		for method := range operations {
			if name := strings.ToUpper(method) + " " + path; !strings.HasSuffix(path, "/ws") && path != "/api/machine" && path != "/api/jobs/{id}/events" { // which do not end
				require.True(t, asked[name], "%s is documented, but this test does not call it", name)
			}
		}
	}
}

func TestEveryDocumentedParameterIsInItsPath(t *testing.T) {
	doc := readDoc(t, startHub(t, hubOptions{}))
	for path, operations := range doc.Paths {
		for method, op := range operations {
			var want, got []string
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				want = append(want, m[1])
			}
			for _, p := range op.Parameters {
				if p.In == "path" {
					got = append(got, p.Name)
				}
			}
			require.Equal(t, want, got, "%s %s", method, path)
			require.Contains(t, op.Responses, "default")
		}
	}
}

func TestTheAccessGuideListsEachRouteOfACollaborator(t *testing.T) {
	guide, err := os.ReadFile("../docs/access.md")
	require.NoError(t, err)
	_, row, found := strings.Cut(string(guide), "| `collaborator` |")
	require.True(t, found)
	row, _, _ = strings.Cut(row, "\n")
	var routes []string
	for path, operations := range readDoc(t, startHub(t, hubOptions{})).Paths {
		for method, o := range operations {
			if o.Scope == "collaborator" {
				routes = append(routes, strings.ToUpper(method)+" "+strings.Replace(path, "/api/sessions/{id}", "…", 1))
			}
		}
	}
	var listed []string
	for _, m := range regexp.MustCompile("`([A-Z]+ …[^`]*)`").FindAllStringSubmatch(row, -1) {
		listed = append(listed, m[1])
	}
	require.ElementsMatch(t, routes, listed)
}

package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func (h *hub) rules(s *session.BackgroundSession) []state.Rule {
	h.t.Helper()
	var list struct{ Rules []state.Rule }
	res := h.api("GET", "/api/sessions/"+s.ID()+"/rules", nil)
	require.Equal(h.t, 200, res.status, res.body)
	res.decode(h.t, &list)
	return list.Rules
}

func TestARememberedAnswerAnswersTheSameAgainUntilItIsRevoked(t *testing.T) {
	h := startHub(t, hubOptions{})
	s, other := h.session(), h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	ask := func(id string) {
		p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: id, Text: "ask"})
	}
	ask("p1")
	find(p, func(m *wire.State) bool { return len(m.PendingPermissions) == 1 })
	p.send(&wire.PermissionAnswer{RequestID: "a", SessionID: s.ID(), PermissionID: s.State().PendingPermissions[0], OptionID: "yes", Remember: state.RuleAgent})
	find[*wire.PermissionResolved](p, nil)
	made := h.rules(other)
	require.Len(t, made, 1, "a rule of an agent is missing in another of its sessions")
	require.Equal(t, state.RuleAgent, made[0].Scope)
	require.Equal(t, "owner", made[0].CreatedBy)

	h.await(s, 0, event.TypeTurnEnd) // a frame that says so may have come before the answer
	cursor := s.Log().Marks().Visible
	ask("p2")
	var outcome event.PermissionOutcome
	require.NoError(t, jsonUnmarshal(string(h.await(s, cursor, event.TypePermissionOutcome).Data), &outcome))
	require.Equal(t, made[0].ID, outcome.Rule)
	h.await(s, cursor, event.TypeTurnEnd)

	// The rule is revoked through another session. It must stop applying to the
	// open socket.
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+other.ID()+"/rules/"+made[0].ID, nil).status)
	require.Empty(t, h.rules(s))
	require.Equal(t, 404, h.api("DELETE", "/api/sessions/"+other.ID()+"/rules/"+made[0].ID, nil).status)
	ask("p3")
	find(p, func(m *wire.State) bool { return len(m.PendingPermissions) == 1 })
}

func TestARuleReachesNoFurtherThanItsMakersAccess(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	path := "/api/sessions/" + s.ID()
	one := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()}))
	owns := bearer(h.mint(auth.TokenRequest{Scope: auth.Owner, SessionID: s.ID(), Name: "guest"}))
	everywhere := map[string]string{"scope": "agent", "effect": "allow", "kind": "read"}
	here := map[string]string{"scope": "session", "effect": "allow", "kind": "read"}
	require.Equal(t, 403, h.do("POST", path+"/rules", here, one).status, "a collaborator made a rule")
	require.Equal(t, 403, h.do("POST", path+"/permissions/perm-1", map[string]string{"option_id": "yes", "remember": "session"}, one).status)
	for _, who := range []http.Header{one, owns} {
		require.Equal(t, 403, h.do("POST", path+"/rules", everywhere, who).status)
		require.Equal(t, 403, h.do("POST", path+"/permissions/perm-1", map[string]string{"option_id": "yes", "remember": "agent"}, who).status)
	}
	c := h.dialAs("/api/ws", one)
	c.send(&wire.PermissionAnswer{RequestID: "r", SessionID: s.ID(), PermissionID: "perm-1", OptionID: "yes", Remember: state.RuleAgent})
	require.Equal(t, wire.CodeForbidden, find[*wire.Error](c, nil).Code)
	require.Empty(t, h.rules(s))

	require.Equal(t, 201, h.do("POST", path+"/rules", here, owns).status)
	require.Equal(t, 201, h.api("POST", path+"/rules", everywhere).status)
	list := h.rules(s)
	require.Len(t, list, 2)
	require.Equal(t, "guest", list[0].CreatedBy, "rules of the session must come first")
	require.Equal(t, 403, h.do("DELETE", path+"/rules/"+list[1].ID, nil, owns).status)
	require.Equal(t, 403, h.do("DELETE", path+"/rules/"+list[0].ID, nil, one).status, "a collaborator revoked a rule")
	require.Equal(t, 204, h.do("DELETE", path+"/rules/"+list[0].ID, nil, owns).status)
	noted := 0
	for _, e := range h.events(s) {
		if e.Type == event.TypeNote && strings.Contains(string(e.Data), `"actor":"guest"`) {
			noted++
		}
	}
	require.Equal(t, 2, noted, "a rule event without its actor")

	for _, bad := range []map[string]string{
		{}, {"scope": "session", "effect": "allow"}, {"scope": "hub", "effect": "allow", "kind": "read"},
		{"scope": "session", "effect": "perhaps", "kind": "read"},
		{"scope": "session", "effect": "allow", "kind": "read", "permission_id": "perm-1"},
	} {
		require.Equal(t, 400, h.api("POST", path+"/rules", bad).status, bad)
	}
	require.Equal(t, 404, h.api("POST", path+"/rules", map[string]string{"scope": "session", "effect": "allow", "permission_id": "perm-9"}).status)
}

func TestARuleIsMadeLikeAnOpenRequest(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p1", Text: "ask"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.State().PendingPermissions) == 1 }, patience, time.Millisecond)
	res := h.api("POST", "/api/sessions/"+s.ID()+"/rules", map[string]string{
		"scope": "session", "effect": "allow", "permission_id": s.State().PendingPermissions[0]})
	require.Equal(t, 201, res.status, res.body)
	require.NotEmpty(t, h.rules(s)[0].Subject)
}

func TestARestartClosesTheTurnAndNeverSendsItAgain(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "held", Text: "hold"})
	h.await(s, 0, event.TypeTurnStart)
	p.send(&wire.RestartAgent{RequestID: "x", SessionID: s.ID()})
	end := h.await(s, 0, event.TypeTurnEnd)
	require.Contains(t, string(end.Data), "interrupted")
	h.await(s, end.Seq, event.TypeAgentStarted)
	find(p, func(m *wire.State) bool { return m.Turn.State == state.TurnIdle && m.Agent.Status == state.AgentReady })
	require.Equal(t, 202, h.api("POST", "/api/sessions/"+s.ID()+"/restart", nil).status)
	h.prompt(s, "next", "hi")
	turns := 0
	for _, e := range h.events(s) {
		if e.Type == event.TypeTurnStart {
			turns++
		}
	}
	require.Equal(t, 2, turns)
}

// demanding is an agent that works only once it was logged in by "browser".
func demanding(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	if spec.AuthMethod != "browser" {
		return nil, &session.LoginNeeded{
			Methods: []session.AuthMethod{{MethodID: "browser", Name: "Browser", Command: []string{"puppet", "login"}}},
			Err:     io.ErrNoProgress,
		}
	}
	return startPuppet(ctx, spec, sink)
}

func TestAnAgentThatDemandsALoginSaysHowAndWorksAfterIt(t *testing.T) {
	h := startHub(t, hubOptions{start: demanding})
	s := h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "hi"})
	failed := find(p, func(m *wire.State) bool { return m.Agent.Status == state.AgentFailed })
	require.Equal(t, []wire.AuthMethod{{MethodID: "browser", Name: "Browser", Command: []string{"puppet", "login"}}}, failed.Agent.AuthMethods)
	p.send(&wire.Authenticate{RequestID: "a1", SessionID: s.ID(), MethodID: "stars"})
	refused := find[*wire.Error](p, nil)
	require.Equal(t, "a1", refused.RequestID)
	require.Equal(t, wire.CodeInvalid, refused.Code)
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+s.ID()+"/authenticate", map[string]string{"method_id": "browser"}).status)
	find(p, func(m *wire.State) bool { return m.Agent.Status == state.AgentReady && len(m.Agent.AuthMethods) == 0 })
	h.prompt(s, "p2", "hi")
}

// upload posts bytes as they are.
func (h *hub) upload(s *session.BackgroundSession, query, kind string, body io.Reader) response {
	h.t.Helper()
	req, err := http.NewRequest("POST", h.origin()+"/api/sessions/"+s.ID()+"/attachments?"+query, body)
	require.NoError(h.t, err)
	req.Header = bearer(h.token)
	req.Header.Set("Content-Type", kind)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return response{res.StatusCode, res.Header, string(data)}
}

func TestAnAttachmentIsStoredUnderASafeNameAndGoesWithAPrompt(t *testing.T) {
	h := startHub(t, hubOptions{})
	s, other := h.session(), h.session()
	svg := `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	var first, second event.Attachment
	res := h.upload(s, "name=..%2F..%2Fetc%2Fpass%00wd%0A.svg", "image/svg+xml", strings.NewReader(svg))
	require.Equal(t, 201, res.status, res.body)
	res.decode(t, &first)
	require.Equal(t, "pass_wd_.svg", first.Name)
	require.Equal(t, int64(len(svg)), first.Bytes)
	h.upload(s, "", "image/svg+xml", io.MultiReader(strings.NewReader(svg))).decode(t, &second)
	require.Equal(t, first.SHA256, second.SHA256)
	require.Equal(t, "attachment", second.Name)

	got := h.api("GET", "/api/sessions/"+s.ID()+"/blobs/"+first.SHA256, nil)
	require.Equal(t, svg, got.body)
	require.Contains(t, got.header.Get("Content-Disposition"), "attachment")
	require.NotContains(t, got.header.Get("Content-Type"), "svg")

	ask := func(s *session.BackgroundSession, id string, a event.Attachment) response {
		return h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{"prompt_id": id, "text": "look", "attachments": []event.Attachment{a}})
	}
	require.Equal(t, 200, ask(s, "p1", first).status)
	require.Contains(t, string(h.await(s, 0, event.TypeUserPrompt).Data), first.SHA256)
	require.Equal(t, 400, ask(other, "p1", first).status, "it is of another session")
	require.Equal(t, 400, ask(s, "p2", event.Attachment{Name: "x", SHA256: strings.Repeat("0", 64)}).status)
	require.Equal(t, 400, ask(s, "p3", event.Attachment{Name: "x", SHA256: "../../secret"}).status)
}

func TestAnAttachmentBeyondTheCapIsRefused(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	big := make([]byte, 25<<20+1)
	for _, body := range []io.Reader{bytes.NewReader(big), io.MultiReader(bytes.NewReader(big))} { // said, and not said
		res := h.upload(s, "name=big", "application/pdf", body)
		require.Equal(t, 413, res.status)
		require.Equal(t, "too_large", res.code(t))
	}
	require.Equal(t, 201, h.upload(s, "name=fits", "application/pdf", bytes.NewReader(big[1:])).status)
	require.Equal(t, 400, h.upload(s, "name=none", "text/plain", strings.NewReader("")).status)
	require.Equal(t, 400, h.upload(s, "name="+strings.Repeat("x", 2000), "text/plain", strings.NewReader("x")).status)
	require.Equal(t, 400, h.upload(s, "name=form", "multipart/form-data; boundary=x", strings.NewReader("x")).status)
}

func TestAScheduledPromptWaitsForItsTimeAlsoOverARestartOfTheHub(t *testing.T) {
	t.Parallel() // it waits for the prompt's time
	h := startHub(t, hubOptions{})
	s := h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	due := time.Now().Add(3 * time.Second)
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "later", Text: "hi", ScheduledAt: &due})
	find[*wire.PromptQueued](p, nil)
	h.stop()
	again := startHub(t, hubOptions{dir: h.dir})
	back := time.Now()
	woken, err := again.manager.Session(context.Background(), s.ID())
	require.NoError(t, err)
	prompt := again.await(woken, 0, event.TypeUserPrompt)
	require.False(t, prompt.Time.Before(due.Add(-time.Millisecond)), "not before its time")
	if back.Before(due) {
		back = due
	}
	require.WithinDuration(t, back, prompt.Time, patience/3)
}

func TestAnAckBeyondTheLogIsInvalidAndTheSocketLives(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	expect[*wire.EventsLoaded](p)
	p.send(&wire.Ack{SessionID: s.ID(), Seq: 1 << 60, Visible: true})
	require.Equal(t, wire.CodeInvalid, find[*wire.Error](p, nil).Code)
	p.send(&wire.Ack{SessionID: s.ID(), Seq: 1, Visible: true})
	find(p, func(m *wire.State) bool { return len(m.Observers) == 1 && m.Observers[0].Seq == 1 })
}

// ruled is a session with a rule of the credential that answers "make".
func (h *hub) ruled(by string, scope state.RuleScope) *session.BackgroundSession {
	h.t.Helper()
	s := h.session()
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "rule", Text: "ask"})
	require.NoError(h.t, err)
	h.await(s, 0, event.TypePermissionRequest)
	res := h.do("POST", "/api/sessions/"+s.ID()+"/permissions/perm-1", map[string]string{"option_id": "yes", "remember": string(scope)}, bearer(by))
	require.Equal(h.t, 200, res.status, res.body)
	require.Eventually(h.t, func() bool { return s.State().Turn.State == session.TurnIdle }, patience, time.Millisecond)
	return s
}

// answered asks the same again and reports whether a rule answered it.
func (h *hub) answered(s *session.BackgroundSession, id string) bool {
	h.t.Helper()
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: id, Text: "ask"})
	require.NoError(h.t, err)
	require.Eventually(h.t, func() bool {
		return len(s.State().PendingPermissions) == 1 || s.State().Turn.State == session.TurnIdle
	}, patience, time.Millisecond)
	if len(s.State().PendingPermissions) == 0 {
		return true
	}
	require.Equal(h.t, 200, h.api("POST", "/api/sessions/"+s.ID()+"/permissions/"+s.State().PendingPermissions[0], map[string]string{"option_id": "yes"}).status)
	require.Eventually(h.t, func() bool { return s.State().Turn.State == session.TurnIdle }, patience, time.Millisecond)
	return false
}

func TestARuleIsSuspendedWhenItsMakersCredentialEnds(t *testing.T) {
	for name, test := range map[string]struct {
		scope state.RuleScope
		end   func(h *hub, id string, later func())
	}{
		"revoked, rule of the session": {state.RuleSession, func(h *hub, id string, _ func()) {
			require.Equal(h.t, 204, h.api("DELETE", "/api/devices/"+id, nil).status)
		}},
		"revoked, rule of the agent": {state.RuleAgent, func(h *hub, id string, _ func()) {
			require.Equal(h.t, 204, h.api("DELETE", "/api/devices/"+id, nil).status)
		}},
		"expired":               {state.RuleSession, func(_ *hub, _ string, later func()) { later() }},
		"may no longer manage":  {state.RuleSession, func(h *hub, _ string, _ func()) { h.narrow("maker", auth.Viewer, "") }},
		"owner of another only": {state.RuleSession, func(h *hub, _ string, _ func()) { h.narrow("maker", auth.Owner, "20260221-140307-9f3a11c0") }},
	} {
		t.Run(name, func(t *testing.T) {
			var ahead atomic.Int64
			h := startHub(t, hubOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
			maker := h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "maker", Life: time.Hour})
			h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "maker"}) // of the same name
			id := h.idOf(maker)
			s := h.ruled(maker, test.scope)
			require.True(t, h.answered(s, "before"))
			require.False(t, h.rules(s)[0].Suspended)

			test.end(h, id, func() { ahead.Store(int64(2 * time.Hour)) })
			require.True(t, h.rules(s)[0].Suspended)
			require.False(t, h.answered(s, "after"), "a rule answered for a credential that has ended")
			require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+s.ID()+"/rules/"+h.rules(s)[0].ID, nil).status)
			for _, e := range h.events(s) {
				require.NotContains(t, string(e.Data), "suspended", "how a rule stands now is no part of the log")
			}
		})
	}
}

func TestARuleOfTheCommandLineOutlivesItsShortCredential(t *testing.T) {
	var ahead atomic.Int64
	h := startHub(t, hubOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	local := h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "command line", Life: time.Hour, Holder: auth.LocalHolder(1000)})
	s := h.ruled(local, state.RuleSession)
	require.Equal(t, "uid:1000", h.rules(s)[0].CreatedByID)
	ahead.Store(int64(2 * time.Hour))
	require.True(t, h.answered(s, "later"))
}

// Rules of earlier versions have no id.
func TestARuleWithoutAnIDGoesByItsMakersName(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	_, err := s.AddRule(t.Context(), state.Rule{Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "read", CreatedBy: "old phone"})
	require.NoError(t, err)
	require.True(t, h.rules(s)[0].Suspended)
	h.mint(auth.TokenRequest{Scope: auth.Viewer, Name: "old phone", SessionID: s.ID()})
	require.True(t, h.rules(s)[0].Suspended, "one of that name who may make no rule")
	h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "old phone"})
	require.False(t, h.rules(s)[0].Suspended)
}

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

func jsonUnmarshal(s string, to any) error { return json.Unmarshal([]byte(s), to) }

// Fault 31.
func TestAPromptWhoseAnswerWasLostIsSentAgainAndRunsOnce(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	var seqs []event.Seq
	for range 3 { // each on a new socket
		p := h.dial("/api/ws")
		p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "hi"})
		received := find[*wire.PromptReceived](p, nil)
		require.Equal(t, "p1", received.PromptID)
		require.Equal(t, "r", received.RequestID)
		seqs = append(seqs, received.Seq)
	}
	var answer struct {
		PromptID string `json:"prompt_id"`
		Outcome  string
		Seq      event.Seq
	}
	h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{"prompt_id": "p1", "text": "hi"}).decode(t, &answer)
	require.Equal(t, "received", answer.Outcome)
	require.Equal(t, []event.Seq{answer.Seq, answer.Seq, answer.Seq}, seqs)
	h.await(s, 0, event.TypeTurnEnd)
	prompts := 0
	for _, e := range h.events(s) {
		if e.Type == event.TypeUserPrompt {
			prompts++
		}
	}
	require.Equal(t, 1, prompts)
}

// Fault 32.
func TestTheSamePromptIDWithAnotherTextIsAConflict(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "hi")
	p := h.dial("/api/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "ho"})
	require.Equal(t, wire.CodeConflict, find[*wire.Error](p, nil).Code)
	require.Equal(t, 409, h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{"prompt_id": "p1", "text": "ho"}).status)
}

// Fault 33.
func TestTwoClientsAnswerAndTheFirstWins(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	a := h.dial("/api/sessions/" + s.ID() + "/ws")
	b := h.dialAs("/api/sessions/"+s.ID()+"/ws", bearer(h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "second"})))
	a.send(&wire.Prompt{RequestID: "r0", SessionID: s.ID(), PromptID: "p1", Text: "ask"})
	for _, p := range []*peer{a, b} {
		pending := find(p, func(m *wire.State) bool { return len(m.PendingPermissions) > 0 })
		require.Equal(t, []string{"perm-1"}, pending.PendingPermissions)
	}
	answer := &wire.PermissionAnswer{RequestID: "r1", SessionID: s.ID(), PermissionID: "perm-1", OptionID: "yes"}
	a.send(answer)
	won := find[*wire.PermissionResolved](a, nil)
	require.NotEmpty(t, won.ByID)
	require.Equal(t, wire.PermissionResolved{
		RequestID: "r1", SessionID: s.ID(), PermissionID: "perm-1", Outcome: event.OutcomeSelected, OptionID: "yes", By: "owner", ByID: won.ByID,
	}, *won)

	b.send(&wire.PermissionAnswer{RequestID: "r2", SessionID: s.ID(), PermissionID: "perm-1", OptionID: "no"})
	lost := find[*wire.Error](b, nil)
	require.Equal(t, wire.CodeAlreadyResolved, lost.Code)
	require.Equal(t, "yes", lost.Winner.OptionID)
	require.Equal(t, "owner", lost.Winner.By)

	again := h.dial("/api/ws") // the first client, after its socket broke
	again.send(answer)
	require.Equal(t, "yes", find[*wire.PermissionResolved](again, nil).OptionID)
	res := h.do("POST", "/api/sessions/"+s.ID()+"/permissions/perm-1", map[string]string{"option_id": "yes"}, bearer(h.mint(auth.TokenRequest{Scope: auth.Owner})))
	require.Equal(t, 409, res.status)
	require.Equal(t, "already_resolved", res.code(t))

	outcomes := 0
	for _, e := range h.events(s) {
		if e.Type == event.TypePermissionOutcome {
			outcomes++
		}
	}
	require.Equal(t, 1, outcomes)
}

// Fault 34.
func TestAnAnswerToNothingThatIsOpenIsRefused(t *testing.T) {
	h := startHub(t, hubOptions{})
	s, other := h.session(), h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.Prompt{RequestID: "r0", SessionID: s.ID(), PromptID: "p1", Text: "ask"})
	find(p, func(m *wire.State) bool { return len(m.PendingPermissions) > 0 })
	for _, c := range []struct {
		m    wire.PermissionAnswer
		want wire.Code
	}{
		{wire.PermissionAnswer{SessionID: s.ID(), PermissionID: "perm-9", OptionID: "yes"}, wire.CodeNotFound},
		{wire.PermissionAnswer{SessionID: s.ID(), OptionID: "yes"}, wire.CodeNotFound},
		{wire.PermissionAnswer{SessionID: other.ID(), PermissionID: "perm-1", OptionID: "yes"}, wire.CodeNotFound},
		{wire.PermissionAnswer{SessionID: s.ID(), PermissionID: "perm-1", OptionID: "always"}, wire.CodeInvalid},
	} {
		p.send(&c.m)
		require.Equal(t, c.want, find[*wire.Error](p, nil).Code)
	}
	require.Equal(t, []string{"perm-1"}, s.State().PendingPermissions)
}

func TestTheQueueOverTheSocketAndOverHTTP(t *testing.T) {
	h := startHub(t, hubOptions{queue: settings.Queue{MaxSize: 3}})
	s := h.session()
	path := "/api/sessions/" + s.ID() + "/queue"
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "held", Text: "hold"})
	find[*wire.PromptReceived](p, nil)
	for i := range 3 {
		p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: fmt.Sprintf("q%d", i), Text: fmt.Sprintf("text %d", i)})
		require.Equal(t, i, find[*wire.PromptQueued](p, nil).Position)
	}
	full := h.api("POST", path, map[string]any{"text": "one too many"})
	require.Equal(t, 409, full.status, full.body)

	queued := func(want ...string) {
		t.Helper()
		var list struct {
			Queue []wire.QueueItem `json:"queue"`
		}
		h.api("GET", path, nil).decode(t, &list)
		got := []string{}
		for _, item := range list.Queue {
			got = append(got, item.PromptID+" "+item.Text)
		}
		require.Equal(t, want, got)
	}
	queued("q0 text 0", "q1 text 1", "q2 text 2")
	require.Equal(t, 200, h.api("PATCH", path+"/q2", map[string]any{"text": "changed", "position": 0}).status)
	queued("q2 changed", "q0 text 0", "q1 text 1")
	for _, refused := range []map[string]any{
		{"text": "half done", "position": -3},
		{"text": "  ", "position": 2, "scheduled_at": "2099-01-01T00:00:00Z"},
		{"text": "half done", "scheduled_at": "tomorrow"},
	} {
		require.Equal(t, 400, h.api("PATCH", path+"/q2", refused).status)
		queued("q2 changed", "q0 text 0", "q1 text 1")
		require.NotContains(t, h.api("GET", path+"/q2", nil).body, "scheduled_at")
	}
	p.send(&wire.QueueMove{SessionID: s.ID(), PromptID: "q2", Position: 1})
	p.send(&wire.QueueEdit{SessionID: s.ID(), PromptID: "q0", Text: "edited"})
	p.send(&wire.QueueRemove{SessionID: s.ID(), PromptID: "q1"})
	find(p, func(m *wire.State) bool { return len(m.Queue) == 2 })
	queued("q0 edited", "q2 changed")
	require.Equal(t, 204, h.api("DELETE", path+"/q0", nil).status)
	require.Equal(t, 404, h.api("DELETE", path+"/q0", nil).status)
	require.Equal(t, 404, h.api("GET", path+"/q0", nil).status)
	require.Contains(t, h.api("GET", path+"/q2", nil).body, `"changed"`)
	resent := h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{"prompt_id": "q0", "text": "text 0"})
	require.Contains(t, resent.body, `"outcome":"removed"`)

	added := h.api("POST", path, map[string]any{"prompt_id": "with space/slash", "text": "odd id", "scheduled_at": "2099-01-01T00:00:00Z"})
	require.Equal(t, 202, added.status, added.body)
	require.Contains(t, h.api("GET", path+"/with%20space%2Fslash", nil).body, `2099`)
	require.NotContains(t, h.api("PATCH", path+"/with%20space%2Fslash", map[string]any{"scheduled_at": nil}).body, "2099")
	p.send(&wire.QueueClear{SessionID: s.ID()})
	find(p, func(m *wire.State) bool { return len(m.Queue) == 0 })

	require.Equal(t, 204, h.api("POST", "/api/sessions/"+s.ID()+"/cancel", nil).status)
	find(p, func(m *wire.State) bool { return m.Turn.State == state.TurnIdle })
}

func TestAPromptsIdIsSaidOnceOrTheSameInBothPlaces(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	ask := func(key string) response {
		return h.do("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{"prompt_id": "p1", "text": "hold"},
			http.Header{"Authorization": {"Bearer " + h.token}, "Idempotency-Key": {key}})
	}
	refused := ask("p2")
	require.Equal(t, 400, refused.status, refused.body)
	require.Contains(t, refused.body, "Idempotency-Key")
	require.Empty(t, h.events(s)[1:], "a prompt was logged")
	require.Equal(t, 200, ask("p1").status)
}

func TestATimeThatIsNoneIsNamed(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for _, at := range []any{"tomorrow", 12, "2026-02-30T00:00:00Z"} {
		res := h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{"text": "x", "scheduled_at": at})
		require.Equal(t, 400, res.status)
		require.Contains(t, res.body, "scheduled_at is not a time")
	}
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.sendRaw(`{"type":"prompt","request_id":"r","session_id":"` + s.ID() + `","prompt_id":"p","text":"x","scheduled_at":"tomorrow"}`)
	require.Contains(t, find[*wire.Error](p, nil).Message, "scheduled_at is not a time")
}

func TestOthersSeeWhoWatches(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	a := h.dial("/api/sessions/" + s.ID() + "/ws")
	b := h.dialAs("/api/sessions/"+s.ID()+"/ws", bearer(h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "phone"})))
	sees := func(fits func(o wire.Observer) bool) {
		t.Helper()
		find(a, func(m *wire.State) bool {
			for _, o := range m.Observers {
				if o.Actor == "phone" && fits(o) {
					return true
				}
			}
			return false
		})
	}
	sees(func(o wire.Observer) bool { return o.Activity == "viewing" })
	b.send(&wire.Presence{SessionID: s.ID(), Activity: "typing"})
	sees(func(o wire.Observer) bool { return o.Activity == "typing" })
	b.send(&wire.Ack{SessionID: s.ID(), Seq: 1, Visible: false})
	sees(func(o wire.Observer) bool { return o.Activity == "away" && o.Seq == 1 })
	b.conn.CloseNow()
	find(a, func(m *wire.State) bool { return len(m.Observers) == 1 })
}

func TestModesAreForOwners(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.SetMode{RequestID: "r", SessionID: s.ID(), ModeID: "plan"})
	find(p, func(m *wire.State) bool { return m.Mode != nil && m.Mode.ModeID == "plan" })
	c := h.dialAs("/api/ws", bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})))
	c.send(&wire.SetMode{RequestID: "r", SessionID: s.ID(), ModeID: "yolo"})
	require.Equal(t, wire.CodeForbidden, find[*wire.Error](c, nil).Code)
	c.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p", Text: "hi"})
	find[*wire.PromptReceived](c, nil)
}

func TestACreationThatIsSentAgainMakesOneSessionAndOnePrompt(t *testing.T) {
	h := startHub(t, hubOptions{})
	header := http.Header{"Authorization": {"Bearer " + h.token}, "Idempotency-Key": {"make-1"}}
	var first, second wire.SessionInfo
	body := map[string]string{"prompt": "Say hi"}
	h.do("POST", "/api/sessions", body, header).decode(t, &first)
	h.do("POST", "/api/sessions", body, header).decode(t, &second)
	require.Equal(t, first.SessionID, second.SessionID)

	refused := h.api("POST", "/api/sessions", map[string]string{"prompt": "  "})
	require.Equal(t, 400, refused.status, refused.body)
	var list wire.SessionPage
	h.api("GET", "/api/sessions", nil).decode(t, &list)
	require.Len(t, list.Sessions, 1, "a refused creation left a session behind")
}

func TestASessionIsEndedOverHTTP(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	end := func(body any) response { return h.api("POST", "/api/sessions/"+s.ID()+"/end", body) }
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "held", Text: "hold"})
	require.NoError(t, err)
	res := end(nil)
	require.Equal(t, 409, res.status, "a turn is open")
	require.Equal(t, "conflict", res.code(t))
	require.NoError(t, s.Cancel(context.Background(), event.Actor{Name: "ann"}))
	h.await(s, 0, event.TypeTurnEnd)
	var info wire.SessionInfo
	res = end(map[string]string{"reason": "merged"})
	require.Equal(t, 200, res.status, res.body)
	res.decode(t, &info)
	require.Equal(t, state.StatusEnded, info.Status)
	var ended event.SessionEnd
	require.NoError(t, json.Unmarshal(h.await(s, 0, event.TypeSessionEnd).Data, &ended))
	require.Equal(t, "merged", ended.Reason)
	require.Equal(t, "owner", ended.By)
	require.NotEmpty(t, ended.ByID)
	require.Equal(t, 400, end(map[string]string{"reason": strings.Repeat("x", 2000)}).status)
}

func TestACollaboratorLeavesPlacesOfTheQueueForTheOwner(t *testing.T) {
	for size, guests := range map[int]int{1: 0, 2: 1, 5: 4, 10: 8} {
		h := startHub(t, hubOptions{queue: settings.Queue{MaxSize: size}})
		s := h.session()
		send := func(token, id string) int {
			header := bearer(token)
			header.Set("Idempotency-Key", id)
			return h.do("POST", "/api/sessions/"+s.ID()+"/queue", map[string]any{"text": "later"}, header).status
		}
		p := h.dial("/api/sessions/" + s.ID() + "/ws")
		p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "ask"})
		find(p, func(m *wire.State) bool { return len(m.PendingPermissions) == 1 }) // the session is busy
		guest := h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})
		p2 := h.dialAs("/api/sessions/"+s.ID()+"/ws", bearer(guest))
		for i := range size {
			want := 202
			if i >= guests {
				want = 409
			}
			require.Equal(t, want, send(guest, fmt.Sprint("guest ", i)), "prompt %d of %d", i, size)
		}
		p2.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "over a socket", Text: "later"})
		require.Equal(t, wire.CodeConflict, find[*wire.Error](p2, nil).Code)
		for i := range size - guests {
			require.Equal(t, 202, send(h.token, fmt.Sprint("owner ", i)), "of %d", size)
		}
		require.Equal(t, 409, send(h.token, "one more"))
	}
}

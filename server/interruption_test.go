package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func TestACutOffTurnIsOfferedAndResumedOnceOverHTTP(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	path := "/api/sessions/" + s.ID()
	require.Equal(t, 404, h.api("GET", path+"/interruption", nil).status)
	h.prompt(s, "p1", "fail")

	var offer map[string]any
	h.api("GET", path+"/interruption", nil).decode(t, &offer)
	require.Equal(t, string(event.CutProviderError), offer["reason"])
	require.Equal(t, string(event.PhaseStreaming), offer["phase"])
	require.Contains(t, offer["prompt"], "the model's provider failed")
	require.Len(t, offer["ways"], 3)
	require.Equal(t, []any{}, offer["mismatch"])

	id := offer["interruption_id"].(string)
	require.Equal(t, 400, h.api("POST", path+"/resume", map[string]any{"interruption_id": id, "way": "sideways"}).status)
	require.Equal(t, 404, h.api("POST", path+"/dismiss", map[string]any{"interruption_id": "i0"}).status)
	var resumed struct {
		PromptID string `json:"prompt_id"`
		Way      string `json:"way"`
	}
	res := h.api("POST", path+"/resume", map[string]any{"interruption_id": id, "prompt": "say 1"})
	require.Equal(t, 202, res.status)
	res.decode(t, &resumed)
	require.Equal(t, "server", resumed.Way)
	require.Equal(t, "resume-"+id, resumed.PromptID)

	for _, verb := range []string{"/resume", "/dismiss"} {
		late := h.api("POST", path+verb, map[string]any{"interruption_id": id})
		require.Equal(t, 409, late.status)
		var answer struct {
			Error struct {
				Code, Message string
				Winner        struct {
					Outcome, By, At string
					ByID            string `json:"by_id"`
				}
			}
		}
		late.decode(t, &answer)
		require.Equal(t, "already_resolved", answer.Error.Code)
		require.Equal(t, "resumed", answer.Error.Winner.Outcome)
		require.NotEmpty(t, answer.Error.Winner.ByID)
	}
	require.Equal(t, 404, h.api("GET", path+"/interruption", nil).status)
}

func TestASocketResumesAndTheOthersHearWhoDid(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	path := "/api/sessions/" + s.ID()
	h.prompt(s, "p1", "fail")
	var offer wire.Offer
	h.api("GET", path+"/interruption", nil).decode(t, &offer)
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.ResumeTurn{RequestID: "r1", SessionID: s.ID(), Resume: wire.Resume{InterruptionID: offer.InterruptionID, Prompt: "say 1"}})
	require.Eventually(t, func() bool { return h.api("GET", path+"/interruption", nil).status == 404 }, patience, patience/1000)
	p.send(&wire.DismissTurn{RequestID: "r2", SessionID: s.ID(), Dismiss: wire.Dismiss{InterruptionID: offer.InterruptionID}})
	refused := find[*wire.Error](p, func(m *wire.Error) bool { return m.RequestID == "r2" })
	require.Equal(t, wire.CodeAlreadyResolved, refused.Code)
	require.NotNil(t, refused.Winner)
	require.Equal(t, string(event.SettledResumed), refused.Winner.Outcome)
	require.NotEmpty(t, refused.Winner.ByID)
	require.NotNil(t, refused.Winner.At)
	over := h.api("POST", path+"/dismiss", map[string]any{"interruption_id": offer.InterruptionID})
	var answer wire.Refused
	require.NoError(t, jsonUnmarshal(over.body, &answer))
	require.Equal(t, answer.Error.Winner, refused.Winner, "the socket tells it as HTTP does")
}

// A viewer reads one session, and no files of its workspace.
func TestAViewerIsToldNeitherChangedFilesNorTheHubsCounts(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "fail")
	path := "/api/sessions/" + s.ID()
	for scope, all := range map[auth.Scope]bool{auth.Viewer: false, auth.Collaborator: true} {
		token := http.Header{"Authorization": {"Bearer " + h.mint(auth.TokenRequest{Scope: scope, SessionID: s.ID(), Name: string(scope)})}}
		var offer wire.Offer
		require.NoError(t, jsonUnmarshal(h.do("GET", path+"/interruption", nil, token).body, &offer))
		require.NotEmpty(t, offer.InterruptionID)
		require.Equal(t, all, offer.Prompt != "", scope)
		health := h.do("GET", "/api/health", nil, token).body
		require.Contains(t, health, `"status":"ok"`)
		for _, counts := range []string{"clients", "ignored_messages", "notifications", "interruptions"} {
			require.NotContains(t, health, counts, scope)
		}
	}
	owner := h.api("GET", "/api/health", nil).body
	for _, counts := range []string{"notifications", "interruptions"} {
		require.Contains(t, owner, counts)
	}
}

func TestHealthCountsWhatBecameOfTurnsThatWereCutOff(t *testing.T) {
	h := startHub(t, hubOptions{})
	for n, settle := range []func(path, id string){
		func(path, id string) {
			res := h.api("POST", path+"/resume", map[string]any{"interruption_id": id, "prompt": "say 1"})
			require.Equal(t, 202, res.status)
		},
		func(path, id string) {
			require.Equal(t, 204, h.api("POST", path+"/dismiss", map[string]any{"interruption_id": id}).status)
		},
		func(path, _ string) {
			res := h.api("POST", path+"/prompt", map[string]any{"prompt_id": "p2", "text": "say 2"})
			require.Equal(t, 200, res.status, res.body)
		},
	} {
		s := h.session()
		h.prompt(s, "p1", "fail")
		var offer wire.Offer
		path := "/api/sessions/" + s.ID()
		h.api("GET", path+"/interruption", nil).decode(t, &offer)
		settle(path, offer.InterruptionID)
		h.await(s, 0, event.TypeInterruptionSettled)
		var health struct{ Interruptions wire.ResumeCounts }
		counts := &health.Interruptions
		require.Eventually(t, func() bool { // the list's metadata follow the log
			require.NoError(t, jsonUnmarshal(h.api("GET", "/api/health", nil).body, &health))
			return counts.Resumed[event.PhaseStreaming][event.WayServer]+counts.Dismissed+counts.Superseded == n+1
		}, patience, time.Millisecond)
		require.Equal(t, map[event.TurnPhase]int{event.PhaseStreaming: n + 1}, counts.Interrupted)
		require.Equal(t, 1, counts.Resumed[event.PhaseStreaming][event.WayServer])
		require.Equal(t, []int{min(n, 1), n / 2, 0}, []int{counts.Dismissed, counts.Superseded, counts.Failed})
		require.GreaterOrEqual(t, counts.MedianMS, int64(0))
		require.Less(t, counts.MedianMS, patience.Milliseconds())
	}
}

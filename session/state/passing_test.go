package state_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestOnlyAnErrorThatPassesIsTriedAgain(t *testing.T) {
	for words, want := range map[string]bool{
		`{"message": "Internal error: API Error: Request rejected (429) · Rate limit reached for requests", "data": {"errorKind": "rate_limit"}}`: true,
		`{"message": "Internal error: API Error: 529 Overloaded.", "data": {"errorKind": "overloaded"}}`:                                          true,
		`{"message": "Internal error: Rate limit reached for requests", "data": {"errorName": "APIError"}}`:                                       true,
		`{"message": "exceeded retry limit, last status: 429 Too Many Requests"}`:                                                                 true,
		`{"message": "unexpected status 503 Service Unavailable"}`:                                                                                true,
		`{"message": "Internal error: fetch failed", "data": {"cause": "getaddrinfo ENOTFOUND api.example.com"}}`:                                 true,
		`{"message": "Internal error: API Error: Unable to connect to API (ECONNRESET)"}`:                                                         true,
		`{"message": "Internal error: API Error: Connection error."}`:                                                                             true,
		`{"message": "request failed: Network error"}`:                                                                                            true,
		`{"message": "stream disconnected before completion: error sending request"}`:                                                             true,
		`{"message": "Internal error: ENOENT: no such file or directory"}`:                                                                        false,
		`{"code": 429, "message": "You exceeded your current quota"}`:                                                                             true,
		`{"message": "It may not exist, or there are 500 others", "data": {"errorKind": "model_not_found"}}`:                                      false,
		`{"message": "Internal error: Invalid API key · Fix external API key", "data": {"errorKind": "authentication_failed"}}`:                   false,
		`{"code": -32603, "message": "Internal error: invalid x-api-key"}`:                                                                        false,
		`{"message": "Internal error: API Error: 400 prompt is too long: 200500 tokens"}`:                                                         false,
	} {
		var told struct{ Message string }
		require.NoError(t, json.Unmarshal([]byte(words), &told))
		var f state.Fold
		for _, p := range []event.Payload{
			event.SessionStart{Job: &event.Job{Task: "say"}},
			event.TurnEnd{StopReason: event.StopInterrupted, Error: &event.Failure{Code: "agent_error", Message: told.Message}, Raw: json.RawMessage(words)},
		} {
			f.Apply(f.Seq+1, time.Time{}, 1, p)
		}
		require.Equal(t, want, f.Job.Again, words)
	}
}

func TestAJobTriesAgainThreeTimesUntilARoundEnds(t *testing.T) {
	var f state.Fold
	apply := func(p event.Payload) bool {
		f.Apply(f.Seq+1, time.Time{}, 1, p)
		return f.Job.Again
	}
	fails := func() bool {
		return apply(event.TurnEnd{StopReason: event.StopInterrupted, Error: &event.Failure{Code: "agent_error", Message: "overloaded"}})
	}
	apply(event.SessionStart{Job: &event.Job{Task: "say"}})
	require.Equal(t, []bool{true, true, true, false}, []bool{fails(), fails(), fails(), fails()})
	apply(event.Note{Method: state.NoteCheckpoint, Raw: json.RawMessage(`{"n":1}`)})
	require.Equal(t, []bool{true, true, true, false}, []bool{fails(), fails(), fails(), fails()})
}

func TestTheTokensOfAnAgentThatReportsThemAtTheEndOfATurnCount(t *testing.T) {
	end := event.TurnEnd{StopReason: event.StopEndTurn, Usage: json.RawMessage(`{"inputTokens":1200,"outputTokens":66,"totalTokens":1266}`)}
	fold := func(all ...event.Payload) int64 {
		var f state.Fold
		for _, p := range append([]event.Payload{event.SessionStart{Job: &event.Job{Task: "say"}}}, all...) {
			f.Apply(f.Seq+1, time.Time{}, 1, p)
		}
		return f.Job.Tokens
	}
	require.EqualValues(t, 1266, fold(end))
	require.EqualValues(t, 1230, fold(event.Usage{Used: 1230}, end), "the sum of the turn's rounds is not its context")
}

func TestAJobCountsWhatItsPolicyRefused(t *testing.T) {
	var f state.Fold
	options := []event.PermissionOption{{OptionID: "yes", Kind: event.AllowOnce}, {OptionID: "no", Kind: event.RejectOnce}}
	ask := func(id string) state.OpenRequest {
		return state.OpenRequest{Request: event.PermissionRequest{PermissionID: id, Options: options}}
	}
	none := state.OpenRequest{Request: event.PermissionRequest{PermissionID: "q2", Options: options[:1]}}
	for _, p := range []event.Payload{
		event.SessionStart{Job: &event.Job{Task: "say"}},
		ask("q1").Denied(state.PolicyDenies),
		none.Denied(state.PolicyDenies),
		event.Error{Code: event.CodeForbidden, Message: "The agent's fs/write_text_file was refused."},
		// A person, a rule and a failure are not the policy.
		event.PermissionOutcome{PermissionID: "q3", Outcome: event.OutcomeSelected, OptionID: "no", By: "ann", Reason: state.PolicyDenies},
		ask("q4").Denied("no person watches this session"),
		event.PermissionOutcome{PermissionID: "q5", Outcome: event.OutcomeSelected, OptionID: "yes", By: state.ByHub},
		event.Error{Code: "storage", Message: "full"},
	} {
		f.Apply(f.Seq+1, time.Time{}, 1, p)
	}
	require.Equal(t, 3, f.Job.Denied)
}

package session_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// statements has a note with the effect of each statement that a state knows.
func statements(t *testing.T) []event.Note {
	t.Helper()
	rule, err := json.Marshal(map[string]any{"rule": state.Rule{ID: "r", Scope: state.RuleSession, Effect: state.RuleAllow, CreatedBy: "ann"}})
	require.NoError(t, err)
	own, err := json.Marshal(map[string]any{"rule": state.Rule{ID: "own", Scope: state.RuleSession}})
	require.NoError(t, err)
	raw := map[string]json.RawMessage{
		state.NoteBranch:    json.RawMessage(`{"act":"commit","stage":"done","key":"k"}`),
		state.NoteRuleAdded: rule, state.NoteRuleRevoked: own, state.NoteRecording: json.RawMessage(`{"id":"x","open":true}`),
		state.NoteSetup:      json.RawMessage(`{"failed":"exit code 1"}`),
		transcript.NoteUndo:  json.RawMessage(`{"n":1,"phase":"done","turn":1,"what":"files"}`),
		state.NoteJob:        json.RawMessage(`{"status":"completed"}`),
		state.NoteJobResult:  json.RawMessage(`{"job_id":"j","status":"completed"}`),
		state.NoteCheckpoint: json.RawMessage(`{"n":1,"line":"edit"}`),
	}
	var notes []event.Note
	for _, method := range state.Statements() {
		notes = append(notes, event.Note{Method: method, Text: "as the hub says it", Raw: raw[method]})
	}
	return notes
}

// TestOnlyTheHubChangesAStateByAStatement applies each statement as the hub's, which
// must change something, and as each other's, which must change nothing.
func TestOnlyTheHubChangesAStateByAStatement(t *testing.T) {
	fold := func(n event.Note) state.Fold {
		var f state.Fold
		own, _ := json.Marshal(map[string]any{"rule": state.Rule{ID: "own", Scope: state.RuleSession, Effect: state.RuleReject}})
		f.Apply(1, time.Time{}, 0, event.SessionStart{Job: &event.Job{Task: "a task"}})
		f.Apply(1, time.Time{}, 0, event.Note{Method: state.NoteRuleAdded, Raw: own})
		f.Changed = false
		f.Apply(2, time.Time{}, 0, n)
		return f
	}
	nothing := fold(event.Note{Method: "session/update"})
	for _, n := range statements(t) {
		require.NotEqual(t, nothing, fold(n), "%s has no effect: the example is wrong", n.Method)
		for _, from := range []string{event.FromAgent, event.FromRecorder, event.FromImport} {
			require.Equal(t, nothing, fold(n.Heard(from)), "%s of %s", n.Method, from)
		}
	}
}

// requireUntouched makes sure that no statement took effect: no rule was made and the
// owner's one remains, no program records the session, and a prompt is taken.
func requireUntouched(t *testing.T, b *session.BackgroundSession, rules int) {
	t.Helper()
	list, err := b.Rules(ctxOf(t))
	require.NoError(t, err)
	require.Len(t, list, rules)
	for _, r := range list {
		require.NotEqual(t, "r", r.ID)
	}
}

func TestAnAgentsStatementsAreKeptAsItsOwn(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	_, err := b.AddRule(ctxOf(t), state.Rule{Scope: state.RuleSession, Effect: state.RuleReject, Kind: "edit", CreatedBy: "ann"})
	require.NoError(t, err)
	for _, n := range statements(t) {
		require.NoError(t, a.say(n))
	}
	requireUntouched(t, b, 1)
	for _, n := range payloads[event.Note](t, b) {
		if n.Text == "as the hub says it" {
			require.Equal(t, event.FromAgent, n.From)
		}
	}
	require.Equal(t, queue.Queued, prompt(t, b, "another").Outcome)
}

func TestARecordersStatementsAreRefusedOrItsOwn(t *testing.T) {
	h := newHub(t)
	r, err := h.manager.Record(ctxOf(t), session.CreateRequest{Agent: "theirs", Workspace: t.TempDir(), Actor: person("ann")})
	require.NoError(t, err)
	last := r.MaxSeq
	for _, n := range statements(t) {
		_, err := r.Session.Record(ctxOf(t), r.RecorderID, last, reportsOf(t, n))
		require.ErrorIs(t, err, state.ErrInvalid, n.Method)
		last, err = r.Session.Record(ctxOf(t), r.RecorderID, last, reportsOf(t, n.Heard(event.FromAgent)))
		require.NoError(t, err)
	}
	requireUntouched(t, r.Session, 0)
	_, err = r.Session.Record(ctxOf(t), r.RecorderID, last, nil)
	require.NoError(t, err, "the recording goes on")
}

func TestAnImportsStatementsChangeNothing(t *testing.T) {
	h := newHub(t)
	b := h.create()
	_, err := b.AddRule(ctxOf(t), state.Rule{Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "edit", CreatedBy: "ann"})
	require.NoError(t, err)
	other := newHub(t)
	came, _, err := other.manager.Import(ctxOf(t), bytes.NewReader(exported(t, b, export.JSONL)))
	require.NoError(t, err)
	requireUntouched(t, came, 0)
	forged := bytes.Replace(exported(t, b, export.JSONL), []byte(`"method":"abide/rule_added"`), []byte(`"from":"","Method":"abide/rule_added"`), 1)
	require.NoError(t, other.manager.Delete(ctxOf(t), came.ID()))
	came, _, err = other.manager.Import(ctxOf(t), bytes.NewReader(forged))
	require.NoError(t, err)
	requireUntouched(t, came, 0)
}

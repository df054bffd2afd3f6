package session_test

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// wants returns a request to run a command, with all four kinds of options.
func wants(id, kind, title, command string) event.PermissionRequest {
	call, err := json.Marshal(map[string]any{"kind": kind, "title": title, "rawInput": map[string]string{"command": command}})
	if err != nil {
		panic(err)
	}
	return event.PermissionRequest{
		PermissionID: id, Title: title, ToolCall: call,
		Options: []event.PermissionOption{
			{OptionID: "1", Name: "Always", Kind: event.AllowAlways},
			{OptionID: "2", Name: "Once", Kind: event.AllowOnce},
			{OptionID: "3", Name: "Never", Kind: event.RejectAlways},
			{OptionID: "4", Name: "Not now", Kind: event.RejectOnce},
		},
	}
}

func pending(b *session.BackgroundSession) []string { return b.State().PendingPermissions }

func TestAnAlwaysAnswerIsRememberedForTheSession(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(wants("q1", "execute", "Run make", "make")))
	_, err := answer(b, "q1", "1", "tab")
	require.NoError(t, err)
	receive(t, a.answers, "the agent was not told")

	require.NoError(t, a.say(wants("q2", "execute", "Run make", "make")))
	o := receive(t, a.answers, "the rule did not answer")
	require.Equal(t, "2", o.OptionID, "a rule must choose a once option, or it cannot be revoked")
	require.Equal(t, "by tab", o.By)
	rules, err := b.Rules(ctxOf(t))
	require.NoError(t, err)
	require.Len(t, rules, 1)
	require.Equal(t, rules[0].ID, o.Rule)
	outcomes := payloads[event.PermissionOutcome](t, b)
	require.Equal(t, o, outcomes[1])

	require.NoError(t, a.say(wants("q3", "execute", "Run make", "rm -rf /")))
	require.Equal(t, []string{"q3"}, pending(b), "another command under the same title was allowed")

	other, otherAgent := h.busy()
	require.NoError(t, otherAgent.say(wants("q4", "execute", "Run make", "make")))
	require.Equal(t, []string{"q4"}, pending(other), "a session's rule reached another session")

	require.NoError(t, b.RevokeRule(ctxOf(t), rules[0].ID, person("bob")))
	require.NoError(t, a.say(wants("q5", "execute", "Run make", "make")))
	require.Equal(t, []string{"q3", "q5"}, pending(b), "a revoked rule answered")
	notes := payloads[event.Note](t, b)
	require.Equal(t, "abide/rule_added", notes[0].Method)
	require.Equal(t, "abide/rule_revoked", notes[1].Method)
	require.Contains(t, string(notes[1].Raw), `"actor":"bob"`)
	require.ErrorIs(t, b.RevokeRule(ctxOf(t), "none", person("bob")), state.ErrNotFound)
}

func TestARuleForAnAgentReachesEverySessionAndOutlivesTheHub(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	_, err := b.AddRule(ctxOf(t), state.Rule{Scope: state.RuleAgent, Effect: state.RuleAllow, Kind: "read", CreatedBy: "ann", CreatedByID: "id-ann"})
	require.NoError(t, err)
	mine, err := b.AddRule(ctxOf(t), state.Rule{Scope: state.RuleSession, Effect: state.RuleReject, Kind: "fetch", CreatedBy: "ann", CreatedByID: "id-ann"})
	require.NoError(t, err)
	h.close()
	h.open()
	other, a := h.busy()
	require.NoError(t, a.say(wants("q1", "read", "Read a", "a"), wants("q2", "edit", "Edit a", "a"), wants("q3", "fetch", "Get", "x")))
	require.Equal(t, "2", receive(t, a.answers, "the rule did not answer").OptionID)
	require.Equal(t, []string{"q2", "q3"}, pending(other))

	rules, err := h.session(b.ID()).Rules(ctxOf(t))
	require.NoError(t, err)
	require.Len(t, rules, 2)
	require.Equal(t, mine.ID, rules[0].ID, "the session's own rule was lost with the hub")
}

func TestARuleThatRejectsComesFirst(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	for _, r := range []state.Rule{
		{Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "execute"},
		{Scope: state.RuleAgent, Effect: state.RuleReject, Kind: "execute"},
		{Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "execute"},
	} {
		r.CreatedBy = "ann"
		_, err := b.AddRule(ctxOf(t), r)
		require.NoError(t, err)
	}
	require.NoError(t, a.say(wants("q1", "execute", "Run", "x")))
	require.Equal(t, "4", receive(t, a.answers, "no rule answered").OptionID)
}

func TestTheLimitsOfRules(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	for name, r := range map[string]state.Rule{
		"about everything": {Scope: state.RuleSession, Effect: state.RuleAllow, CreatedBy: "ann", CreatedByID: "id-ann"},
		"no effect":        {Scope: state.RuleSession, Kind: "read", CreatedBy: "ann", CreatedByID: "id-ann"},
		"no scope":         {Effect: state.RuleAllow, Kind: "read", CreatedBy: "ann", CreatedByID: "id-ann"},
		"nobody's":         {Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "read"},
	} {
		_, err := b.AddRule(ctxOf(t), r)
		require.ErrorIs(t, err, state.ErrInvalid, name)
	}
	_, err := b.AddRule(ctxOf(t), state.Rule{Scope: state.RuleSession, Effect: state.RuleAllow, Kind: "execute", CreatedBy: "ann", CreatedByID: "id-ann"})
	require.NoError(t, err)
	form := wants("form", "execute", "Fill in", "x")
	form.Form = json.RawMessage(`{}`)
	always := wants("always", "execute", "Run", "x")
	always.Options = always.Options[:1]
	require.NoError(t, a.say(form, always))
	require.Equal(t, []string{"form", "always"}, pending(b), "a rule answered a request that only a person may answer")
}

func TestADamagedRuleBookIsNotForgottenSilently(t *testing.T) {
	h := newHub(t)
	require.NoError(t, h.journal.Files().Replace("rules.json", func(w io.Writer) error { _, err := io.WriteString(w, "{"); return err }))
	h.close()
	_, err := openManager(t, h)
	require.ErrorContains(t, err, "rules.json")
}

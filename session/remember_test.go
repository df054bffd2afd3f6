package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func remember(t *testing.T, b *session.BackgroundSession, request, option string) error {
	t.Helper()
	_, err := b.AnswerPermission(ctxOf(t), session.Answer{
		PermissionID: request, OptionID: option, Actor: person("ann"), Remember: state.RuleSession, MayRule: true,
	})
	return err
}

// called returns the announcement of a tool call.
func called(id string, fields event.ToolCallFields) event.ToolCall {
	fields.ToolCallID = id
	return event.ToolCall{ToolCallFields: fields}
}

// wantsCall returns a request about a call, with the given call fields only.
func wantsCall(id, call string, said map[string]any) event.PermissionRequest {
	p := wants(id, "", "", "")
	fields := map[string]any{"toolCallId": call}
	for name, value := range said {
		fields[name] = value
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	p.ToolCallID, p.ToolCall = call, data
	return p
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestOnlyOptionsOfAKnownKindAreRemembered(t *testing.T) {
	for name, kind := range map[string]event.PermissionKind{"unknown": "deny", "missing": "", "newer": "allow_twice"} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			b, a := h.busy()
			q := wants("q1", "execute", "Run make", "make")
			q.Options = append(q.Options, event.PermissionOption{OptionID: "deny", Name: "Deny", Kind: kind})
			require.NoError(t, a.say(q))
			require.ErrorIs(t, remember(t, b, "q1", "deny"), state.ErrInvalid)
			require.Equal(t, []string{"q1"}, pending(b), "an answer that was refused counted")
			_, err := answer(b, "q1", "deny", "tab")
			require.NoError(t, err)
			require.Equal(t, "deny", receive(t, a.answers, "the agent got no answer").OptionID)
			q.PermissionID = "q2"
			require.NoError(t, a.say(q))
			require.Equal(t, []string{"q2"}, pending(b), "an answer of no known kind became a rule")
		})
	}
}

func TestAnAlwaysOfAPersonWhoMayMakeNoRulesCountsOnce(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	guest := func(id, option string, remember state.RuleScope) error {
		_, err := b.AnswerPermission(ctxOf(t), session.Answer{
			PermissionID: id, OptionID: option, Actor: person("guest"), Remember: remember,
		})
		return err
	}
	q := wants("q1", "execute", "Run make", "make")
	require.NoError(t, a.say(q))
	require.ErrorIs(t, guest("q1", "2", state.RuleSession), state.ErrForbidden)
	require.NoError(t, guest("q1", "1", ""))
	require.Equal(t, "2", receive(t, a.answers, "the agent got no answer").OptionID, "the agent got an \"always\" option")
	notes := payloads[event.Note](t, b)
	require.Len(t, notes, 1)
	require.Equal(t, "abide/answered_once", notes[0].Method)

	q.PermissionID = "q2"
	require.NoError(t, a.say(q))
	require.Equal(t, []string{"q2"}, pending(b), "the answer became a rule")
	require.NoError(t, guest("q2", "4", ""))

	// If no option counts once, allowing would be permanent.
	q.PermissionID, q.Options = "q3", q.Options[:1]
	require.NoError(t, a.say(q))
	require.ErrorIs(t, guest("q3", "1", ""), state.ErrForbidden)
	require.Equal(t, []string{"q3"}, pending(b))
}

func TestARuleIsAboutTheWholeToolCallNotJustTheRequest(t *testing.T) {
	ls := event.ToolCallFields{Title: "Run", Kind: "execute", RawInput: raw(`{"command":"ls"}`)}
	rm := event.ToolCallFields{Title: "Run", Kind: "execute", RawInput: raw(`{"command":"rm -rf /"}`)}
	edit := func(path, text string) event.ToolCallFields {
		return event.ToolCallFields{
			Title: "Edit a.sh", Kind: "edit",
			Content: raw(`[{"type":"diff","path":"` + path + `","oldText":"","newText":"` + text + `"}]`),
		}
	}
	at := func(path string) event.ToolCallFields {
		f := edit("a.sh", "x")
		f.Locations = []event.Location{{Path: path}}
		return f
	}
	named := map[string]any{"title": "Edit a.sh", "kind": "edit"}
	for name, c := range map[string]struct {
		allowed, other event.ToolCallFields
		said           map[string]any
	}{
		"another command":              {ls, rm, nil},
		"another change":               {edit("a.sh", "x"), edit("a.sh", "y"), named},
		"a change of another file":     {edit("a.sh", "x"), edit("b.sh", "x"), named},
		"other locations":              {at("a.sh"), at("/etc/passwd"), named},
		"another directory":            {ls, event.ToolCallFields{Title: "Run", Kind: "execute", RawInput: raw(`{"command":"ls","cwd":"/"}`)}, nil},
		"the same said of other kinds": {ls, event.ToolCallFields{Title: "Run", Kind: "delete", RawInput: raw(`{"command":"ls"}`)}, map[string]any{"kind": "execute"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			b, a := h.busy()
			require.NoError(t, a.say(called("c1", c.allowed), wantsCall("q1", "c1", c.said)))
			_, err := answer(b, "q1", "1", "tab")
			require.NoError(t, err)
			receive(t, a.answers, "the agent got no answer")
			require.NoError(t, a.say(called("c2", c.other), wantsCall("q2", "c2", c.said)))
			require.Equal(t, []string{"q2"}, pending(b), "another command was allowed")
			require.NoError(t, a.say(called("c3", c.allowed), wantsCall("q3", "c3", c.said)))
			require.Equal(t, []string{"q2"}, pending(b), "an identical request was not answered by the rule")
		})
	}
}

func TestARequestCarriesTheTitleOfItsToolCall(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(called("c1", event.ToolCallFields{Title: "List files"}), wantsCall("q1", "c1", nil), wantsCall("q2", "c2", nil)))
	asked := payloads[event.PermissionRequest](t, b)
	require.Equal(t, "List files", asked[0].Title)
	require.Equal(t, "The agent asks for permission", asked[1].Title)
}

func TestARuleAboutAKindLooksAtEveryKindACallWasSaidToBeOf(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	for effect, kind := range map[state.RuleEffect]event.ToolKind{state.RuleAllow: "read", state.RuleReject: "fetch"} {
		_, err := b.AddRule(ctxOf(t), state.Rule{Scope: state.RuleSession, Effect: effect, Kind: kind, CreatedBy: "ann", CreatedByID: "id-ann"})
		require.NoError(t, err)
	}
	announced := func(kind event.ToolKind) event.ToolCallFields {
		return event.ToolCallFields{Title: "Do it", Kind: kind, RawInput: raw(`{"command":"make"}`)}
	}
	require.NoError(t, a.say(called("c1", announced("execute")), wantsCall("q1", "c1", map[string]any{"kind": "read"})))
	require.NoError(t, a.say(called("c2", announced("read")), wantsCall("q2", "c2", map[string]any{"kind": "execute"})))
	require.Equal(t, []string{"q1", "q2"}, pending(b), "a read rule allowed a request that also names a command")
	require.NoError(t, a.say(called("c3", announced("read")), wantsCall("q3", "c3", nil)))
	require.Equal(t, "2", receive(t, a.answers, "a plain read was not answered by the rule").OptionID)
	require.NoError(t, a.say(called("c4", announced("fetch")), wantsCall("q4", "c4", nil)))
	require.Equal(t, "4", receive(t, a.answers, "a bare request escaped the rule that rejects").OptionID)
	require.NoError(t, a.say(called("c5", announced("fetch")), wantsCall("q5", "c5", map[string]any{"kind": "read"})))
	require.Equal(t, "4", receive(t, a.answers, "another kind in the request escaped the rule that rejects").OptionID)
	kinds := []event.Payload{called("c6", announced("read"))}
	for _, kind := range "abcdefghijkl" {
		kinds = append(kinds, called("c6", announced(event.ToolKind(kind))))
	}
	require.NoError(t, a.say(append(kinds, called("c6", announced("fetch")), wantsCall("q6", "c6", nil))...))
	require.Equal(t, "4", receive(t, a.answers, "many kinds hid the one that is rejected").OptionID)
}

func TestAVagueCallIsAllowedOnceOnly(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	vague := map[string]any{"title": "Edit a.sh", "kind": "edit", "rawInput": map[string]any{}, "locations": []any{map[string]any{"path": "a.sh"}}}
	require.NoError(t, a.say(wantsCall("q1", "c1", vague)))
	require.ErrorIs(t, remember(t, b, "q1", "2"), state.ErrInvalid)
	_, err := b.Like(ctxOf(t), state.Rule{}, "q1")
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = answer(b, "q1", "1", "tab")
	require.NoError(t, err)
	require.Equal(t, "2", receive(t, a.answers, "the agent got no answer").OptionID, "the agent got an \"always\" option, which cannot be revoked")
	rules, err := b.Rules(ctxOf(t))
	require.NoError(t, err)
	require.Empty(t, rules)
	notes := payloads[event.Note](t, b)
	require.Len(t, notes, 1, "no note")
	require.Contains(t, notes[0].Text, "applies to this request only")

	require.NoError(t, a.say(called("c2", event.ToolCallFields{Title: "Run", RawInput: raw(`{"command":"rm"}`)}), wantsCall("q2", "c2", nil)))
	require.NoError(t, a.say(called("c2", event.ToolCallFields{Title: "Run", RawInput: raw(`{"command":"ls"}`)})))
	require.ErrorContains(t, remember(t, b, "q2", "2"), "changed", "a rule was made for a request that has changed")

	named := event.PermissionRequest{PermissionID: "q3", Options: question("").Options, ToolCall: raw(`{"title":"Run","rawInput":{"command":"rm"},"RAWINPUT":{"command":"ls"}}`)}
	require.NoError(t, a.say(named))
	require.NoError(t, remember(t, b, "q3", "yes"))
	named.PermissionID, named.ToolCall = "q4", raw(`{"title":"Run","rawInput":{"command":"dd"},"RAWINPUT":{"command":"ls"}}`)
	require.NoError(t, a.say(named))
	require.Contains(t, pending(b), "q4", "a member of another name hid the command")
}

func TestAReadOfAFileIsIdentifiedByItsPath(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	read := func(path string) map[string]any {
		return map[string]any{"title": "Read it", "kind": "read", "locations": []any{map[string]any{"path": path}}}
	}
	require.NoError(t, a.say(wantsCall("q1", "c1", read("a.txt"))))
	require.NoError(t, remember(t, b, "q1", "2"))
	require.NoError(t, a.say(wantsCall("q2", "c2", read("b.txt")), wantsCall("q3", "c3", read("a.txt"))))
	require.Equal(t, []string{"q2"}, pending(b))
}

func TestTheAgentIsToldWhatCountsOnceAndTheHubRemembers(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(wants("q1", "execute", "Run make", "make"), wants("q2", "execute", "Run rm", "rm")))
	for request, c := range map[string]struct{ chosen, told string }{"q1": {"1", "2"}, "q2": {"3", "4"}} {
		_, err := answer(b, request, c.chosen, "tab")
		require.NoError(t, err)
		require.Equal(t, c.told, receive(t, a.answers, "the agent got no answer").OptionID)
	}
	for _, o := range payloads[event.PermissionOutcome](t, b) {
		require.Contains(t, []string{"1", "3"}, o.OptionID, "the log must have the chosen option")
	}

	forced := wants("q3", "execute", "Run ls", "ls")
	forced.Options = forced.Options[:1]
	require.NoError(t, a.say(forced))
	_, err := answer(b, "q3", "1", "tab")
	require.NoError(t, err)
	require.Equal(t, "1", receive(t, a.answers, "the agent got no answer").OptionID, "it is the only option")
	rules, err := b.Rules(ctxOf(t))
	require.NoError(t, err)
	require.Len(t, rules, 3)
	require.True(t, rules[2].AgentTold)
	require.False(t, rules[0].AgentTold)
	notes := payloads[event.Note](t, b)
	require.Contains(t, notes[2].Text, "may remember it itself")
}

func TestAWayOfWorkingIsPassedOnAsItWasChosen(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(wants("q1", "switch_mode", "Ready to code?", "plan")))
	require.ErrorIs(t, remember(t, b, "q1", "1"), state.ErrInvalid)
	_, err := answer(b, "q1", "1", "tab")
	require.NoError(t, err)
	require.Equal(t, "1", receive(t, a.answers, "the agent got no answer").OptionID)
	rules, err := b.Rules(ctxOf(t))
	require.NoError(t, err)
	require.Empty(t, rules)
}

func TestBetweenTwoAnswersThatCountOnceOnlyAPersonChooses(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	q := wants("q1", "execute", "Run make", "make")
	q.Options = append(q.Options, event.PermissionOption{OptionID: "5", Name: "Once, outside the sandbox", Kind: event.AllowOnce})
	require.NoError(t, a.say(q))
	require.ErrorIs(t, remember(t, b, "q1", "5"), state.ErrInvalid)
	_, err := answer(b, "q1", "1", "tab")
	require.NoError(t, err)
	require.Equal(t, "1", receive(t, a.answers, "the agent got no answer").OptionID)
	q.PermissionID = "q2"
	require.NoError(t, a.say(q))
	require.Equal(t, []string{"q2"}, pending(b))
}

func TestAnAnswerSentAgainAfterARestartOfTheHubSucceeds(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(question("q1")))
	won, err := answer(b, "q1", "yes", "phone")
	require.NoError(t, err)
	after := h.copyOf(t).session(b.ID())
	again, err := answer(after, "q1", "yes", "phone")
	require.NoError(t, err)
	require.Equal(t, won, again)
	var lost *state.AlreadyResolved
	_, err = answer(after, "q1", "no", "phone")
	require.ErrorAs(t, err, &lost)
	_, err = answer(after, "q1", "yes", "laptop")
	require.ErrorAs(t, err, &lost)
	require.Len(t, payloads[event.PermissionOutcome](t, after), 1)
}

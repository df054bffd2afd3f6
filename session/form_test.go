package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

func TestAFormsAnswerThatDoesNotFitIsRefusedAndTheQuestionStays(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	form := question("f")
	form.Form = json.RawMessage(`{"type":"object","required":["colour","count"],"properties":{
		"colour":{"type":"string","oneOf":[{"const":"red","title":"Red"},{"const":"blue","title":"Blue"}]},
		"count":{"type":"integer","minimum":1},
		"size":{"type":"string","enum":["s","m"]},
		"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}`)
	require.NoError(t, a.say(form))
	answer := func(option, content string) error {
		_, err := b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "f", OptionID: option, Content: json.RawMessage(content)})
		return err
	}
	for content, want := range map[string]string{
		``:                                          "colour, count is missing",
		`{"colour":"red"}`:                          "count is missing",
		`{"colour":"red","count":"two"}`:            "count: got string, want integer",
		`{"colour":"red","count":0}`:                "count: ",
		`{"colour":"green","count":1}`:              "colour: ",
		`{"colour":"red","count":1,"size":"xl"}`:    "size: value must be one of",
		`{"colour":"red","count":1,"tags":["a",1]}`: "tags.1: ",
	} {
		err := answer("yes", content)
		require.ErrorIs(t, err, state.ErrInvalid, content)
		require.ErrorContains(t, err, want, content)
		require.Equal(t, []string{"f"}, b.State().PendingPermissions)
	}
	require.NoError(t, answer("yes", `{"colour":"red","count":2,"note":"more"}`))
	require.JSONEq(t, `{"colour":"red","count":2,"note":"more"}`, string(receive(t, a.answers, "the agent got no answer").Content))
}

func TestAFormIsDeclinedUnfilledAndOneThatMakesNoSenseIsTheAgentsToJudge(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	declined, odd := question("declined"), question("odd")
	declined.Form = json.RawMessage(`{"type":"object","required":["a"]}`)
	odd.Form = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)
	require.NoError(t, a.say(declined, odd))
	_, err := b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "declined", OptionID: "no"})
	require.NoError(t, err)
	_, err = b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "odd", OptionID: "yes", Content: json.RawMessage(`{"a":1}`)})
	require.NoError(t, err)
}

package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

func TestASessionNamesTheEventsThatAPersonMayBeNotifiedOf(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	for range 200 {
		require.NoError(t, a.say(event.AgentMessage{MessageID: "m", Text: "word "}))
	}
	named := func() (all []event.Type) {
		seqs, complete := b.Notable(1) // after session_start
		require.True(t, complete)
		for _, e := range events(t, b) {
			for _, seq := range seqs {
				if e.Seq == seq {
					all = append(all, e.Type)
				}
			}
		}
		return all
	}
	require.Equal(t, []event.Type{event.TypeUserPrompt, event.TypeTurnStart}, named())
	request := event.PermissionRequest{PermissionID: "q", Title: "Go on?", Options: []event.PermissionOption{{OptionID: "y", Name: "Yes", Kind: event.AllowOnce}}}
	require.NoError(t, a.say(request))
	require.Equal(t, []event.Type{event.TypeUserPrompt, event.TypeTurnStart, event.TypePermissionRequest}, named())

	// Old ones are dropped, and then it says so.
	for n := range 80 {
		request.PermissionID = fmt.Sprint("q", n)
		require.NoError(t, a.say(request))
	}
	seqs, complete := b.Notable(1)
	require.False(t, complete)
	_, complete = b.Notable(seqs[0])
	require.True(t, complete)
	none, _ := b.Notable(b.Log().Marks().Visible)
	require.Empty(t, none)
}

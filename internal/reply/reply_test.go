package reply_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/reply"
	"github.com/abidehub/abide/session/event"
)

// A form whose values are all given takes no more, and can begin again.
func TestAFormThatWasSentTakesNoMore(t *testing.T) {
	q := event.PermissionRequest{Form: json.RawMessage(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`)}
	require.Nil(t, reply.FormOf(q, "decline"))
	form := reply.FormOf(q, "accept")
	choice, done, err := form.Take("Ada")
	require.NoError(t, err)
	require.True(t, done)
	require.JSONEq(t, `{"name":"Ada"}`, string(choice.Content))
	_, done, err = form.Take("Bob")
	require.Error(t, err)
	require.False(t, done)
	require.Empty(t, form.Field())
	form.Again()
	choice, done, err = form.Take("") // keeps the value given before
	require.NoError(t, err)
	require.True(t, done)
	require.JSONEq(t, `{"name":"Ada"}`, string(choice.Content))
}

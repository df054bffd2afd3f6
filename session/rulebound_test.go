package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Fault 87.
func TestFault87TheRulesOfASessionAreBounded(t *testing.T) {
	h := newHub(t)
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann")})
	require.NoError(t, err)
	for n := range 1001 {
		_, err = b.AddRule(ctxOf(t), state.Rule{
			Scope: state.RuleSession, Effect: state.RuleAllow, Kind: event.ToolKind(fmt.Sprint("kind", n)), CreatedBy: "ann", CreatedByID: "id-ann",
		})
		if n < 1000 {
			require.NoError(t, err)
		}
	}
	require.ErrorIs(t, err, state.ErrInvalid)
}

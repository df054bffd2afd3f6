package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
)

func TestATurnTakesOnlyTheStepsOfItsTable(t *testing.T) {
	follows := map[string][]string{ // for each phase those before it
		"no turn":   {"no turn", "waiting", "reading", "telling", "told", "given", "cancelled", "overdue", "ending"},
		"waiting":   {"no turn"},
		"reading":   {"waiting"},
		"telling":   {"reading"},
		"told":      {"telling"},
		"given":     {"waiting", "told"},
		"cancelled": {"given"},
		"overdue":   {"cancelled"},
		"ending":    {"waiting", "reading", "telling", "told", "given", "cancelled", "overdue", "ending"},
	}
	phases := session.TurnPhases()
	require.Len(t, follows, len(phases))
	for i, from := range phases {
		for j, to := range phases {
			after, bug := session.StepTurn(i, j, true)
			if slices.Contains(follows[to], from) {
				require.Empty(t, bug, "%s must be able to follow %s", to, from)
				require.Equal(t, to, after)
				continue
			}
			require.Equal(t, "panic: turn: "+to+" cannot follow "+from, bug)

			// Outside of tests the turn goes on, and the hub's log says what happened.
			after, bug = session.StepTurn(i, j, false)
			require.Contains(t, bug, "turn: "+to+" cannot follow "+from)
			require.Equal(t, to, after)
		}
	}
}

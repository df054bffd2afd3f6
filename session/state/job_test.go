package state_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestALimitOfOneIsSaidInTheSingular(t *testing.T) {
	for limit, want := range map[int]string{1: "It reached its limit of 1 round (rounds).", 2: "It reached its limit of 2 rounds (rounds)."} {
		j := state.Job{Rounds: limit}
		j.Given.Caps = event.JobCaps{Rounds: limit}
		name, words := j.Over(time.Now(), 0)
		require.Equal(t, []string{"rounds", want}, []string{name, words})
	}
}

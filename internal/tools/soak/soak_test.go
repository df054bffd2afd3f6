package soak_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
)

func TestASoakRunsAllAndMakeTestAPart(t *testing.T) {
	ran := func(name string) bool {
		reached := false
		t.Run(name, func(t *testing.T) {
			soak.Only(t, "as an example")
			reached = true
		})
		return reached
	}
	t.Setenv("ABIDE_SOAK", "")
	require.False(t, soak.On())
	require.Equal(t, 3, soak.Rounds(3, 200))
	require.False(t, ran("left out"))
	t.Setenv("ABIDE_SOAK", "1")
	require.Equal(t, 200, soak.Rounds(3, 200))
	require.True(t, ran("run"))
}

package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/settings"
)

func TestTheCommandThatContinuesASessionInATerminalIsWhole(t *testing.T) {
	a := settings.Agent{Continue: "claude --resume {id}"}
	require.Equal(t, "cd /src/app && claude --resume 0b5d-1c", a.Continuing("0b5d-1c", "/src/app"))
	require.Equal(t, `cd '/it'\''s a folder' && claude --resume 1`, a.Continuing("1", "/it's a folder"))
	require.Empty(t, a.Continuing("", "/src"), "it has no session yet")
	require.Empty(t, a.Continuing("1; rm -rf /", "/src"), "an agent's id is not a command")
	require.Empty(t, a.Continuing("1", "/a\nb"))
	require.Empty(t, settings.Agent{}.Continuing("1", "/src"), "it is not known")
}

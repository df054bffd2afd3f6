package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
)

// TestNewSessionKnowsWhatAnAgentOffersAfterARestartOfTheHub asks before any session is open.
func TestNewSessionKnowsWhatAnAgentOffersAfterARestartOfTheHub(t *testing.T) {
	h := startHub(t, hubOptions{})
	offered := func() (modes, models []string) {
		var answer wire.Agents
		h.api("GET", "/api/agents", nil).decode(t, &answer)
		require.Equal(t, "puppet", answer.Agents[0].Name)
		for _, m := range answer.Agents[0].Modes {
			modes = append(modes, m.Name)
		}
		for _, m := range answer.Agents[0].Models {
			models = append(models, m.Name)
		}
		return modes, models
	}
	modes, models := offered()
	require.Empty(t, modes, "no session began")
	require.Empty(t, models)
	s := h.session()
	h.prompt(s, "p", "offer")
	h.session() // newer, and its agent never began
	h.stop()

	h = startHub(t, hubOptions{dir: h.dir})
	modes, models = offered()
	require.Equal(t, []string{"Ask", "Auto"}, modes)
	require.Equal(t, []string{"Big"}, models)
}

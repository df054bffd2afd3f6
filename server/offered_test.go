package server_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/settings"
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

// TestANewJobKnowsTheAuditorsOfItsFolder asks as the form of a new job does.
func TestANewJobKnowsTheAuditorsOfItsFolder(t *testing.T) {
	h := startHub(t, hubOptions{})
	current := *h.manager.Settings()
	folder := current.DefaultWorkspace
	asked := func(workspace string) (names []string, always string) {
		var answer wire.Agents
		h.api("GET", "/api/agents?workspace="+url.QueryEscape(workspace), nil).decode(t, &answer)
		return answer.Auditors, answer.Auditor
	}
	names, always := asked(folder)
	require.Empty(t, names)
	require.Empty(t, always)

	audits := settings.Audits{Commands: map[string][]string{"size": {"true"}, "review": {"true"}}}
	current.Audits = map[string]settings.Audits{folder: audits}
	require.NoError(t, h.manager.Configure(current))
	names, always = asked(folder)
	require.Equal(t, []string{"review", "size"}, names)
	require.Empty(t, always)
	names, _ = asked("")
	require.Empty(t, names, "no folder was named")
	require.Equal(t, 400, h.api("GET", "/api/agents?workspace=relative", nil).status)

	audits.Always = "size"
	current.Audits = map[string]settings.Audits{folder: audits}
	require.NoError(t, h.manager.Configure(current))
	names, always = asked(folder)
	require.Empty(t, names, "a job there asks for none")
	require.Equal(t, "size", always)
}

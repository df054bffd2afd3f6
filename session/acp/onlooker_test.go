package acp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// Recorded conversations through an onlooker: turns begin and end in pairs, and
// each permission request has at most one outcome.
func TestAnOnlookerTellsARecordedConversationAsASession(t *testing.T) {
	for _, file := range traces(t) {
		t.Run(traceName(file), func(t *testing.T) {
			steps, err := readTrace(file)
			require.NoError(t, err)
			o := acp.NewOnlooker("other", "editor")
			var all []event.Payload
			prompts, refused := 0, false
			for _, s := range steps {
				if s.Dir == "c>a" {
					if s.message().Method == "session/prompt" {
						prompts++
					}
					all = append(all, o.FromClient(s.Msg)...)
				} else {
					refused = refused || s.message().Error != nil
					all = append(all, o.FromAgent(s.Msg)...)
				}
			}
			all = append(all, o.End()...)
			open, begun, started, asked := "", 0, 0, map[string]int{}
			for _, p := range all {
				switch p := p.(type) {
				case event.UserPrompt:
					require.Empty(t, open, "a turn began inside another")
					open = p.PromptID
					begun++
				case event.TurnEnd:
					require.Equal(t, open, p.PromptID)
					open = ""
				case event.AgentStarted:
					started++
				case event.PermissionRequest:
					asked[p.PermissionID] = 0
				case event.PermissionOutcome:
					asked[p.PermissionID]++
					require.Equal(t, 1, asked[p.PermissionID])
				}
			}
			require.Equal(t, prompts, begun)
			require.Equal(t, prompts == 0 && refused, started == 0, "a session that did not begin")
		})
	}
}

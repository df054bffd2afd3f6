package acp_test

import (
	"fmt"
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

// A method that begins as those of the hub's own statements is kept as the agent's word,
// whichever side says it: the hub refuses a statement of a recorder.
func TestAnOnlookerMakesNoStatementOfTheHub(t *testing.T) {
	o := acp.NewOnlooker("other", "editor")
	client := func(line string) []event.Payload { return o.FromClient([]byte(line)) }
	agent := func(line string) []event.Payload { return o.FromAgent([]byte(line)) }
	client(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	agent(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
	client(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	agent(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}`)
	for i, method := range []string{"abide/rule_added", "abide/rule_revoked", "abide/recording", "abide/forked", "abide/restore_segment", "abide/x"} {
		said := map[string][]event.Payload{
			"notification of the agent":  agent(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"id":"x","open":true}}`, method)),
			"request of the agent":       agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":"a%d","method":%q,"params":{"id":"x"}}`, i, method)),
			"notification of the client": client(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"id":"x"}}`, method)),
		}
		for name, answer := range map[string]string{"result": `"result":{"id":"x"}`, "error": `"error":{"code":-32000,"message":"no"}`} {
			id := fmt.Sprint(name, i)
			client(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"id":"x"}}`, id, method))
			said[name+" of a client's request"] = agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, answer))
		}
		require.NotEmpty(t, said["notification of the agent"])
		require.NotEmpty(t, said["request of the agent"])
		for name, payloads := range said {
			for _, p := range payloads {
				if n, is := p.(event.Note); is {
					require.False(t, n.Stated(), "%s: %s", name, method)
				}
			}
		}
	}
}

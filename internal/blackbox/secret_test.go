package blackbox_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// playTelltale is an agent that prints its secrets and then fails: on stdout beside
// the protocol, on stderr, and in its answer to the request that its first argument
// names.
func playTelltale() error {
	env := strings.Join(os.Environ(), " ")
	fmt.Println("environment:", env)
	fmt.Fprintln(os.Stderr, "environment:", env)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Fprintln(os.Stderr, "given:", in.Text())
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		switch {
		case m.Method == os.Args[1]:
			said, err := json.Marshal(env + " " + in.Text())
			if err != nil {
				return err
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`+"\n", m.ID, said)
			os.Exit(3)
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`+"\n", m.ID)
		case m.Method == "session/new":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}`+"\n", m.ID)
		}
	}
	return nil
}

// TestNoSecretOfTheConfigurationIsWrittenDown gives agents secrets in every
// possible way. The agents print them while they fail. Every hub's log and data
// directory are searched when its test ends.
func TestNoSecretOfTheConfigurationIsWrittenDown(t *testing.T) {
	t.Setenv("PASSED_ON_TOKEN", "hunter2-passed-on")
	t.Setenv("PASSED_ON", "hunter2-plain-name")
	self, err := os.Executable()
	require.NoError(t, err)
	telltale := func(method string) agent {
		return agent{
			Command: []string{self, method},
			PassEnv: []string{"PASSED_ON_TOKEN", "PASSED_ON"},
			Env:     map[string]string{roleName: "telltale", "SOME_API_KEY": "hunter2-of-the-agent", "EXPANDED_SECRET": "${PASSED_ON_TOKEN}-expanded"},
			MCPServers: []map[string]any{
				{"name": "files", "command": "mcp", "env": map[string]string{"MCP_TOKEN": "hunter2-of-the-mcp-server"}},
				{"name": "web", "type": "http", "url": "http://127.0.0.1:1/", "headers": map[string]string{"Authorization": "Bearer hunter2-header", "X-Team": "hunter2-team"}},
			},
		}
	}
	h := newHub(t, settings{agents: map[string]agent{"early": telltale("session/new"), "late": telltale("session/prompt")}})
	h.secrets = append(h.secrets, "hunter2-")
	failures := map[string][]string{"early": {"agent_start", "agent_output"}, "late": {"agent_output"}}
	for _, name := range []string{"early", "late"} {
		session := h.create(name)
		c := h.screen(name, session, 0)
		c.prompt(session.SessionID, "p1", "hello")
		end := c.untilTurnEnds("p1")
		require.Contains(t, []event.StopReason{event.StopAgentExit, event.StopInterrupted}, end.StopReason)
		require.Contains(t, end.Error.Message, "SOME_API_KEY", "the agent's message is missing")
		c.until("the end of the agent", func(events []event.Event, _ *wire.State) bool {
			return len(payloads[event.AgentExit](t, events)) > 0
		})
		require.Contains(t, payloads[event.AgentExit](t, c.seen())[0].StderrTail, "given: ")
		// The stray line and the failure come from two goroutines, in either order.
		var codes []string
		for _, p := range payloads[event.Error](t, c.seen()) {
			codes = append(codes, p.Code)
		}
		require.ElementsMatch(t, failures[name], codes)
	}
	require.Contains(t, h.logged(), "SOME_API_KEY", "the log lacks the reason of the failed start")

	// The error of a bad edit names the option, not its value.
	good, err := os.ReadFile(h.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(h.config, append(good, "queue: {delay: \"${PASSED_ON_TOKEN}\"}\n"...), 0o600))
	require.Eventually(t, func() bool { return strings.Contains(h.logged(), "queue.delay: ") }, patience, 10*time.Millisecond)
	require.Contains(t, h.logged(), "${PASSED_ON_TOKEN}")
	require.NoError(t, os.WriteFile(h.config, good, 0o600))
}

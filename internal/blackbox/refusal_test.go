package blackbox_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// refusedName is the environment variable with the method that a refusing agent refuses.
const refusedName = "ABIDE_BLACKBOX_REFUSED"

// codeName is the environment variable with the code of its error.
const codeName = "ABIDE_BLACKBOX_CODE"

// playRefuses is an agent that refuses one method, with its reason in the error's data.
func playRefuses() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil // the hub closed stdin
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		answer := `"result":{"protocolVersion":1,"sessionId":"s"}`
		if m.Method == os.Getenv(refusedName) {
			answer = `"error":{"code":` + os.Getenv(codeName) + `,"message":"Internal error","data":{"details":"400 {\"error\":{\"message\":\"no credit left\"}} (request 7)"}}`
		}
		if len(m.ID) > 0 {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
		}
	}
}

// TestTheReasonOfARefusalIsToldEverywhere has an agent refuse a start or a prompt: its
// reason is in the events that pages show, in the state, the list, the command line and
// the notification.
func TestTheReasonOfARefusalIsToldEverywhere(t *testing.T) {
	t.Parallel()
	const reason = "Internal error: 400 no credit left (request 7)"
	self, err := os.Executable()
	require.NoError(t, err)
	service := newTeller(t)
	at, err := url.Parse(service.URL)
	require.NoError(t, err)
	refusing := func(method, code string) agent {
		return agent{Command: []string{self}, Env: map[string]string{roleName: "refuses", refusedName: method, codeName: code}}
	}
	h := newHub(t, settings{
		agents: map[string]agent{
			"new": refusing("session/new", "-32603"), "prompt": refusing("session/prompt", "-32603"),
			"login": refusing("session/new", "-32000"), "prompt-login": refusing("session/prompt", "-32000"),
		},
		more: "outgoing: {allow: [" + at.Hostname() + "]}\n" +
			"channels: {desk: {type: webhook, url: " + service.URL + ", secret: of-the-desk-and-the-hub}}\n",
	})
	for name, kind := range map[string]notify.Kind{"new": notify.Failed, "prompt": notify.Interrupted, "login": notify.Failed, "prompt-login": notify.Failed} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			s := h.create(name)
			c := h.screen(name, s, 0)
			c.prompt(s.SessionID, "p1", "hello")
			require.Contains(t, c.untilTurnEnds("p1").Error.Message, reason)
			if name == "new" || name == "login" {
				c.until("the failed agent", func(_ []event.Event, state *wire.State) bool {
					return state != nil && state.Agent.Status == "failed"
				})
				c.until("its reason", func(_ []event.Event, state *wire.State) bool {
					require.Contains(t, state.Agent.Message, reason)
					return true
				})
			}
			select {
			case told := <-service.came:
				require.Equal(t, kind, told.Kind)
				require.Contains(t, told.Body, reason)
			case <-time.After(patience):
				t.Fatal("no notification came")
			}
			page, err := h.hub.Sessions(t.Context(), 0, "")
			require.NoError(t, err)
			for _, line := range page.Sessions {
				if line.SessionID == s.SessionID {
					require.Contains(t, line.LastLine, reason)
				}
			}
			shown, errs, code := h.run("show", s.SessionID)
			require.Zero(t, code, errs)
			require.Contains(t, shown, reason)
		})
	}
}

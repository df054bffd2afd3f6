package blackbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// demanding is the built-in agent with a required login, behind a tap.
func demanding(t *testing.T, record string) agent {
	a := demo()
	a.Command = append(a.Command, "--login", "--state", filepath.Join(t.TempDir(), "state"))
	return tapped(t, record, a)
}

// untilWanted sends a prompt and waits until the state lists the login methods.
func untilWanted(c *screen, session, promptID string) map[string]wire.AuthMethod {
	c.t.Helper()
	c.prompt(session, promptID, "/plan")
	require.Equal(c.t, event.StopAgentExit, c.untilTurnEnds(promptID).StopReason)
	methods := map[string]wire.AuthMethod{}
	c.until("the ways to log in", func(_ []event.Event, s *wire.State) bool {
		if s == nil || s.Agent.Status != state.AgentFailed {
			return false
		}
		for _, m := range s.Agent.AuthMethods {
			methods[m.MethodID] = m
		}
		return true
	})
	require.Len(c.t, methods, 3)
	return methods
}

// TestAnAgentIsLoggedInOverTheSocket logs in to an agent that requires it. Several
// attempts fail first.
func TestAnAgentIsLoggedInOverTheSocket(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": demanding(t, record)}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	methods := untilWanted(c, session.SessionID, "p1")
	require.Empty(t, methods["here"].Command, "a method of the agent has a command")

	tap := h.raw("/api/ws")
	for method, why := range map[string]string{
		"refused": "refused the login, as asked",
		"stars":   "not one of the agent's ways to log in",
		"":        "name one of the methods",
	} {
		tap.write(`{"type":"authenticate","request_id":"r-` + method + `","session_id":"` + session.SessionID + `","method_id":"` + method + `"}`)
		failed := tap.next("error").(*wire.Error)
		require.Equal(t, "r-"+method, failed.RequestID)
		require.Equal(t, wire.CodeInvalid, failed.Code)
		require.Contains(t, failed.Message, why)
	}
	require.Len(t, untilWanted(c, session.SessionID, "p2"), 3, "a failed login changed the methods")

	require.NoError(t, c.socket().Send(t.Context(), &wire.Authenticate{SessionID: session.SessionID, MethodID: "here"}))
	c.until("an agent that is logged in", func(_ []event.Event, s *wire.State) bool {
		return s.Agent.Status == state.AgentReady && len(s.Agent.AuthMethods) == 0
	})
	c.prompt(session.SessionID, "p3", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p3").StopReason)
	require.Equal(t, map[string]int{"/plan": 1}, readRecord(t, record).prompts, "prompts that came before the login are not sent again")
	requireTrueScreens(t, h, session.SessionID, c)
	c.prompt(session.SessionID, "p4", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p4").StopReason, "a login lasts")
}

// TestAnAgentIsLoggedInOverHTTPAfterItsOwnCommandRanInATerminal runs the login
// command that the state names. The hub must not send authenticate to the agent for
// this method.
func TestAnAgentIsLoggedInOverHTTPAfterItsOwnCommandRanInATerminal(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	configured := demo()
	configured.Command = append(configured.Command, "--login", "--state", filepath.Join(t.TempDir(), "state"))
	h := newHub(t, settings{agents: map[string]agent{"demo": configured, "tapped": demanding(t, record)}})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	command := untilWanted(c, session.SessionID, "p1")["terminal"].Command
	require.Equal(t, append(configured.Command, "login"), command)

	status, body := h.authenticate(session.SessionID, "terminal")
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "login`", "the refusal lacks the command")
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	status, body = h.authenticate(session.SessionID, "terminal")
	require.Equal(t, http.StatusOK, status, body)
	c.prompt(session.SessionID, "p2", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)

	other := h.create("tapped")
	status, _ = h.authenticate(other.SessionID, "here")
	require.Equal(t, http.StatusOK, status, "before any prompt")
	require.Equal(t, 1, timesGiven(t, record, "authenticate"))
	status, _ = h.authenticate(other.SessionID, "terminal")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, timesGiven(t, record, "authenticate"), "the agent was sent authenticate for a terminal login")
	requireTrueScreens(t, h, session.SessionID, c)
}

// timesGiven counts the calls of the method that the tap recorded.
func timesGiven(t *testing.T, record, method string) int {
	data, err := os.ReadFile(record)
	require.NoError(t, err)
	return bytes.Count(data, []byte(`"method":"`+method+`"`))
}

// authenticate sends the request over HTTP.
func (h *hub) authenticate(session, method string) (status int, body string) {
	h.t.Helper()
	data, err := json.Marshal(map[string]string{"method_id": method})
	require.NoError(h.t, err)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, "http://"+h.addr+"/api/sessions/"+session+"/authenticate", bytes.NewReader(data))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.token())
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return res.StatusCode, string(answer)
}

package acp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// playRefuses answers requests with the method of ACP_TEST_REFUSED with the error of
// ACP_TEST_ERROR, and does what the others ask for.
func playRefuses(f *fake) int {
	results := map[string]string{
		"initialize": `{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key"}],"agentCapabilities":{"loadSession":true,"auth":{"logout":{}},` +
			`"sessionCapabilities":{"resume":{},"list":{},"delete":{},"title":{},"fork":{},"close":{}}}}`,
		"session/new":       `{"sessionId":"` + fakeSession + `","models":{"currentModelId":"pro","availableModels":[{"modelId":"pro","name":"Pro"}]}}`,
		"session/set_title": `{"title":"Mine"}`,
		"session/fork":      `{"sessionId":"copy","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"}]}}`,
	}
	for {
		m := f.next()
		if m.Method == "session/fork" || m.Method == "session/prompt" {
			f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"copy","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}`)
		}
		switch result := results[m.Method]; {
		case m.ID == nil:
		case m.Method == os.Getenv("ACP_TEST_REFUSED"):
			f.line(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, os.Getenv("ACP_TEST_ERROR"))
		case result != "":
			f.result(m.ID, result)
		default:
			f.result(m.ID, `{}`)
		}
	}
}

// TestTheReasonOfARefusalIsTold has an agent refuse each request of the hub, with its
// reason in each of the places where agents put it.
func TestTheReasonOfARefusalIsTold(t *testing.T) {
	errs := map[string]string{
		"message": `{"code":-32603,"message":"Internal error","data":{"message":"no credit left"}}`,
		"details": `{"code":-32603,"message":"Internal error","data":{"details":"no credit left"}}`,
		"reason":  `{"code":-32603,"message":"Internal error","data":{"reason":"no credit left"}}`,
		"string":  `{"code":-32603,"message":"Internal error","data":"no credit left"}`,
		"JSON":    `{"code":-32603,"message":"Internal error: {\"error\":{\"message\":\"no credit left\"}}"}`,
	}
	const want = "Internal error: no credit left"
	ctx := context.Background()
	by := event.Actor{Name: "ann", ID: "d1"}
	starts := func(_ *testing.T, cfg acp.Config, s *sink) error {
		_, err := acp.Start(ctx, cfg, s)
		return err
	}
	// With a running agent.
	does := func(do func(*acp.Agent) error) func(*testing.T, acp.Config, *sink) error {
		return func(t *testing.T, cfg acp.Config, s *sink) error { return do(start(t, cfg, s)) }
	}
	for name, request := range map[string]struct {
		method string
		change func(*acp.Config)
		do     func(*testing.T, acp.Config, *sink) error
		note   string // the note in the log, if the request has one
	}{
		"initialize":   {method: "initialize", do: starts},
		"authenticate": {method: "authenticate", change: func(c *acp.Config) { c.AuthMethod = "key" }, do: starts},
		"new":          {method: "session/new", do: starts},
		"resume":       {method: "session/resume", change: func(c *acp.Config) { c.Resume = fakeSession }, do: does(none), note: "The agent answered session/resume with an error: " + want + "."},
		"load":         {method: "session/load", change: func(c *acp.Config) { c.Resume, c.Adopt = fakeSession, true }, do: starts},
		"prompt": {method: "session/prompt", do: func(t *testing.T, cfg acp.Config, s *sink) error {
			end := turnOf(t, start(t, cfg, s), s, "hello")
			require.Equal(t, want, end.Error.Message)
			return errors.New(end.Error.Message)
		}},
		"set_mode": {
			method: "session/set_mode", do: does(func(a *acp.Agent) error { return a.SetMode(ctx, "plan", by) }),
			note: "The agent refused mode plan: " + want + ".",
		},
		"set_config_option": {
			method: "session/set_config_option", do: does(func(a *acp.Agent) error { return a.SetConfigOption(ctx, "effort", "high", by) }),
			note: "The agent refused option effort: " + want + ".",
		},
		"set_model": {
			method: "session/set_model", do: does(func(a *acp.Agent) error { return a.SetConfigOption(ctx, "model", "pro", by) }),
			note: "The agent refused model pro: " + want + ".",
		},
		"delete": {
			method: "session/delete", do: does(func(a *acp.Agent) error { return a.Forget(ctx) }),
			note: "The agent answered session/delete with an error: " + want + ".",
		},
		"set_title": {
			method: "session/set_title", do: does(func(a *acp.Agent) error { return a.SetTitle(ctx, "Mine") }),
			note: "The agent answered session/set_title with an error: " + want + ".",
		},
		"list": {method: "session/list", do: func(_ *testing.T, cfg acp.Config, _ *sink) error {
			_, err := acp.List(ctx, cfg, "", "")
			return err
		}},
		"log in":  {method: "authenticate", do: func(_ *testing.T, cfg acp.Config, _ *sink) error { return acp.LogIn(ctx, cfg, "key") }},
		"log out": {method: "logout", do: func(_ *testing.T, cfg acp.Config, _ *sink) error { return acp.LogOut(ctx, cfg) }},
		"check":   {method: "session/new", do: func(_ *testing.T, cfg acp.Config, _ *sink) error { return acp.Check(ctx, cfg, "").Err }},
		"check of a prompt": {method: "session/prompt", do: func(_ *testing.T, cfg acp.Config, _ *sink) error {
			return acp.Check(ctx, cfg, "hello").Err
		}},
	} {
		for form, refusal := range errs {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				s := newSink()
				cfg := config(t, "refuses")
				cfg.SessionID = strings.ReplaceAll(cfg.SessionID, "/", "-")
				cfg.Env["ACP_TEST_REFUSED"], cfg.Env["ACP_TEST_ERROR"] = request.method, refusal
				if request.change != nil {
					request.change(&cfg)
				}
				err := request.do(t, cfg, s)
				if name != "resume" { // then another way is taken
					require.ErrorContains(t, err, want)
					require.NotContains(t, err.Error(), "{")
				}
				if request.note != "" {
					require.Contains(t, notesOf(s), request.note)
				}
			})
		}
	}
}

// TestATitleIsToldToAnAgentThatTakesOne covers session/set_title, which Codex offers.
func TestATitleIsToldToAnAgentThatTakesOne(t *testing.T) {
	ctx := context.Background()
	s := newSink()
	cfg := config(t, "refuses")
	wire := t.TempDir()
	cfg.Env["ACP_TEST_WIRE"] = wire
	require.NoError(t, start(t, cfg, s).SetTitle(ctx, "Mine"))
	require.Empty(t, of[event.Note](s))
	sent, err := os.ReadFile(filepath.Join(wire, "client"))
	require.NoError(t, err)
	require.Contains(t, string(sent), `"method":"session/set_title","params":{"sessionId":"`+fakeSession+`","title":"Mine"}`)
	require.ErrorIs(t, start(t, beside(config(t, "demo")), newSink()).SetTitle(ctx, "Mine"), acp.ErrNotOffered)
}

// TestACopyOfItsSessionIsTheAgentsOwn covers session/fork: nothing of the copy is in the
// log of the session.
func TestACopyOfItsSessionIsTheAgentsOwn(t *testing.T) {
	ctx := context.Background()
	s := newSink()
	cfg := config(t, "refuses")
	wire := t.TempDir()
	cfg.Env["ACP_TEST_WIRE"] = wire
	a := start(t, cfg, s)
	id, err := a.Fork(ctx, "/elsewhere")
	require.NoError(t, err)
	require.Equal(t, "copy", id)
	turnOf(t, a, s, "go") // it says something of the copy in it, too
	require.Equal(t, []event.Type{event.TypeAgentStarted, event.TypeConfig, event.TypeTurnEnd}, types(s.all()))
	sent, err := os.ReadFile(filepath.Join(wire, "client"))
	require.NoError(t, err)
	require.Contains(t, string(sent), `"method":"session/fork","params":{"cwd":"/elsewhere","mcpServers":[],"sessionId":"`+fakeSession+`"}`)
	require.Contains(t, string(sent), `"method":"session/close","params":{"sessionId":"copy"}`)
	_, err = start(t, beside(config(t, "demo")), newSink()).Fork(ctx, "/elsewhere")
	require.ErrorIs(t, err, acp.ErrNotOffered)

	refused := newSink()
	cfg = beside(beside(config(t, "refuses")))
	cfg.Env["ACP_TEST_REFUSED"], cfg.Env["ACP_TEST_ERROR"] = "session/fork", `{"code":-32603,"message":"no"}`
	_, err = start(t, cfg, refused).Fork(ctx, "/elsewhere")
	require.ErrorContains(t, err, "no")
	require.Empty(t, of[event.Note](refused), "a summary is told then")
}

func none(*acp.Agent) error { return nil }

// notesOf are the texts of all notes.
func notesOf(s *sink) (texts []string) {
	for _, n := range of[event.Note](s) {
		texts = append(texts, string(n.Text))
	}
	return texts
}

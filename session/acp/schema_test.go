package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// schema checks messages against the protocol's published JSON schema.
type schema struct {
	compiler *jsonschema.Compiler
	// names finds a definition by method and suffix: Request, Response or
	// Notification.
	names map[string]string
}

func openSchema(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile("testdata/schema/v1.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	s := &schema{compiler: jsonschema.NewCompiler(), names: map[string]string{}}
	require.NoError(t, s.compiler.AddResource("v1.json", document))
	for name, definition := range document.(map[string]any)["$defs"].(map[string]any) {
		method, _ := definition.(map[string]any)["x-method"].(string)
		for _, ending := range []string{"Request", "Response", "Notification"} {
			if method != "" && strings.HasSuffix(name, ending) {
				s.names[method+" "+ending] = name
			}
		}
	}
	return s
}

// check validates params or a result. It reports whether the schema has the
// definition.
func (s *schema) check(t *testing.T, method, ending string, value json.RawMessage) bool {
	t.Helper()
	name, ok := s.names[method+" "+ending]
	if !ok {
		return false
	}
	s.validate(t, name, value)
	return true
}

func (s *schema) validate(t *testing.T, name string, value json.RawMessage) {
	t.Helper()
	definition, err := s.compiler.Compile("v1.json#/$defs/" + name)
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	require.NoError(t, err)
	if err := definition.Validate(instance); err != nil {
		require.NoError(t, err, "%s: %s", name, shorten(string(value)))
	}
}

// conversation validates the messages of one side. The messages of the other side
// tell the method of each response. It returns the numbers of checked messages by
// kind, and the methods that the schema lacks.
func (s *schema) conversation(t *testing.T, side, other []incoming) (checked map[string]int, unknown []string) {
	t.Helper()
	asked := map[string]string{}
	for _, m := range other {
		if m.Method != "" && m.ID != nil {
			asked[string(m.ID)] = m.Method
		}
	}
	checked = map[string]int{}
	for _, m := range side {
		method, ending, value := m.Method, "Request", m.Params
		switch {
		case m.Method == "" && m.Error != nil:
			s.validate(t, "Error", m.Error)
			checked["error"]++
			continue
		case m.Method == "":
			method, ending, value = asked[string(m.ID)], "Response", m.Result
		case m.ID == nil:
			ending = "Notification"
		}
		if s.check(t, method, ending, value) {
			checked[method+" "+ending]++
		} else {
			unknown = append(unknown, method)
		}
	}
	return checked, unknown
}

// wireOf reads the lines that one side wrote.
func wireOf(t *testing.T, dir, side string) []incoming {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, side))
	require.NoError(t, err)
	var messages []incoming
	for line := range bytes.Lines(data) {
		var m incoming
		if err := json.Unmarshal(line, &m); err == nil { // some lines are invalid on purpose
			messages = append(messages, m)
		}
	}
	return messages
}

func TestBothDirectionsFollowTheProtocolsSchema(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	wire := t.TempDir()
	cfg.Env["ACP_TEST_WIRE"] = wire
	cfg.Files = true
	a := start(t, cfg, s)
	answer := func(q event.PermissionRequest) {
		o := event.PermissionOutcome{PermissionID: q.PermissionID, Outcome: event.OutcomeSelected, OptionID: q.Options[0].OptionID}
		if q.Form != nil {
			o.Content = json.RawMessage(`{"name":"Ada","loud":true,"times":3}`)
		}
		_ = a.Answer(o) // the request may have been withdrawn
	}
	s.mu.Lock()
	s.onRecord = func(payloads []event.Payload) {
		for _, p := range payloads {
			if q, ok := p.(event.PermissionRequest); ok {
				go answer(q) // Answer waits for the reader, so the reader must not wait for Answer
			}
		}
	}
	s.mu.Unlock()
	texts := []string{
		"a tour", "/markdown", "/plan", "/edit notes.txt", "/ask", "/ask2", "/form", "/term", "/fs", "/slow 1", "/burst 3", "/big 1", "/late",
		"/early", "/error", "/refuse", "/maxtokens",
	}
	for _, text := range texts {
		turnOf(t, a, s, text)
	}
	ctx := context.Background()
	require.NoError(t, a.SetMode(ctx, "auto", event.Actor{Name: "ann", ID: "d1"}))
	require.NoError(t, a.SetConfigOption(ctx, "model", "hasty", event.Actor{Name: "ann", ID: "d1"}))
	require.NoError(t, a.SetConfigOption(ctx, "verbose", true, event.Actor{Name: "ann", ID: "d1"}))
	require.NoError(t, a.Authenticate(ctx, "none"))
	finish(t, a, s)
	listing := t.TempDir()
	cfg.Env["ACP_TEST_WIRE"] = listing
	stored, err := acp.List(ctx, cfg, cfg.Workspace, "")
	require.NoError(t, err)
	require.Len(t, stored.Sessions, 1)

	schema := openSchema(t)
	client, agent := wireOf(t, wire, "client"), wireOf(t, wire, "agent")
	checked, unknown := schema.conversation(t, client, agent)
	require.Empty(t, unknown)
	require.Equal(t, len(texts), checked["session/prompt Request"])
	require.GreaterOrEqual(t, checked["session/request_permission Response"], 4)
	for _, what := range []string{"elicitation/create Response", "fs/read_text_file Response", "fs/write_text_file Response", "session/close Request"} {
		require.Equal(t, 1, checked[what], what)
	}
	require.Equal(t, 2, checked["session/set_config_option Request"])
	checked, unknown = schema.conversation(t, wireOf(t, listing, "client"), wireOf(t, listing, "agent"))
	require.Empty(t, unknown)
	require.Equal(t, 1, checked["session/list Request"])
	checked, unknown = schema.conversation(t, agent, client)
	require.Empty(t, unknown)
	require.Equal(t, len(texts)-1, checked["session/prompt Response"], "all but the one that fails")
	require.Equal(t, 1, checked["elicitation/create Request"])
	require.Positive(t, checked["session/update Notification"])
}

// requireBoth requires that the messages of both sides follow the schema, that no
// method is unknown, and that the given kinds occur.
func requireBoth(t *testing.T, wire string, client, agent []string) {
	t.Helper()
	schema := openSchema(t)
	sent, answered := wireOf(t, wire, "client"), wireOf(t, wire, "agent")
	checked, unknown := schema.conversation(t, sent, answered)
	require.Empty(t, unknown)
	for _, what := range client {
		require.Positive(t, checked[what], "of the client: %s", what)
	}
	checked, unknown = schema.conversation(t, answered, sent)
	require.Empty(t, unknown)
	for _, what := range agent {
		require.Positive(t, checked[what], "of the agent: %s", what)
	}
}

func TestTerminalsFollowTheProtocolsSchema(t *testing.T) {
	cfg := config(t, "asks")
	wire := t.TempDir()
	cfg.Env["ACP_TEST_WIRE"] = wire
	cfg.Terminals = true
	on := func(verb string) ask { return ask{"terminal/" + verb, map[string]any{"terminalId": "$T"}} }
	create := func(script string) ask {
		return ask{"terminal/create", map[string]any{
			"command": "sh", "args": []string{"-c", script}, "cwd": cfg.Workspace, "outputByteLimit": 5,
			"env": []map[string]string{{"name": "A", "value": "b"}},
		}}
	}
	asked(t, cfg,
		create("echo too much; exit 3"), on("wait_for_exit"), on("output"), on("release"), on("output"),
		create("sleep 60"), on("output"), on("kill"), on("wait_for_exit"), on("output"), on("release"),
		ask{"fs/read_text_file", map[string]any{"path": "/etc/passwd"}},
	)
	var requests, responses []string
	for _, verb := range []string{"create", "output", "wait_for_exit", "kill", "release"} {
		requests, responses = append(requests, "terminal/"+verb+" Request"), append(responses, "terminal/"+verb+" Response")
	}
	requireBoth(t, wire, append(responses, "error"), append(requests, "session/new Response"))
}

func TestComingBackFollowsTheProtocolsSchema(t *testing.T) {
	for method, without := range map[string]string{"session/resume": "", "session/load": "resume"} {
		t.Run(method, func(t *testing.T) {
			cfg := config(t, "demo")
			s := newSink()
			a := start(t, cfg, s)
			require.NoError(t, a.Prompt(prompt("p", "/edit x")))
			choose(t, a, s, 0, "yes")
			ended(t, s, "p")
			finish(t, a, s)

			wire := t.TempDir()
			cfg.Env["ACP_TEST_WIRE"], cfg.Env["ACP_TEST_NO_RESUME"] = wire, without
			cfg.Resume = a.SessionID()
			cfg.MCPServers = []acp.MCPServer{
				{Name: "files", Command: "mcp-files", Args: []string{"--all"}, Env: map[string]string{"A": "1"}}, {Name: "bare", Command: "x"},
				{Name: "web", Type: "http", URL: "http://localhost/", Headers: map[string]string{"X": "y"}},
				{Name: "old", Type: "sse", URL: "http://localhost/"},
			}
			s = newSink()
			b := start(t, cfg, s)
			turnOf(t, b, s, "/plan")
			finish(t, b, s)
			replayed := []string{method + " Response", "session/update Notification"}
			requireBoth(t, wire, []string{method + " Request", "session/prompt Request"}, replayed)
		})
	}
}

func TestACancelledTurnFollowsTheProtocolsSchema(t *testing.T) {
	cfg := config(t, "demo")
	wire := t.TempDir()
	cfg.Env["ACP_TEST_WIRE"] = wire
	path := filepath.Join(t.TempDir(), "attached")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	cfg.OpenBlob = func(string) (io.ReadCloser, error) { return os.Open(path) }
	s := newSink()
	a := start(t, cfg, s)
	p := prompt("p", "/ask")
	for _, kind := range []string{"image/png", "text/plain", "audio/wav"} {
		p.Attachments = append(p.Attachments, event.Attachment{Name: "a", MediaType: kind, Bytes: 4, SHA256: "x"})
	}
	require.NoError(t, a.Prompt(p))
	q := first[event.PermissionRequest](t, s)
	require.NoError(t, a.Cancel())
	require.NoError(t, a.Answer(event.PermissionOutcome{PermissionID: q.PermissionID, Outcome: event.OutcomeCancelled}))
	require.Equal(t, event.StopCancelled, ended(t, s, "p").StopReason)
	finish(t, a, s)
	requireBoth(t, wire,
		[]string{"session/prompt Request", "session/cancel Notification", "session/request_permission Response"},
		[]string{"session/prompt Response", "session/request_permission Request"})
}

func TestMessagesToRealAgentsFollowTheSchema(t *testing.T) {
	schema := openSchema(t)
	for _, file := range traces(t) {
		t.Run(traceName(file), func(t *testing.T) {
			wire := t.TempDir()
			t.Setenv("ACP_TEST_WIRE_OF_REPLAY", wire)
			r := replayed(t, file)
			var agent []incoming
			for _, st := range r.steps {
				if st.Dir == "a>c" {
					agent = append(agent, st.message())
				}
			}
			checked, unknown := schema.conversation(t, wireOf(t, wire, "client"), agent)
			require.Empty(t, unknown)
			require.Equal(t, 1, checked["initialize Request"])
		})
	}
}

package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// schema checks messages against the protocol's published JSON schema.
type schema struct {
	compiler *jsonschema.Compiler
	// names finds a definition by method and ending: Request, Response or
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

// check validates params or a result; it reports whether the schema knows them.
func (s *schema) check(t *testing.T, method, ending string, value json.RawMessage) bool {
	t.Helper()
	name, ok := s.names[method+" "+ending]
	if !ok {
		return false
	}
	definition, err := s.compiler.Compile("v1.json#/$defs/" + name)
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	require.NoError(t, err)
	if err := definition.Validate(instance); err != nil {
		require.NoError(t, err, "%s %s: %s", method, ending, shorten(string(value)))
	}
	return true
}

// conversation validates one side's messages; the other's say which method a
// response answers. It returns how many of what were checked, and the methods
// the schema does not have.
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

// wireOf reads what one side of a test's agent wrote.
func wireOf(t *testing.T, dir, side string) []incoming {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, side))
	require.NoError(t, err)
	var messages []incoming
	for line := range bytes.Lines(data) {
		var m incoming
		if err := json.Unmarshal(line, &m); err == nil { // noise is on purpose
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
		_ = a.Answer(o) // one may have been withdrawn
	}
	s.mu.Lock()
	s.onRecord = func(payloads []event.Payload) {
		for _, p := range payloads {
			if q, ok := p.(event.PermissionRequest); ok {
				go answer(q) // the reader that records may not wait for itself
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
	require.NoError(t, a.SetMode(ctx, "auto"))
	require.NoError(t, a.SetConfigOption(ctx, "model", "hasty"))
	require.NoError(t, a.SetConfigOption(ctx, "verbose", true))
	_, _, err := a.List(ctx, "")
	require.NoError(t, err)
	require.NoError(t, a.CloseSession(ctx))
	require.NoError(t, a.DeleteSession(ctx, a.SessionID()))
	require.NoError(t, a.Authenticate(ctx, "none"))
	finish(t, a, s)

	schema := openSchema(t)
	client, agent := wireOf(t, wire, "client"), wireOf(t, wire, "agent")
	checked, unknown := schema.conversation(t, client, agent)
	require.Empty(t, unknown)
	require.Equal(t, len(texts), checked["session/prompt Request"])
	require.GreaterOrEqual(t, checked["session/request_permission Response"], 4)
	for _, what := range []string{"elicitation/create Response", "fs/read_text_file Response", "fs/write_text_file Response", "session/list Request"} {
		require.Equal(t, 1, checked[what], what)
	}
	require.Equal(t, 2, checked["session/set_config_option Request"])
	checked, unknown = schema.conversation(t, agent, client)
	require.Empty(t, unknown)
	require.Equal(t, len(texts)-1, checked["session/prompt Response"], "one ends in an error")
	require.Equal(t, 1, checked["elicitation/create Request"])
	require.Positive(t, checked["session/update Notification"])
}

func TestWhatTheHubSendsToRealAgentsFollowsTheProtocolsSchema(t *testing.T) {
	schema := openSchema(t)
	for _, file := range traces(t) {
		t.Run(traceName(file), func(t *testing.T) {
			wire := t.TempDir()
			t.Setenv("ACP_TEST_WIRE_OF_REPLAY", wire)
			steps, _ := replayed(t, file)
			var agent []incoming
			for _, st := range steps {
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

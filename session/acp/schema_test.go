package acp_test

import (
	"bytes"
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
	a := start(t, cfg, s)
	for _, text := range []string{"a tour", "/markdown", "/plan", "/edit notes.txt", "/ask", "/slow 1", "/burst 3", "/late"} {
		asked := len(of[event.PermissionRequest](s))
		require.NoError(t, a.Prompt(prompt(text, text)))
		if text == "a tour" || text == "/ask" || strings.HasPrefix(text, "/edit") {
			s.wait(t, "a question", func(event.Payload) bool { return len(of[event.PermissionRequest](s)) > asked })
			q := of[event.PermissionRequest](s)[asked]
			require.NoError(t, a.Answer(event.PermissionOutcome{
				PermissionID: q.PermissionID, Outcome: event.OutcomeSelected, OptionID: q.Options[0].OptionID,
			}))
		}
		ended(t, s, text)
	}
	finish(t, a, s)

	schema := openSchema(t)
	client, agent := wireOf(t, wire, "client"), wireOf(t, wire, "agent")
	checked, unknown := schema.conversation(t, client, agent)
	require.Empty(t, unknown)
	require.Equal(t, 8, checked["session/prompt Request"])
	require.Equal(t, 3, checked["session/request_permission Response"])
	checked, unknown = schema.conversation(t, agent, client)
	require.Empty(t, unknown)
	require.Equal(t, 8, checked["session/prompt Response"])
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

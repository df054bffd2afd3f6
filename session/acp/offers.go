package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// offers are the capabilities that an agent announced.
type offers struct {
	name, version                     string
	load, resume, list, close, delete bool
	image, audio, embedded            bool
	http, sse                         bool // kinds of MCP servers, besides stdio
	logout, title, fork, directories  bool
	auth                              []AuthMethod
}

// AuthMethod is a login method of the agent.
type AuthMethod struct {
	ID          string
	Name        string
	Description string
	// Command is the command that a person runs in a terminal to log in, with the
	// variables it needs. The agent is then restarted, and gets no authenticate
	// request. Nil if the login is a request to the agent, or if the description
	// explains it.
	Command []string
	// Configured means that Command is the agent's configured one, with arguments
	// that it adds. Another is of its own choice: a person must see that.
	Configured bool
}

// AuthError means that the agent requires a login.
type AuthError struct {
	Methods []AuthMethod
	// Reason is why, in the agent's words; empty if it says no more than that.
	Reason string
	Err    error
}

// Error implements error, in words for a person.
func (e *AuthError) Error() string {
	var ways []string
	for _, m := range e.Methods {
		way := m.Name
		switch command := strings.Join(m.Command, " "); {
		case m.Configured:
			way += ": run `" + command + "`"
		case command != "":
			way += ": the agent asks to run `" + command + "`; run it only if you trust it"
		case m.Description != "":
			way += ": " + m.Description
		}
		ways = append(ways, way)
	}
	words := "the agent needs a login"
	if e.Reason != "" {
		words += ": " + strings.TrimRight(e.Reason, ".")
	}
	if len(ways) == 0 {
		return words + ", and names no way to log in"
	}
	return words + " (" + strings.Join(ways, "; ") + ")"
}

// Unwrap returns the agent's own error.
func (e *AuthError) Unwrap() error { return e.Err }

// readOffers reads an agent's response to initialize. command is how the agent was
// started.
func readOffers(hello json.RawMessage, command []string) (offers, error) {
	var h struct {
		ProtocolVersion   int `json:"protocolVersion"`
		AgentCapabilities struct {
			LoadSession        bool                       `json:"loadSession"`
			PromptCapabilities map[string]json.RawMessage `json:"promptCapabilities"`
			MCPCapabilities    map[string]json.RawMessage `json:"mcpCapabilities"`
			Auth               map[string]json.RawMessage `json:"auth"`
			// An empty object means yes.
			SessionCapabilities map[string]json.RawMessage `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
		AuthMethods []json.RawMessage `json:"authMethods"`
	}
	if err := json.Unmarshal(hello, &h); err != nil {
		return offers{}, fmt.Errorf("%s: unreadable answer: %w", methodInitialize, err)
	}
	if h.ProtocolVersion != protocolVersion {
		return offers{}, fmt.Errorf("%s: the agent speaks version %d of the protocol, not %d", methodInitialize, h.ProtocolVersion, protocolVersion)
	}
	can := func(m map[string]json.RawMessage, key string) bool {
		raw, ok := m[key]
		return ok && !isNull(raw) && string(raw) != "false"
	}
	sessions, prompts := h.AgentCapabilities.SessionCapabilities, h.AgentCapabilities.PromptCapabilities
	name, version := agentInfo(hello)
	return offers{
		name: name, version: version, logout: can(h.AgentCapabilities.Auth, "logout"),
		load: h.AgentCapabilities.LoadSession, resume: can(sessions, "resume"), list: can(sessions, "list"),
		close: can(sessions, "close"), delete: can(sessions, "delete"), title: can(sessions, "title"),
		fork: can(sessions, "fork"), directories: can(sessions, "additionalDirectories"),
		image: can(prompts, "image"), audio: can(prompts, "audio"), embedded: can(prompts, "embeddedContext"),
		http: can(h.AgentCapabilities.MCPCapabilities, "http"), sse: can(h.AgentCapabilities.MCPCapabilities, "sse"),
		auth: authMethods(h.AuthMethods, command),
	}, nil
}

func authMethods(list []json.RawMessage, command []string) []AuthMethod {
	var methods []AuthMethod
	for _, raw := range list {
		var m struct {
			ID, Name, Description, Type string
			Args                        []string
			Env                         map[string]string
			Meta                        struct {
				Terminal struct {
					Command string
					Args    []string
					Env     map[string]string
				} `json:"terminal-auth"`
			} `json:"_meta"`
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		method := AuthMethod{ID: m.ID, Name: m.Name, Description: m.Description}
		if m.Type == "terminal" {
			method.Command = inTerminal(m.Env, command, m.Args)
		} else if t := m.Meta.Terminal; t.Command != "" { // used by agents before the protocol had a field for it
			method.Command = inTerminal(t.Env, []string{t.Command}, t.Args)
		}
		n := len(command)
		method.Configured = n > 0 && len(method.Command) >= n && slices.Equal(method.Command[:n], command)
		methods = append(methods, method)
	}
	return methods
}

// inTerminal returns a command as a person can type it.
func inTerminal(env map[string]string, command, more []string) []string {
	var words []string
	if len(env) > 0 {
		words = append(words, "env")
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, name+"="+env[name])
	}
	return slices.Concat(words, command, more)
}

// servers divides MCP servers into those of a kind that the agent takes, and the
// others. Every agent takes stdio servers.
func (o offers) servers(all []MCPServer) (taken, others []MCPServer) {
	for _, s := range all {
		if s.Type == "http" && !o.http || s.Type == "sse" && !o.sse {
			others = append(others, s)
		} else {
			taken = append(taken, s)
		}
	}
	return taken, others
}

// continuing lists the ways to continue an earlier session, best first.
func (o offers) continuing() []string {
	var methods []string
	if o.resume {
		methods = append(methods, methodResume)
	}
	if o.load {
		methods = append(methods, methodLoad)
	}
	return methods
}

// plainDemand is the protocol's own message for a login: it gives no reason.
const plainDemand = "Authentication required"

// explain adds the login command to an error if the agent requires a login.
func (o offers) explain(err error) error {
	var refused *RequestError
	if errors.As(err, &refused) && refused.Code == codeAuthRequired {
		reason := refused.Message
		if n := len(plainDemand); len(reason) >= n && strings.EqualFold(reason[:n], plainDemand) {
			reason = strings.TrimLeft(reason[n:], ".: ")
		}
		return &AuthError{Methods: o.auth, Reason: reason, Err: err}
	}
	return err
}

// method finds a way to log in.
func (o offers) method(id string) (AuthMethod, bool) {
	for _, m := range o.auth {
		if m.ID == id {
			return m, true
		}
	}
	return AuthMethod{}, false
}

package demoagent

import (
	"context"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"
)

// NewSession implements sdk.Agent. The commands are offered behind the answer,
// as clients know the session only then.
func (a *agent) NewSession(_ context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if err := a.login.required(); err != nil {
		return sdk.NewSessionResponse{}, err
	}
	id, err := a.archive.create(a.options.Seed, p.Cwd)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s := a.begin(id, p.Cwd)
	return sdk.NewSessionResponse{Meta: a.servers(), SessionId: id, Modes: s.modes(), ConfigOptions: s.options()}, nil
}

// LoadSession implements sdk.AgentLoader: it repeats the session.
func (a *agent) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	if err := a.login.required(); err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	is, updates, err := a.archive.open(p.SessionId)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	for _, update := range updates {
		params := map[string]any{"sessionId": is.ID, "update": update}
		if err := a.wire.notify(sdk.ClientMethodSessionUpdate, params); err != nil {
			return sdk.LoadSessionResponse{}, err
		}
	}
	s := a.begin(is.ID, p.Cwd)
	s.continueAfter(updates)
	return sdk.LoadSessionResponse{Meta: a.servers(), Modes: s.modes(), ConfigOptions: s.options()}, ctx.Err()
}

// ResumeSession implements sdk.Agent: as load, without repeating anything.
func (a *agent) ResumeSession(_ context.Context, p sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	if err := a.login.required(); err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	is, updates, err := a.archive.open(p.SessionId)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	s := a.begin(is.ID, p.Cwd)
	s.continueAfter(updates)
	return sdk.ResumeSessionResponse{Meta: a.servers(), Modes: s.modes(), ConfigOptions: s.options()}, nil
}

// servers says which MCP server the agent has of its own.
func (a *agent) servers() map[string]any {
	if a.options.MCP == "" {
		return nil
	}
	return map[string]any{"mcpServers": []string{a.options.MCP}}
}

func (a *agent) begin(id sdk.SessionId, workspace string) *session {
	s := newSession(id, workspace, a.options)
	a.mu.Lock()
	a.sessions[id] = s
	a.mu.Unlock()
	a.wire.behind(sessionAnswer, func() {
		_ = a.conn.SessionUpdate(context.Background(), sdk.SessionNotification{ // a client that is gone needs no commands
			SessionId: id, Update: sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: offered()}},
		})
	})
	return s
}

// ListSessions implements sdk.Agent.
func (a *agent) ListSessions(_ context.Context, p sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{Sessions: a.archive.list(p.Cwd)}, nil
}

// CloseSession implements sdk.Agent.
func (a *agent) CloseSession(_ context.Context, p sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := a.session(p.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	a.mu.Lock()
	delete(a.sessions, p.SessionId)
	a.mu.Unlock()
	s.playing.Lock()
	defer s.playing.Unlock()
	s.scratch.remove()
	return sdk.CloseSessionResponse{}, nil
}

// UnstableDeleteSession implements session/delete, by the SDK's name for it.
func (a *agent) UnstableDeleteSession(_ context.Context, p sdk.UnstableDeleteSessionRequest) (sdk.UnstableDeleteSessionResponse, error) {
	a.archive.remove(p.SessionId)
	return sdk.UnstableDeleteSessionResponse{}, nil
}

// SetSessionMode implements sdk.Agent.
func (a *agent) SetSessionMode(_ context.Context, p sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := a.session(p.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	if a.options.Locked {
		return sdk.SetSessionModeResponse{}, sdk.NewInvalidParams("the mode is locked")
	}
	if p.ModeId != "ask" && p.ModeId != "auto" {
		return sdk.SetSessionModeResponse{}, sdk.NewInvalidParams(fmt.Sprintf("no mode %q", p.ModeId))
	}
	s.mu.Lock()
	s.mode = p.ModeId
	s.mu.Unlock()
	return sdk.SetSessionModeResponse{}, nil
}

// SetSessionConfigOption implements sdk.Agent.
func (a *agent) SetSessionConfigOption(_ context.Context, p sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	var id sdk.SessionId
	switch {
	case p.Boolean != nil:
		id = p.Boolean.SessionId
	case p.ValueId != nil:
		id = p.ValueId.SessionId
	}
	s, err := a.session(id)
	if err != nil {
		return sdk.SetSessionConfigOptionResponse{}, err
	}
	s.mu.Lock()
	switch {
	case a.options.Locked:
		err = sdk.NewInvalidParams("the options are locked")
	case p.Boolean != nil && p.Boolean.ConfigId == "verbose":
		s.verbose = p.Boolean.Value
	case p.ValueId != nil && p.ValueId.ConfigId == "model" && (p.ValueId.Value == "steady" || p.ValueId.Value == "hasty"):
		s.model = p.ValueId.Value
	case s.modeOption && p.ValueId != nil && p.ValueId.ConfigId == "how" && (p.ValueId.Value == "ask" || p.ValueId.Value == "auto"):
		s.mode = sdk.SessionModeId(p.ValueId.Value) // and no mode update, as some agents do
	default:
		err = sdk.NewInvalidParams("no such option or value")
	}
	s.mu.Unlock()
	if err != nil {
		return sdk.SetSessionConfigOptionResponse{}, err
	}
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: s.options()}, nil
}

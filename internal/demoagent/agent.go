package demoagent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// agent implements the protocol's agent side.
type agent struct {
	// set at construction
	options Options
	wire    *wire
	order   *order
	conn    *sdk.AgentSideConnection

	mu       sync.Mutex
	sessions map[sdk.SessionId]*session // guarded by mu
}

// Initialize implements sdk.Agent.
func (a *agent) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	version := a.options.Version
	if version == "" {
		version = "dev"
	}
	return sdk.InitializeResponse{
		ProtocolVersion: 1,
		AgentInfo:       &sdk.Implementation{Name: "abide-demo-agent", Title: sdk.Ptr("Demo agent"), Version: version},
		AgentCapabilities: sdk.AgentCapabilities{
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
		},
		AuthMethods: []sdk.AuthMethod{},
	}, nil
}

// NewSession implements sdk.Agent.
func (a *agent) NewSession(_ context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := sdk.SessionId(fmt.Sprintf("demo-%d-%d", a.options.Seed, len(a.sessions)+1))
	a.sessions[id] = &session{id: id, workspace: p.Cwd}
	return sdk.NewSessionResponse{SessionId: id}, nil
}

// Prompt implements sdk.Agent: it plays what the prompt names.
func (a *agent) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	s, err := a.session(p.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	s.playing.Lock() // the SDK has ended the prompt before, which may still be leaving
	defer s.playing.Unlock()
	s.turns++
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.order.isCancelled(s.id, s.turns) {
		cancel()
	}
	t := &turn{ctx: ctx, agent: a, session: s, text: promptText(p.Prompt), stop: sdk.StopReasonEndTurn}
	if s.turns == 1 {
		t.commands()
	}
	err = t.play()
	switch {
	case ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case err != nil:
		return sdk.PromptResponse{}, err
	}
	return sdk.PromptResponse{StopReason: t.stop, Usage: t.usage()}, nil
}

// promptText is what a person typed: the last text block.
func promptText(blocks []sdk.ContentBlock) string {
	for i := len(blocks) - 1; i >= 0; i-- {
		if text := blocks[i].Text; text != nil {
			return strings.TrimSpace(text.Text)
		}
	}
	return ""
}

// Cancel implements sdk.Agent. The SDK has ended the prompt's context by now.
func (a *agent) Cancel(context.Context, sdk.CancelNotification) error { return nil }

// Authenticate implements sdk.Agent; there is nothing to log in to.
func (a *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

// Logout implements sdk.Agent.
func (a *agent) Logout(context.Context, sdk.LogoutRequest) (sdk.LogoutResponse, error) {
	return sdk.LogoutResponse{}, nil
}

// CloseSession implements sdk.Agent.
func (a *agent) CloseSession(_ context.Context, p sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	return sdk.CloseSessionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionClose)
}

// ListSessions implements sdk.Agent.
func (a *agent) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionList)
}

// ResumeSession implements sdk.Agent.
func (a *agent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionResume)
}

// SetSessionConfigOption implements sdk.Agent.
func (a *agent) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetConfigOption)
}

// SetSessionMode implements sdk.Agent.
func (a *agent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetMode)
}

func (a *agent) session(id sdk.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &sdk.RequestError{Code: -32002, Message: fmt.Sprintf("session %q not found", id)}
}

// close removes what the sessions left on disk.
func (a *agent) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		s.scratch.remove()
	}
}

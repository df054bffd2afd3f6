package demoagent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// agent implements the protocol's agent side.
type agent struct {
	// set at construction
	options Options
	wire    *wire
	order   *order
	archive archive
	login   login
	conn    *sdk.AgentSideConnection

	mu       sync.Mutex
	sessions map[sdk.SessionId]*session // guarded by mu
	files    sdk.FileSystemCapabilities // guarded by mu: the client's capabilities
}

// Initialize implements sdk.Agent.
func (a *agent) Initialize(_ context.Context, p sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	a.mu.Lock()
	a.files = p.ClientCapabilities.Fs
	a.mu.Unlock()
	version := a.options.Version
	if version == "" {
		version = "dev"
	}
	var login sdk.AgentAuthCapabilities
	if a.login.path != "" {
		login.Logout = &sdk.LogoutCapabilities{}
	}
	return sdk.InitializeResponse{
		ProtocolVersion: 1,
		AgentInfo:       &sdk.Implementation{Name: "abide-demo-agent", Title: sdk.Ptr("Demo agent"), Version: version},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			Auth:               login,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				Close: &sdk.SessionCloseCapabilities{}, Delete: &sdk.SessionDeleteCapabilities{},
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
			},
		},
		AuthMethods: a.login.methods(p.ClientCapabilities.Auth),
	}, nil
}

// Prompt implements sdk.Agent: it plays the scenario that the prompt names.
func (a *agent) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	if err := a.login.required(); err != nil {
		return sdk.PromptResponse{}, err
	}
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
	t := &turn{ctx: ctx, agent: a, session: s, text: promptText(p.Prompt), stop: sdk.StopReasonEndTurn, grown: map[string]*event.ToolCallFields{}}
	t.remember(sdk.UpdateUserMessageText(t.text))
	if strings.HasPrefix(t.text, restorePrefix) {
		used := t.readRecord()
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled, Usage: used}, a.archive.append(s.id, s.turnOver())
	}
	err = t.play()
	if err := a.archive.append(s.id, s.turnOver()); err != nil {
		fmt.Fprintln(a.options.Stderr, "demo agent:", err)
	}
	switch {
	case ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case err != nil:
		return sdk.PromptResponse{}, err
	}
	return sdk.PromptResponse{StopReason: t.stop, Usage: t.usage()}, nil
}

// promptText is the person's text: the last text block.
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

func (a *agent) session(id sdk.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &sdk.RequestError{Code: -32002, Message: fmt.Sprintf("session %q not found", id)}
}

// close removes the sessions' files.
func (a *agent) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		s.scratch.remove()
	}
}

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// AuthMethod is a way to log in to what an agent uses.
type AuthMethod struct {
	ID          string
	Name        string
	Description string
	// Command is what a person runs in a terminal; nil when Authenticate or
	// Description is the way.
	Command []string
}

// LoginNeeded says that an agent wants a login before it works.
type LoginNeeded struct {
	Methods []AuthMethod
	// Err is the agent's own error, in words for a person.
	Err error
}

// Error says what to do.
func (e *LoginNeeded) Error() string { return e.Err.Error() }

// Unwrap returns the agent's own error.
func (e *LoginNeeded) Unwrap() error { return e.Err }

// Authenticate starts the agent anew, logging in by one of its methods, and
// waits until it is ready. While a turn is open it is ErrBusy; a login that
// fails is ErrInvalid with the agent's words.
func (b *BackgroundSession) Authenticate(ctx context.Context, methodID, actor string) error {
	if methodID == "" || len(methodID) > 200 || strings.TrimSpace(methodID) == "" {
		return fmt.Errorf("%w: name one of the methods in the agent's state", ErrInvalid)
	}
	err := tell(ctx, b, func(e *engine) error {
		if err := e.refusal(); err != nil {
			return err
		}
		if e.fold.open {
			return fmt.Errorf("%w: the agent is at work; log in after the turn", ErrBusy)
		}
		e.logger.Info("agent is logged in", "actor", actor, "method", methodID)
		e.agent.forgive()
		e.agent.authBy = methodID
		e.stopAgent(stopReset)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = b.readyAgent(ctx)
	if failed := b.State().Agent; err != nil && len(failed.AuthMethods) > 0 {
		return fmt.Errorf("%w: %s", ErrInvalid, failed.Message)
	}
	return err
}

// promptCapabilities reads what an agent said of prompts when it started.
func promptCapabilities(p event.AgentStarted) *PromptCapabilities {
	var raw struct {
		Initialize struct {
			Capabilities struct {
				Prompts struct {
					Image           bool `json:"image"`
					Audio           bool `json:"audio"`
					EmbeddedContext bool `json:"embeddedContext"`
				} `json:"promptCapabilities"`
			} `json:"agentCapabilities"`
		} `json:"initialize"`
	}
	if json.Unmarshal(p.Raw, &raw) != nil {
		return nil
	}
	c := PromptCapabilities(raw.Initialize.Capabilities.Prompts)
	return &c
}

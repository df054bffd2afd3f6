package demoagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sdk "github.com/coder/acp-go-sdk"
)

// login is whether a user has logged in. It is a file, so that a login in a
// terminal counts for the agents that run, and lasts.
type login struct {
	path string // empty when no login is needed
}

func newLogin(o Options) login {
	if !o.Login {
		return login{}
	}
	return login{path: filepath.Join(o.stateDir(), "login")}
}

// LogIn is the command that a person runs in a terminal to log in agents with these
// options.
func LogIn(o Options) error {
	o.Login = true
	return newLogin(o).in()
}

// LogOut undoes every login.
func LogOut(o Options) error {
	o.Login = true
	return newLogin(o).out()
}

// required is the error of requests that need a login.
func (l login) required() error {
	if l.path == "" {
		return nil
	}
	_, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return sdk.NewAuthRequired(map[string]string{"reason": "the demo needs a login, as asked"})
	}
	return err
}

func (l login) in() error {
	if l.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	if err := os.WriteFile(l.path, nil, 0o600); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	return nil
}

func (l login) out() error {
	if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("log out: %w", err)
	}
	return nil
}

// The ways to log in.
const (
	loginHere     = "here"
	loginRefused  = "refused"
	loginTerminal = "terminal"
)

// methods are the ways to log in that a client can follow.
func (l login) methods(client sdk.AuthCapabilities) []sdk.AuthMethod {
	methods := []sdk.AuthMethod{}
	if l.path == "" {
		return methods
	}
	methods = append(methods,
		sdk.AuthMethod{Agent: &sdk.AuthMethodAgent{Id: loginHere, Name: "Log in here", Description: sdk.Ptr("Needs no password.")}},
		sdk.AuthMethod{Agent: &sdk.AuthMethodAgent{Id: loginRefused, Name: "Log in and be refused", Description: sdk.Ptr("Shows a login that fails.")}},
	)
	if client.Terminal {
		methods = append(methods, sdk.AuthMethod{Terminal: &sdk.AuthMethodTerminalInline{
			Type: "terminal", Id: loginTerminal, Name: "Log in with a terminal", Args: []string{"login"},
		}})
	}
	return methods
}

// Authenticate implements sdk.Agent. A client may not ask for the terminal's
// way by this: it is a program of its own.
func (a *agent) Authenticate(_ context.Context, p sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	switch {
	case a.login.path == "", p.MethodId == loginHere:
		return sdk.AuthenticateResponse{}, a.login.in()
	case p.MethodId == loginRefused:
		return sdk.AuthenticateResponse{}, &sdk.RequestError{Code: -32000, Message: "The demo agent refused the login, as asked"}
	}
	return sdk.AuthenticateResponse{}, sdk.NewInvalidParams(fmt.Sprintf("%q is not a way to log in by a request", p.MethodId))
}

// Logout implements sdk.Agent.
func (a *agent) Logout(context.Context, sdk.LogoutRequest) (sdk.LogoutResponse, error) {
	if a.login.path == "" {
		return sdk.LogoutResponse{}, nil
	}
	return sdk.LogoutResponse{}, a.login.out()
}

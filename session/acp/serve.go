package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// served are the methods that the hub serves to the agent if the config allows it.
type served struct {
	files     *files
	terminals *terminals
}

type handler func(ctx context.Context, params json.RawMessage) (any, error)

func newServed(cfg Config, id string, record func(...event.Payload) error) served {
	return served{
		files:     &files{workspace: cfg.Workspace, private: cfg.Private, allow: cfg.Allow, record: record},
		terminals: newTerminals(cfg, id, record),
	}
}

// serves reports whether the hub serves the method.
func (c Config) serves(method string) bool {
	switch method {
	case sdk.ClientMethodFsReadTextFile, sdk.ClientMethodFsWriteTextFile:
		return c.Files
	case sdk.ClientMethodTerminalCreate, sdk.ClientMethodTerminalOutput, sdk.ClientMethodTerminalWaitForExit,
		sdk.ClientMethodTerminalKill, sdk.ClientMethodTerminalRelease:
		return c.Terminals
	}
	return false
}

func (s served) handler(method string) handler {
	switch method {
	case sdk.ClientMethodFsReadTextFile:
		return s.files.read
	case sdk.ClientMethodFsWriteTextFile:
		return s.files.write
	case sdk.ClientMethodTerminalCreate:
		return s.terminals.create
	case sdk.ClientMethodTerminalOutput:
		return s.terminals.output
	case sdk.ClientMethodTerminalWaitForExit:
		return s.terminals.wait
	case sdk.ClientMethodTerminalKill:
		return s.terminals.kill
	default:
		return s.terminals.release
	}
}

// serve answers one request of the agent. The SDK runs it in a goroutine, with the
// number under which the tap kept the request.
func (a *Agent) serve(ctx context.Context, _ string, params json.RawMessage) (any, *sdk.RequestError) {
	if !a.tasks.enter() {
		return nil, sdk.NewInternalError(nil)
	}
	defer a.tasks.leave()
	var ticket uint64
	if err := json.Unmarshal(params, &ticket); err != nil {
		return nil, sdk.NewInternalError(nil)
	}
	r := a.inbound.get(ticket)
	if r == nil {
		return nil, sdk.NewInternalError(nil)
	}
	defer a.inbound.done(r)
	if !a.cfg.serves(r.method) {
		return nil, sdk.NewMethodNotFound(r.method)
	}
	result, err := a.served.handler(r.method)(ctx, r.params)
	if err == nil {
		return result, nil
	}
	refused, ok := err.(*refusedError)
	if !ok {
		return nil, &sdk.RequestError{Code: codeInternal, Message: err.Error()}
	}
	if refused.forbidden {
		a.cfg.Logger.Warn("agent was refused", "method", r.method, "err", err)
		_ = a.rec.put(event.Error{ // a failed sink ends the agent
			Code: event.CodeForbidden, Message: fmt.Sprintf("The agent's %s was refused: %v.", r.method, err),
		})
	}
	return nil, &sdk.RequestError{Code: refused.code, Message: err.Error()}
}

// refusedError is the error of a request that is the agent's fault.
type refusedError struct {
	code      int
	forbidden bool // reported to people
	err       error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

func invalid(format string, args ...any) error {
	return &refusedError{code: codeInvalidParams, err: fmt.Errorf(format, args...)}
}

func forbidden(format string, args ...any) error {
	return &refusedError{code: codeInvalidParams, forbidden: true, err: fmt.Errorf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &refusedError{code: codeNotFound, err: fmt.Errorf(format, args...)}
}

// newTap connects the tap to the rest of the agent.
func newTap(a *Agent, toSDK io.WriteCloser, messagePrefix string) *tap {
	t := &tap{
		lines: newLineReader(a.out, a.cfg.Limits.LineBytes), sdk: toSDK, calls: a.calls, inbound: a.inbound,
		secrets: a.stderr.secrets,
		noise:   &noise{clock: a.cfg.Clock, secrets: a.stderr.secrets},
		stream: &stream{
			cfg: a.cfg, pid: a.proc.pid(), settled: a.settled,
			convert: converter{messages: messageIDs{prefix: messagePrefix}},
		},
		reply: func(line []byte) { _, _ = a.in.Write(line) },
	}
	t.stream.retold.limit = a.cfg.Limits.HeldBytes
	t.stream.retold.known = func() *Known {
		if s := t.stream; s.session != "" && s.session != a.cfg.Resume {
			return nil // it is a new session
		}
		return a.history(&t.stream.known)
	}
	return t
}

// history reads the session's history once: most agents that resume do not tell it.
func (a *Agent) history(read *atomic.Pointer[Known]) *Known {
	if known := read.Load(); known != nil {
		return known
	}
	known := &Known{}
	if a.cfg.Known != nil {
		switch found, err := a.cfg.Known(a.ctx); {
		case err != nil:
			a.cfg.Logger.Warn("history cannot be compared", "err", err)
		case found != nil:
			known = found
		}
	}
	read.Store(known)
	return known
}

package acp

import (
	"context"
	"encoding/json"
	"io"

	sdk "github.com/coder/acp-go-sdk"
)

// serve answers one request of the agent. The SDK runs it in a goroutine of its
// own, with the number under which the tap kept the request.
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
	return nil, sdk.NewMethodNotFound(r.method)
}

// serves reports whether the hub does itself what the method asks for.
func (c Config) serves(string) bool { return false }

// newTap joins the tap to the rest of the agent.
func newTap(a *Agent, toSDK io.WriteCloser, messagePrefix string) *tap {
	return &tap{
		lines: newLineReader(a.out, a.cfg.Limits.LineBytes), sdk: toSDK, calls: a.calls, inbound: a.inbound,
		noise: &noise{clock: a.cfg.Clock},
		stream: &stream{
			cfg: a.cfg, pid: a.proc.pid(), settled: a.settled,
			convert: converter{messages: messageIDs{prefix: messagePrefix}},
		},
		reply: func(line []byte) { _, _ = a.in.Write(line) },
	}
}

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
	if r.question != nil {
		return r.question.wait(ctx)
	}
	return nil, sdk.NewMethodNotFound(r.method)
}

// serves reports whether the hub does itself what the method asks for.
func (c Config) serves(string) bool { return false }

// wait waits for a person's answer, or for the agent to withdraw its question.
func (q *question) wait(ctx context.Context) (any, *sdk.RequestError) {
	select {
	case o := <-q.answer:
		return q.answerTo(o), nil
	case <-ctx.Done():
		select {
		case o := <-q.answer: // given before it was withdrawn
			return q.answerTo(o), nil
		default:
			return nil, sdk.NewRequestCancelled(nil)
		}
	}
}

// newTap joins the tap to the rest of the agent.
func newTap(a *Agent, toSDK io.WriteCloser, messagePrefix string) *tap {
	return &tap{
		lines: newLineReader(a.out, a.cfg.Limits.LineBytes), sdk: toSDK, calls: a.calls, inbound: a.inbound,
		noise: &noise{clock: a.cfg.Clock},
		stream: &stream{
			cfg: a.cfg, pid: a.proc.pid(), settled: a.settled,
			convert: converter{messages: messageIDs{prefix: messagePrefix}},
		},
		refuse: func(line []byte) { _, _ = a.in.Write(line) },
	}
}

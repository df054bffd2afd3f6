package main

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// pastBytes is how much of a log is read at once.
const pastBytes = 1 << 20

// past reads a session's log for an agent that continues it. It reads once, and
// only on demand: a long log takes time, and most agents need no summary.
type past struct {
	log     observer.Source // nil when there were no turns before
	after   event.Seq       // the cursor before its first event
	account transcript.Account
	read    bool
}

// known returns the events that the replay of a loaded session should have; nil if
// there were no earlier turns.
func (p *past) known(ctx context.Context) (*acp.Known, error) {
	if p.log == nil {
		return nil, nil
	}
	if err := p.readLog(ctx); err != nil {
		return nil, err
	}
	known := &acp.Known{ToolCalls: p.account.ToolCalls}
	for _, prompt := range p.account.Prompts {
		known.Prompts = append(known.Prompts, acp.KnownPrompt(prompt))
	}
	return known, nil
}

// text returns the summary for an agent without memory.
func (p *past) text(ctx context.Context) (string, error) {
	err := p.readLog(ctx)
	return p.account.Text(), err
}

func (p *past) readLog(ctx context.Context) error {
	if p.log == nil || p.read {
		return nil
	}
	p.account = transcript.Account{Answers: true}
	if err := observer.New(p.log, p, p.after, pastBytes).CatchUp(ctx); err != nil {
		return fmt.Errorf("read the session's summary: %w", err)
	}
	p.read = true
	return nil
}

// Deliver implements observer.Sink.
func (p *past) Deliver(_ context.Context, b event.Batch) error {
	events, err := b.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		p.account.Apply(e)
	}
	return nil
}

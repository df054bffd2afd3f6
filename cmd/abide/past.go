package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

const (
	// pastBytes is how much of a log is read at once.
	pastBytes = 1 << 20
	// accountPrompts and accountBytes bound what a new agent is told of the
	// turns it does not remember.
	accountPrompts = 20
	accountBytes   = 4 << 10
)

// past is what an agent that comes back to a session may have to be told.
type past struct {
	// known is nil when there were no turns before.
	known *acp.Known
}

// pastOf reads a session's log, if the session had turns before.
func pastOf(ctx context.Context, spec session.AgentSpec) (past, error) {
	var p past
	if !spec.ContextLost || spec.Past == nil {
		return p, nil
	}
	p.known = &acp.Known{}
	var cursor event.Seq
	for {
		batch, err := spec.Past.ReadAfter(ctx, cursor, pastBytes)
		if err != nil {
			return p, fmt.Errorf("reading what the session was about: %w", err)
		}
		if batch.Empty() {
			return p, nil
		}
		events, err := batch.Events()
		if err != nil {
			return p, err
		}
		for _, e := range events {
			p.take(e)
		}
		cursor = batch.Last
	}
}

func (p *past) take(e event.Event) {
	if e.Type != event.TypeUserPrompt && e.Type != event.TypeToolCall {
		return
	}
	payload, err := e.Payload()
	if err != nil {
		return // not readable, so not comparable either
	}
	switch v := payload.(type) {
	case event.UserPrompt:
		p.known.Prompts = append(p.known.Prompts, string(v.Text))
	case event.ToolCall:
		p.known.ToolCalls = append(p.known.ToolCalls, v.ToolCallID)
	}
}

// account says in a few lines what was asked before.
func (p *past) account() string {
	if p.known == nil || len(p.known.Prompts) == 0 {
		return ""
	}
	prompts := p.known.Prompts
	var text strings.Builder
	text.WriteString("You are continuing a session whose earlier turns you do not remember. What was asked in them, oldest first:\n")
	for _, prompt := range prompts[max(0, len(prompts)-accountPrompts):] {
		line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
		if runes := []rune(line); len(runes) > 200 {
			line = string(runes[:200]) + "…"
		}
		if text.Len()+len(line) > accountBytes {
			break
		}
		text.WriteString("- " + line + "\n")
	}
	return text.String()
}

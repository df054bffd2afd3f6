package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/abidehub/abide/observer"
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

// past is what an agent that comes back to a session may have to be told, or
// asked. The log is read when that is so, and once: of a long session that is
// much to read, and most agents remember by themselves.
type past struct {
	log  observer.Source // nil where there is none to read
	none bool            // the session had no turns before
	read bool

	// known is what the agent session of the moment should remember. It is nil
	// when there were no turns before.
	known *acp.Known
	// asked are all prompts an agent was given, whichever agent session it was.
	asked []string

	prompts map[string]acp.KnownPrompt // those no agent was given yet, by id
	turns   map[string]int             // where in known.Prompts, by prompt id
	tools   map[string]bool            // those in known.ToolCalls
	anew    bool                       // the next prompt follows an account
}

// compared is what the replay of a loaded session should hold. It is nil when
// there were no turns before.
func (p *past) compared(ctx context.Context) (*acp.Known, error) {
	err := p.readLog(ctx)
	return p.known, err
}

// readLog reads the session's log, if the session had turns before.
func (p *past) readLog(ctx context.Context) error {
	if p.none || p.log == nil || p.read {
		return nil
	}
	p.begin()
	var cursor event.Seq
	for {
		batch, err := p.log.ReadAfter(ctx, cursor, pastBytes)
		if err != nil {
			return fmt.Errorf("reading what the session was about: %w", err)
		}
		if batch.Empty() {
			p.read = true
			return nil
		}
		events, err := batch.Events()
		if err != nil {
			return err
		}
		for _, e := range events {
			p.take(e)
		}
		cursor = batch.Last
	}
}

func (p *past) take(e event.Event) {
	switch e.Type {
	case event.TypeUserPrompt, event.TypeAgentStarted, event.TypeTurnStart, event.TypeTurnEnd, event.TypeToolCall, event.TypeToolCallUpdate:
	default:
		return // not decoded for nothing
	}
	payload, err := e.Payload()
	if err != nil {
		return // not readable, so not comparable either
	}
	switch v := payload.(type) {
	case event.UserPrompt:
		p.prompts[v.PromptID] = acp.KnownPrompt{Text: string(v.Text), Wrapped: len(v.Attachments) > 0 || shortened(e)}
	case event.AgentStarted:
		if v.Resumed == "" { // what was before is not in its memory
			p.begin()
			p.anew = v.ContextLost
		}
	case event.TurnStart:
		p.given(v.PromptID)
	case event.TurnEnd:
		if at, ok := p.turns[v.PromptID]; ok && v.StopReason != event.StopEndTurn {
			p.known.Prompts[at].Cut = true
		}
	case event.ToolCall:
		p.tool(v.ToolCallFields)
	case event.ToolCallUpdate:
		p.tool(v.ToolCallFields)
	}
}

// shortened reports whether the log holds only the beginning of a prompt's text.
func shortened(e event.Event) bool {
	var data struct {
		Text json.RawMessage `json:"text"`
	}
	return json.Unmarshal(e.Data, &data) == nil && len(data.Text) > 0 && data.Text[0] == '{'
}

// begin forgets what an agent session before this one was given.
func (p *past) begin() {
	p.known = &acp.Known{}
	p.turns, p.tools = map[string]int{}, map[string]bool{}
	if p.prompts == nil {
		p.prompts = map[string]acp.KnownPrompt{}
	}
}

// given says that the agent got the prompt. One that still waits for it is none
// of the past.
func (p *past) given(promptID string) {
	prompt, ok := p.prompts[promptID]
	if !ok {
		return
	}
	delete(p.prompts, promptID)
	p.turns[promptID] = len(p.known.Prompts)
	prompt.Wrapped = prompt.Wrapped || p.anew
	p.known.Prompts = append(p.known.Prompts, prompt)
	p.asked = append(p.asked, prompt.Text)
	p.anew = false
}

func (p *past) tool(t event.ToolCallFields) {
	if !p.tools[t.ToolCallID] {
		p.tools[t.ToolCallID] = true
		p.known.ToolCalls = append(p.known.ToolCalls, t.ToolCallID)
	}
}

// account says in a few lines what was asked before.
func (p *past) account(ctx context.Context) (string, error) {
	err := p.readLog(ctx)
	prompts := p.asked
	if err != nil || len(prompts) == 0 {
		return "", err
	}
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
	return text.String(), nil
}

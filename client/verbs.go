package client

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// PromptOutcome is a hub's answer to a prompt.
type PromptOutcome struct {
	Fate wire.Fate
	// Seq is set with received and interrupted.
	Seq event.Seq
	// Position counts from 0 and is set with queued.
	Position int
}

// Prompt asks the agent and waits until the hub has the prompt in its log or its
// queue. The same PromptID again changes nothing, so after a lost answer the prompt
// is simply sent again. Its RequestID is set here.
func (s *Socket) Prompt(ctx context.Context, p wire.Prompt) (PromptOutcome, error) {
	answer, err := s.ask(ctx, func(id string) wire.Message { p.RequestID = id; return &p })
	if err != nil {
		return PromptOutcome{}, fmt.Errorf("prompt %s: %w", p.PromptID, err)
	}
	switch m := answer.(type) {
	case *wire.PromptReceived:
		return PromptOutcome{Fate: wire.FateReceived, Seq: m.Seq}, nil
	case *wire.PromptQueued:
		return PromptOutcome{Fate: wire.FateQueued, Position: m.Position}, nil
	case *wire.PromptRemoved:
		return PromptOutcome{Fate: wire.FateRemoved}, nil
	case *wire.PromptInterrupted:
		return PromptOutcome{Fate: wire.FateInterrupted, Seq: m.Seq}, nil
	}
	return PromptOutcome{}, unexpected("prompt", answer)
}

// Observe starts following a session on this socket; see wire.Observe. Its
// events reach Run's handler, the answer first.
func (s *Socket) Observe(ctx context.Context, o wire.Observe) (wire.EventsLoaded, error) {
	return s.loaded(ctx, func(id string) wire.Message { o.RequestID = id; return &o })
}

// Load asks for one page; no cursor moves. The page reaches Run's handler too.
func (s *Socket) Load(ctx context.Context, l wire.LoadEvents) (wire.EventsLoaded, error) {
	return s.loaded(ctx, func(id string) wire.Message { l.RequestID = id; return &l })
}

func (s *Socket) loaded(ctx context.Context, make func(id string) wire.Message) (wire.EventsLoaded, error) {
	answer, err := s.ask(ctx, make)
	if err != nil {
		return wire.EventsLoaded{}, fmt.Errorf("load events: %w", err)
	}
	page, ok := answer.(*wire.EventsLoaded)
	if !ok {
		return wire.EventsLoaded{}, unexpected("load_events", answer)
	}
	return *page, nil
}

// Answer settles a permission request. An *Error with code already_resolved names
// the winner where another client was first.
func (s *Socket) Answer(ctx context.Context, a wire.PermissionAnswer) (wire.PermissionResolved, error) {
	answer, err := s.ask(ctx, func(id string) wire.Message { a.RequestID = id; return &a })
	if err != nil {
		return wire.PermissionResolved{}, fmt.Errorf("answer permission %s: %w", a.PermissionID, err)
	}
	resolved, ok := answer.(*wire.PermissionResolved)
	if !ok {
		return wire.PermissionResolved{}, unexpected("permission_answer", answer)
	}
	return *resolved, nil
}

func unexpected(request string, answer wire.Message) error {
	return fmt.Errorf("an unexpected answer to %s: %s", request, answer.MessageType())
}

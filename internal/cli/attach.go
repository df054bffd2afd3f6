package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func (p *Program) attach() *cobra.Command {
	cmd := p.onSession(&cobra.Command{
		Use:   "attach ID",
		Short: "Stay with a session: read along, answer and ask",
		Long: "Stay with a session: text as it streams and one line for each tool call. While a question waits, a number answers\n" +
			"it; any other line is a prompt. Ctrl-C and Ctrl-D leave, and the agent works on. With stdin from a file or a pipe,\n" +
			"it leaves at the end of stdin once the prompts that it sent are done.",
		Example: "abide attach -\nabide attach 9f3a",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		return p.stay(ctx, hub, s, max(s.MaxSeq-recent, s.MinSeq-1), nil)
	})
	p.colorFlag(cmd)
	return cmd
}

func (p *Program) run() *cobra.Command {
	var b beginning
	cmd := p.onHub(&cobra.Command{
		Use:     "run [PROMPT]",
		Short:   "Make a session and stay with it",
		Long:    "Make a session, ask the prompt if there is one, and stay with it as `abide attach` does.",
		Example: "abide run 'why does the build fail?'\nabide run --agent claude --folder ~/src/app",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		s, err := p.begin(ctx, hub, b, "")
		if err != nil {
			return err
		}
		p.notice("session %s", s.SessionID)
		return p.stay(ctx, hub, s, 0, args)
	})
	b.add(cmd)
	p.colorFlag(cmd)
	return cmd
}

// seat is a person's place at a session.
type seat struct {
	p       *Program
	hub     *client.Hub
	session string
	out     sink

	mu sync.Mutex
	// questions are those that wait, oldest first: a person answers what they
	// see, which may be a moment before the state says that it waits.
	questions []event.PermissionRequest
	settled   map[string]bool
	// open are the prompts sent from here whose turns have not ended.
	open  map[string]bool
	seen  event.Seq // the last event that was written
	ended bool      // stdin is at its end
	shown bool      // what there was when the person came has been written
}

// stay reads along after a seq until the person leaves. The prompts are sent first.
func (p *Program) stay(ctx context.Context, hub *client.Hub, s wire.SessionInfo, after event.Seq, prompts []string) error {
	style, err := p.style(p.Stdout)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	seat := &seat{
		p: p, hub: hub, session: s.SessionID, out: feedSink(p.Stdout, plain.Normal, style),
		settled: map[string]bool{}, open: map[string]bool{},
	}
	var typing sync.WaitGroup
	typing.Go(func() { seat.typed(ctx, leave, prompts) })
	err = p.follow(ctx, hub, s, after, func(u client.Update) error { return seat.news(ctx, u) })
	leave()
	typing.Wait()
	if errors.Is(err, errEnded) {
		err = nil
	}
	return errors.Join(err, seat.out.close())
}

// typed sends what the person types until they leave.
func (s *seat) typed(ctx context.Context, leave context.CancelFunc, prompts []string) {
	for _, text := range prompts {
		s.line(ctx, text)
	}
	for {
		select {
		case line, more := <-s.p.lines():
			if !more {
				s.end(leave)
				return
			}
			if line = strings.TrimSpace(line); line != "" {
				s.line(ctx, line)
			}
		case <-ctx.Done():
			return
		}
	}
}

// end is the end of stdin: a person leaves, a script waits for its prompts.
func (s *seat) end(leave context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; isTerminal(s.p.Stdin) || s.shown && len(s.open) == 0 {
		leave()
	}
}

func (s *seat) line(ctx context.Context, line string) {
	s.mu.Lock()
	var q event.PermissionRequest
	if len(s.questions) > 0 {
		q = s.questions[0]
	}
	seen := s.seen
	s.mu.Unlock()
	if q.PermissionID != "" {
		if option, err := choose(q, line); err == nil {
			if _, err := s.hub.Settle(ctx, s.session, q.PermissionID, client.Choice{OptionID: option, SeenSeq: seen}); err != nil {
				s.p.notice("%v", err)
			}
			return
		}
	}
	ask := client.Ask{PromptID: newKey(), Text: line}
	s.mu.Lock()
	s.open[ask.PromptID] = true
	s.mu.Unlock()
	asked, err := again(ctx, func() (client.Asked, error) { return s.hub.Ask(ctx, s.session, ask) })
	switch {
	case err != nil:
		s.p.notice("%v", err)
		s.mu.Lock()
		delete(s.open, ask.PromptID)
		s.mu.Unlock()
	case asked.Outcome == client.Queued:
		s.p.notice("queued; it waits for the turn to end")
	}
}

func (s *seat) news(ctx context.Context, u client.Update) error {
	for _, e := range u.Events {
		if err := s.out.write(e); err != nil {
			return err
		}
		s.note(e)
	}
	if err := s.out.flush(); err != nil {
		return err
	}
	if u.State != nil {
		if err := s.waiting(ctx, u.State); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = s.shown || u.State != nil
	if s.ended && s.shown && len(s.open) == 0 {
		return errEnded
	}
	return nil
}

// note keeps what lines the person types are about.
func (s *seat) note(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = e.Seq
	payload, err := e.Payload()
	if err != nil {
		return
	}
	switch p := payload.(type) {
	case event.PermissionRequest:
		s.asks(p)
	case event.PermissionOutcome:
		s.settled[p.PermissionID] = true
		s.questions = slices.DeleteFunc(s.questions, func(q event.PermissionRequest) bool { return q.PermissionID == p.PermissionID })
	case event.TurnEnd:
		delete(s.open, p.PromptID)
	}
}

// asks is called with mu held.
func (s *seat) asks(q event.PermissionRequest) {
	if !s.settled[q.PermissionID] && !s.waits(q.PermissionID) {
		s.questions = append(s.questions, q)
	}
}

func (s *seat) waits(id string) bool {
	return slices.ContainsFunc(s.questions, func(q event.PermissionRequest) bool { return q.PermissionID == id })
}

// waiting looks up and shows the questions that were asked before the events the
// person sees.
func (s *seat) waiting(ctx context.Context, state *wire.State) error {
	s.mu.Lock()
	var missing []string
	for _, id := range state.PendingPermissions {
		if !s.settled[id] && !s.waits(id) {
			missing = append(missing, id)
		}
	}
	s.mu.Unlock()
	for _, id := range missing {
		q, err := question(ctx, s.hub, s.session, state.AtSeq+1, id)
		if err != nil {
			continue // it was settled, or the hub is away; the next state says
		}
		if err := s.p.printQuestion(q); err != nil {
			return err
		}
		s.mu.Lock()
		s.asks(q)
		s.mu.Unlock()
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/internal/reply"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func (p *Program) attach() *cobra.Command {
	var limit time.Duration
	var lines bool
	cmd := p.onSession(&cobra.Command{
		Use:   "attach ID",
		Short: "Stay with a session: read along, answer and ask",
		Long: "Stay with a session on the whole terminal: what is said and done as it comes, and a box for prompts with commands\n" +
			"(/) and files (@). While a question waits and the box is empty, a number answers it, and y or n; ? shows all of it.\n" +
			"Esc reads, H is the help, Ctrl-C leaves, and the agent works on.\n\n" +
			"With --plain, and without a terminal, it prints lines: text as it streams and one line for each tool call. While a\n" +
			"question waits, a number answers it, and the values of a form are asked one by one; any other line is asked about\n" +
			"before it is sent as a prompt. With stdin from a file or a pipe, it leaves at the end of stdin once the prompts that\n" +
			"it sent are done.",
		Example: "abide attach -\nabide attach 9f3a",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		ctx, stop := limited(ctx, limit)
		defer stop()
		if screens := p.screens(); !lines && screens.possible() {
			return overTime(ctx, limit, screens.show(ctx, hub, false, &s))
		}
		return overTime(ctx, limit, p.stay(ctx, hub, s, max(s.MaxSeq-recent, s.MinSeq-1), wire.NewPrompt{}))
	})
	cmd.Flags().DurationVar(&limit, "timeout", 0, "stay `T` at most, such as 90s or 10m; then exit with 5")
	cmd.Flags().BoolVar(&lines, "plain", false, "print lines, also at a terminal")
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
	// questions are the open ones, oldest first. A person answers the one on the
	// screen, which may be a moment before the state has it.
	questions []event.PermissionRequest
	settled   map[string]bool
	// form is the one that the person fills in, of the oldest question.
	form *reply.Form
	// past is the question that was answered elsewhere while the person might
	// have been typing its answer. It has a form where that was being filled in.
	past event.PermissionRequest
	mine string // the question that was answered from here last
	// unsent is the line that was typed while the question waited was open, and is no answer.
	unsent, waited string
	// open are the prompts sent from here with turns that have not ended.
	open map[string]bool
	// failed is why the first of their turns that did not complete ended; empty if all did.
	failed string
	cut    event.InterruptReason // of the open turn
	seen   event.Seq             // the last event that was written
	ended  bool                  // stdin is at its end
	// shown is closed when the events and questions from before the person came are written.
	shown chan struct{}
}

// stay reads along after a seq until the person leaves. A prompt that was sent before must
// complete, and so must those that a script sends.
func (p *Program) stay(ctx context.Context, hub *client.Hub, s wire.SessionInfo, after event.Seq, sent wire.NewPrompt) error {
	style, err := p.style(p.Stdout)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	seat := &seat{
		p: p, hub: hub, session: s.SessionID, out: feedSink(p.Stdout, plain.Normal, style),
		settled: map[string]bool{}, open: map[string]bool{}, shown: make(chan struct{}),
	}
	if sent.Text != "" {
		seat.open[sent.PromptID] = true
	}
	var typing sync.WaitGroup
	typing.Go(func() { seat.typed(ctx, leave) })
	err = p.follow(ctx, hub, s, after, func(u client.Update) error { return seat.news(ctx, u) })
	leave()
	typing.Wait()
	if errors.Is(err, errEnded) {
		err = nil
	}
	if err = errors.Join(err, seat.out.close()); err != nil {
		return err
	}
	return seat.verdict(sent)
}

// verdict is nil if the turns of which the exit code tells completed, else the reason.
func (s *seat) verdict(sent wire.NewPrompt) error {
	if s.failed != "" && (sent.Text != "" || !isTerminal(s.p.Stdin)) {
		return withCode(ExitFailed, "%s", s.failed)
	}
	if s.unsent != "" && !isTerminal(s.p.Stdin) {
		return withCode(ExitRefused, "a question waits, and a line was not sent as a prompt: %s", plain.Line(s.unsent))
	}
	if s.open[sent.PromptID] {
		return withCode(ExitFailed, "left before the end of the turn; the session continues (`abide attach %s`)", tail(s.session))
	}
	return nil
}

// typed sends the person's lines until they leave.
func (s *seat) typed(ctx context.Context, leave context.CancelFunc) {
	select {
	case <-s.shown: // a line may be the answer to what is shown
	case <-ctx.Done():
		return
	}
	for {
		select {
		case line, more := <-s.p.lines():
			if !more {
				s.end(leave)
				return
			}
			s.line(ctx, strings.TrimSpace(line.text))
		case <-ctx.Done():
			return
		}
	}
}

// end is the end of stdin: a person leaves, a script waits for its prompts.
func (s *seat) end(leave context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; isTerminal(s.p.Stdin) || len(s.open) == 0 {
		leave()
	}
}

// line is an answer where a question waits, and else a prompt.
func (s *seat) line(ctx context.Context, line string) {
	s.mu.Lock()
	form, past := s.form, s.past
	s.past = event.PermissionRequest{}
	var q event.PermissionRequest
	if len(s.questions) > 0 {
		q = s.questions[0]
	}
	s.mu.Unlock()
	if form != nil {
		s.value(ctx, form, line)
		return
	}
	if line == "" {
		return
	}
	if option, err := choose(q, line); err == nil {
		s.option(ctx, q, option)
		return
	}
	if _, err := choose(past, line); err == nil || past.Form != nil {
		s.p.notice("that question is answered already; the same line again is sent as a prompt")
		return
	}
	if s.keeps(q, line) {
		again := "; the same line again is sent as a prompt"
		if !isTerminal(s.p.Stdin) {
			again = "" // nobody confirms it
		}
		s.p.notice("not sent, as a question waits: 1-%d answers it%s", len(q.Options), again)
		return
	}
	s.ask(ctx, line)
}

// keeps reports whether a line is kept from being sent as a prompt: the first time it is typed
// while a question waits.
func (s *seat) keeps(q event.PermissionRequest, line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.PermissionID == "" || s.unsent == line && s.waited == q.PermissionID && isTerminal(s.p.Stdin) {
		s.unsent = ""
		return false
	}
	s.unsent, s.waited = line, q.PermissionID
	return true
}

// option answers a question, or begins to fill in its form.
func (s *seat) option(ctx context.Context, q event.PermissionRequest, option string) {
	form := reply.FormOf(q, option)
	if form == nil {
		if err := s.settle(ctx, q, wire.PermissionChoice{OptionID: option}); err != nil {
			s.p.notice("%v", err)
		}
		return
	}
	s.mu.Lock()
	s.form = form
	s.mu.Unlock()
	fmt.Fprint(s.p.Stderr, form.Asks())
}

// value is the next one of the form.
func (s *seat) value(ctx context.Context, form *reply.Form, line string) {
	choice, done, err := form.Take(line)
	if done {
		if err = s.settle(ctx, form.Of, choice); err == nil || !reply.Misfit(err) {
			s.mu.Lock()
			s.form = nil
			s.mu.Unlock()
		} else {
			form.Again()
		}
	}
	if err != nil {
		s.p.notice("%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.form != nil {
		fmt.Fprint(s.p.Stderr, form.Asks())
	}
}

func (s *seat) settle(ctx context.Context, q event.PermissionRequest, choice wire.PermissionChoice) error {
	s.mu.Lock()
	choice.SeenSeq = s.seen
	s.mine = q.PermissionID
	s.mu.Unlock()
	_, err := s.hub.Settle(ctx, s.session, q.PermissionID, choice)
	return err
}

func (s *seat) ask(ctx context.Context, line string) {
	ask := wire.NewPrompt{PromptID: client.NewKey(), Text: line}
	s.mu.Lock()
	s.open[ask.PromptID] = true
	s.mu.Unlock()
	asked, err := client.Again(ctx, func() (wire.PromptAnswer, error) { return s.hub.Ask(ctx, s.session, ask) })
	switch {
	case err != nil:
		s.p.notice("%v", err)
		s.mu.Lock()
		delete(s.open, ask.PromptID)
		s.mu.Unlock()
	case asked.Outcome == wire.FateQueued:
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
		select {
		case <-s.shown:
		default:
			close(s.shown)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended && len(s.open) == 0 {
		return errEnded
	}
	return nil
}

// note keeps the open questions, which the person's lines answer.
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
		s.over(p.PermissionID)
	case event.TurnInterrupted:
		if s.open[p.PromptID] {
			s.cut = p.Reason
		}
	case event.TurnEnd:
		if s.open[p.PromptID] && p.StopReason != event.StopEndTurn && s.failed == "" {
			s.failed = p.Words(s.cut)
		}
		delete(s.open, p.PromptID)
		s.cut = ""
	}
}

// over is called with mu held, with a question that was answered.
func (s *seat) over(id string) {
	s.settled[id] = true
	i := slices.IndexFunc(s.questions, func(q event.PermissionRequest) bool { return q.PermissionID == id })
	if i < 0 {
		return
	}
	past, filling := s.questions[i], s.form != nil && s.form.Of.PermissionID == id
	s.questions = slices.Delete(s.questions, i, i+1)
	if filling {
		s.form = nil
	}
	if id == s.mine {
		return
	}
	if s.past = past; filling {
		fmt.Fprintln(s.p.Stderr)
		s.p.notice("the form was answered elsewhere")
	} else {
		s.past.Form = nil
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
		q, err := s.hub.Question(ctx, s.session, state.AtSeq+1, id)
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

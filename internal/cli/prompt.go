package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// promptAnswer is the output of prompt --json.
type promptAnswer struct {
	SessionID string `json:"session_id"`
	wire.PromptAnswer
	// The rest is there with --wait.
	StopReason event.StopReason `json:"stop_reason,omitempty"`
	// Text is the agent's message in the turn.
	Text  string         `json:"text,omitempty"`
	Error *event.Failure `json:"error,omitempty"`
}

func (p *Program) prompt() *cobra.Command {
	var wait, queue, now, noAsk bool
	var files []string
	cmd := p.onSession(&cobra.Command{
		Use:   "prompt ID TEXT",
		Short: "Ask the agent of a session; with --wait, print what it says",
		Long: "Ask the agent of a session. A text of - is read from stdin. While the agent is busy the prompt waits in the queue;\nwith --now the turn at work is stopped, and the prompt is sent next.\n\n" +
			"With --wait, what the agent says goes to stdout and everything else to stderr. It exits with 0 when the turn ended\n" +
			"as it should, with 1 when it ended otherwise, and with 4 when a question waits and --no-ask is given. Without\n" +
			"--no-ask a question is asked at the terminal, or waits for an answer from anywhere.",
		Example: "abide prompt - 'now add a test'\nabide prompt 9f3a - --wait <task.md\nabide prompt - 'what failed?' --wait --json",
		Args:    cobra.ExactArgs(2),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if noAsk && !wait {
			return Usagef("--no-ask goes with --wait")
		}
		text, err := p.words(args[0])
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return Usagef("the prompt is empty")
		}
		attachments, err := upload(ctx, hub, s.SessionID, files)
		if err != nil {
			return err
		}
		ask := wire.NewPrompt{PromptID: newKey(), Text: text, Attachments: attachments}
		switch {
		case queue && now:
			return Usagef("--queue and --now exclude each other")
		case queue:
			ask.When = wire.WhenQueue
		case now:
			ask.When = wire.WhenNow
		}
		asked, err := again(ctx, func() (wire.PromptAnswer, error) { return hub.Ask(ctx, s.SessionID, ask) })
		if err != nil {
			return err
		}
		if !wait {
			if p.json {
				return p.PrintJSON(promptAnswer{SessionID: s.SessionID, PromptAnswer: asked})
			}
			if asked.Outcome == wire.FateQueued && asked.Position != nil {
				p.notice("queued, %d before it", *asked.Position)
			}
			return nil
		}
		return p.wait(ctx, hub, s, ask, asked, noAsk)
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the end of the turn, and print what the agent says")
	cmd.Flags().BoolVar(&queue, "queue", false, "put it into the queue, even while the agent is idle")
	cmd.Flags().BoolVar(&now, "now", false, "stop the turn at work, and send it before all that wait")
	cmd.Flags().BoolVar(&noAsk, "no-ask", false, "exit with 4 when a question waits, instead of waiting for its answer")
	cmd.Flags().StringArrayVar(&files, "attach", nil, "send `FILE` with the prompt; may be given again")
	p.JSONFlag(cmd)
	p.colorFlag(cmd)
	return cmd
}

// turn waits for one prompt.
type turn struct {
	p       *Program
	hub     *client.Hub
	session string
	ask     wire.NewPrompt
	noAsk   bool

	said, beside sink // the agent's messages, and the rest
	text         strings.Builder
	number       int // of the turn, once it began
	end          *event.TurnEnd
	cut          event.InterruptReason // why the turn was interrupted; empty if it was not
	asked        map[string]bool       // questions put to the person
	asking       asking
}

// asking is the question that the person at the terminal is asked now.
type asking struct {
	id   string
	stop context.CancelFunc
	done sync.WaitGroup
}

// over takes a question back that was answered, here or elsewhere. Without an id
// it takes back any.
func (a *asking) over(id string) {
	if a.id != "" && (id == "" || id == a.id) {
		a.stop()
		a.done.Wait()
		a.id = ""
	}
}

// errEnded ends a watch: the awaited event has come.
var errEnded = errors.New("ended")

func (p *Program) wait(ctx context.Context, hub *client.Hub, s wire.SessionInfo, ask wire.NewPrompt, asked wire.PromptAnswer, noAsk bool) error {
	style, err := p.style(p.Stderr)
	if err != nil {
		return err
	}
	t := &turn{
		p: p, hub: hub, session: s.SessionID, ask: ask, noAsk: noAsk, asked: map[string]bool{},
		said: feedSink(p.Stdout, plain.Compact, false), beside: feedSink(p.Stderr, plain.Normal, style),
	}
	if asked.Outcome == wire.FateQueued {
		p.notice("queued; waiting for its turn")
	}
	if p.interactive() {
		p.lines() // lines typed from here on, before a question, do not answer it
	}
	err = p.follow(ctx, hub, s, s.MaxSeq, func(u client.Update) error { return t.news(ctx, u) })
	t.asking.over("")
	err = errors.Join(err, t.said.close(), t.beside.flush())
	switch {
	case err != nil && !errors.Is(err, errEnded):
		return err
	case t.end == nil:
		return withCode(ExitFailed, "left before the end of the turn; the session continues (`abide attach %s`)", tail(s.SessionID))
	}
	if p.json {
		answer := promptAnswer{SessionID: s.SessionID, PromptAnswer: asked, StopReason: t.end.StopReason, Text: t.text.String(), Error: t.end.Error}
		if err := p.PrintJSON(answer); err != nil {
			return err
		}
	}
	if t.end.StopReason == event.StopEndTurn {
		return nil
	}
	words := t.end.Words(t.cut)
	if t.cut == event.CutPaused {
		if why, err := choice(ctx, hub, s); err == nil { // else a person has decided by now
			words = why
		}
	}
	return withCode(ExitFailed, "%s", words)
}

func (t *turn) news(ctx context.Context, u client.Update) error {
	for _, e := range u.Events {
		if err := t.event(e); err != nil {
			return err
		}
	}
	if err := errors.Join(t.said.flush(), t.beside.flush()); err != nil {
		return err
	}
	if t.end != nil {
		return errEnded
	}
	if u.State == nil {
		return nil
	}
	return t.state(ctx, u.State)
}

func (t *turn) event(e event.Event) error {
	payload, err := e.Payload()
	if err != nil {
		return nil // of another version; it is no part of a turn's end
	}
	switch p := payload.(type) {
	case event.UserPrompt:
		if p.PromptID == t.ask.PromptID {
			t.number = e.Turn
		}
		return nil
	case event.PermissionOutcome:
		t.asking.over(p.PermissionID)
	case event.TurnInterrupted:
		if p.PromptID == t.ask.PromptID {
			t.cut = p.Reason
		}
	case event.TurnEnd:
		if p.PromptID == t.ask.PromptID {
			t.end = &p
		}
		return nil
	}
	if t.number == 0 || e.Turn != t.number || t.end != nil {
		return nil
	}
	if message, ok := payload.(event.AgentMessage); ok {
		if t.p.json {
			t.text.WriteString(string(message.Text))
			return nil
		}
		return t.said.write(e)
	}
	return t.beside.write(e)
}

func (t *turn) state(ctx context.Context, s *wire.State) error {
	if t.number == 0 { // the question of an earlier turn holds this one up
		if err := t.stillWaits(ctx, s); err != nil {
			return err
		}
	} else if s.Turn.PromptID != t.ask.PromptID {
		return nil
	}
	if len(s.PendingPermissions) == 0 {
		return nil
	}
	id := s.PendingPermissions[0]
	if t.noAsk {
		q, err := question(ctx, t.hub, t.session, s.AtSeq+1, id)
		if err != nil {
			return err
		}
		return withCode(ExitRefused, "a question waits: %s (`abide answer %s`)", plain.Line(q.Title), tail(t.session))
	}
	if t.asked[id] {
		return nil
	}
	t.asked[id] = true
	if !t.p.interactive() {
		t.p.notice("a question waits for an answer (`abide answer %s`)", tail(t.session))
		return nil
	}
	q, err := question(ctx, t.hub, t.session, s.AtSeq+1, id)
	if err != nil {
		return err
	}
	t.asking.over("")
	asked, stop := context.WithCancel(ctx)
	t.asking.id, t.asking.stop = id, stop
	t.asking.done.Go(func() { t.put(asked, q, s.AtSeq) })
	return nil
}

// put asks the person at the terminal a question, until it has an answer from
// anywhere.
func (t *turn) put(ctx context.Context, q event.PermissionRequest, at event.Seq) {
	asked := time.Now()
	fmt.Fprint(t.p.Stderr, plain.Asked(q))
	send := func(c wire.PermissionChoice) error {
		c.SeenSeq = at
		_, err := t.hub.Settle(ctx, t.session, q.PermissionID, c)
		return err
	}
	for {
		line, err := t.p.ask(ctx, asked, fmt.Sprintf("1-%d: ", len(q.Options)))
		if err != nil || line == "" {
			return
		}
		option, err := choose(q, line)
		if err != nil {
			t.p.notice("%v", err)
			continue
		}
		if form := filled(q, option); form != nil {
			err = t.p.fill(ctx, asked, form, send)
		} else {
			err = send(wire.PermissionChoice{OptionID: option})
		}
		if err != nil && ctx.Err() == nil {
			t.p.notice("%v", err)
		}
		return
	}
}

// stillWaits notices that the prompt was taken out of the queue: then its turn
// never comes.
func (t *turn) stillWaits(ctx context.Context, s *wire.State) error {
	for _, item := range s.Queue {
		if item.PromptID == t.ask.PromptID {
			return nil
		}
	}
	asked, err := t.hub.Ask(ctx, t.session, t.ask)
	if err != nil {
		return nil // the hub is away; the next state asks again
	}
	switch asked.Outcome {
	case wire.FateRemoved:
		return withCode(ExitFailed, "the prompt was taken out of the queue")
	case wire.FateInterrupted:
		return withCode(ExitFailed, "the turn was interrupted")
	}
	return nil
}

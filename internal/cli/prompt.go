package cli

import (
	"context"
	"errors"
	"fmt"
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

// promptAnswer is the output of prompt --json and run --json.
type promptAnswer struct {
	// Type is result behind the events of --stream.
	Type      string `json:"type,omitempty"`
	SessionID string `json:"session_id"`
	wire.PromptAnswer
	// The rest is there with --wait.
	StopReason event.StopReason `json:"stop_reason,omitempty"`
	// Text is the agent's message in the turn.
	Text  string         `json:"text,omitempty"`
	Error *event.Failure `json:"error,omitempty"`
	// Question waits for an answer: the turn is not over.
	Question *event.PermissionRequest `json:"question,omitempty"`
	// TimedOut says that the time was over before the turn was.
	TimedOut bool `json:"timed_out,omitempty"`
}

// waitFlags are the flags of a command that waits for the end of a turn.
type waitFlags struct {
	noAsk   bool
	timeout time.Duration
	stream  bool // print the events
	cancels bool // when the time is over
	// tells prints the question that --no-ask meets as JSON, also without --json.
	tells bool
}

func (w *waitFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.noAsk, "no-ask", false, "exit with 4 when a question waits, or the queue for a person, instead of waiting")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "wait `T` at most, such as 90s or 10m; then exit with 5")
}

func (p *Program) prompt() *cobra.Command {
	var wait, queue, now bool
	var at string
	var w waitFlags
	var files []string
	cmd := p.onSession(&cobra.Command{
		Use:   "prompt ID TEXT",
		Short: "Ask the agent of a session; with --wait, print what it says",
		Long: "Ask the agent of a session. A text of - is read from stdin. While the agent is busy the prompt waits in the queue;\nwith --now the turn at work is stopped, and the prompt is sent next.\n\n" +
			"With --wait, what the agent says goes to stdout and everything else to stderr. It exits with 0 when the turn ended\n" +
			"as it should, with 1 when it ended otherwise, with 4 when it waits for a person and --no-ask is given, and with 5 after\n" +
			"--timeout; the turn goes on then. Without --no-ask a question is asked at the terminal, or waits for an answer from\n" +
			"anywhere.",
		Example: "abide prompt - 'now add a test'\nabide prompt 9f3a - --wait <task.md\nabide prompt - 'what failed?' --wait --json",
		Args:    cobra.ExactArgs(2),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if (w.noAsk || w.timeout != 0) && !wait {
			return Usagef("--no-ask and --timeout go with --wait")
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
		ask := wire.NewPrompt{PromptID: client.NewKey(), Text: text, Attachments: attachments}
		switch {
		case queue && now:
			return Usagef("--queue and --now exclude each other")
		case queue:
			ask.When = wire.WhenQueue
		case now:
			ask.When = wire.WhenNow
		}
		if at != "" {
			if ask.ScheduledAt, err = timeOf(at, time.Now()); err != nil {
				return err
			}
		}
		asked, err := client.Again(ctx, func() (wire.PromptAnswer, error) { return hub.Ask(ctx, s.SessionID, ask) })
		if err != nil {
			return err
		}
		if !wait {
			if p.json {
				return p.PrintJSON(promptAnswer{SessionID: s.SessionID, PromptAnswer: asked})
			}
			if ask.ScheduledAt != nil {
				p.notice("waits in the queue until %s", ask.ScheduledAt.Local().Format(time.DateTime))
				return nil
			}
			if asked.Outcome == wire.FateQueued && asked.Position != nil {
				p.notice("queued, %d before it", *asked.Position)
			}
			return nil
		}
		return p.wait(ctx, hub, s, s.MaxSeq, ask, asked, w)
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the end of the turn, and print what the agent says")
	cmd.Flags().BoolVar(&queue, "queue", false, "put it into the queue, even while the agent is idle")
	cmd.Flags().BoolVar(&now, "now", false, "stop the turn at work, and send it before all that wait")
	w.add(cmd)
	cmd.Flags().StringVar(&at, "at", "", "let it wait in the queue until `TIME`: 15:04, 2026-02-21T15:04:00Z, or 90m from now")
	cmd.Flags().StringArrayVar(&files, "attach", nil, "send `FILE` with the prompt; may be given again")
	p.JSONFlag(cmd)
	p.colorFlag(cmd)
	return cmd
}

// run makes a session for a prompt, and waits for the end of its turn or, at a terminal,
// stays with it.
func (p *Program) run() *cobra.Command {
	var b beginning
	w := waitFlags{cancels: true}
	var cmd *cobra.Command
	cmd = p.onHub(&cobra.Command{
		Use:   "run [PROMPT]",
		Short: "Make a session, and stay with it or wait for its answer",
		Long: "Make a session, ask the prompt if there is one, and stay with it as `abide attach` does. A prompt of - is read from\n" +
			"stdin.\n\n" +
			"Without a terminal, or with --json, --stream, --no-ask or --timeout, wait for the end of the turn: what the agent says\n" +
			"goes to stdout and everything else to stderr. --json prints one object instead, --stream one line for each event as\n" +
			"it comes and the object behind them. The exit code is 0 only when the turn completed. Without a terminal --no-ask is\n" +
			"the default: with a question it exits with 4, and the question is on stdout as JSON (`abide answer` answers it;\n" +
			"--no-ask=false waits). After --timeout the turn is cancelled and the exit code is 5. See `abide help exit-codes`.",
		Example: "abide run 'why does the build fail?'\nabide run --agent claude --folder ~/src/app\nabide run --json --timeout 10m - <task.md",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		prompt, err := p.words(strings.Join(args, ""))
		if err != nil {
			return err
		}
		if len(args) > 0 && strings.TrimSpace(prompt) == "" {
			return Usagef("the prompt is empty")
		}
		person := p.interactive()
		asksMore := p.json || w.stream || w.noAsk || w.timeout != 0
		if prompt == "" && asksMore {
			return Usagef("--json, --stream, --no-ask and --timeout go with a prompt")
		}
		s, err := p.begin(ctx, hub, b, prompt)
		if err != nil {
			return err
		}
		p.notice("session %s", s.SessionID)
		if prompt == "" || person && !asksMore {
			return p.stay(ctx, hub, s.SessionInfo, 0, s.ask)
		}
		if !cmd.Flags().Changed("no-ask") {
			w.noAsk = !person
		}
		w.tells = true
		p.json = p.json || w.stream
		asked, err := client.Again(ctx, func() (wire.PromptAnswer, error) { return hub.Ask(ctx, s.SessionID, s.ask) })
		if err != nil {
			return err
		}
		return p.wait(ctx, hub, s.SessionInfo, 0, s.ask, asked, w)
	})
	b.add(cmd)
	b.addFiles(cmd)
	w.add(cmd)
	cmd.Flags().BoolVar(&w.stream, "stream", false, "print each event as a line of JSON as it comes, and the result behind them")
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

	said, beside sink         // the agent's messages, and the rest
	problem      *event.Event // the last error: a turn that it ends tells it
	stream       sink         // all events, with --stream
	text         strings.Builder
	seen         event.Seq
	number       int // of the turn, once it began
	began        event.Seq
	held         string // why the queue waits for a person, as it was told
	end          *event.TurnEnd
	cut          event.InterruptReason // why the turn was interrupted; empty if it was not
	question     *event.PermissionRequest
	asked        map[string]bool // questions put to the person
	asking       asking
}

// asking is the question that the person at the terminal is asked now.
type asking struct {
	style plain.Style
	id    string
	stop  context.CancelFunc
	done  sync.WaitGroup
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

// cancelTime limits the wait for the end of a turn that was cancelled.
const cancelTime = 10 * time.Second

func (p *Program) wait(ctx context.Context, hub *client.Hub, s wire.SessionInfo, after event.Seq, ask wire.NewPrompt, asked wire.PromptAnswer, w waitFlags) error {
	style, err := p.style(p.Stderr)
	if err != nil {
		return err
	}
	t := &turn{
		p: p, hub: hub, session: s.SessionID, ask: ask, noAsk: w.noAsk, asked: map[string]bool{}, seen: after, asking: asking{style: style},
		said: feedSink(p.Stdout, plain.Compact, false), beside: feedSink(p.Stderr, plain.Normal, style),
	}
	if w.stream {
		t.stream = rawSink(p.Stdout)
	}
	if asked.Outcome == wire.FateQueued {
		p.notice("queued; waiting for its turn")
	}
	if p.interactive() {
		p.lines() // lines typed from here on, before a question, do not answer it
	}
	timed, stop := limited(ctx, w.timeout)
	defer stop()
	err = p.follow(timed, hub, s, after, func(u client.Update) error { return t.news(timed, u) })
	t.asking.over("")
	over := t.end == nil && t.question == nil && ctx.Err() == nil && errors.Is(context.Cause(timed), errTime)
	if over && w.cancels {
		err = t.cancel(ctx, s)
		over = t.end == nil || t.end.StopReason != event.StopEndTurn
	}
	if t.end == nil || t.end.Error == nil {
		err = errors.Join(err, t.tell())
	}
	err = errors.Join(err, t.said.close(), t.beside.flush())
	switch {
	case err != nil && !errors.Is(err, errEnded):
		return err
	case !over && t.end == nil && t.question == nil:
		return withCode(ExitFailed, "left before the end of the turn; the session continues (`abide attach %s`)", tail(s.SessionID))
	}
	if err := t.print(asked, w, over); err != nil {
		return err
	}
	return t.verdict(ctx, s, w, over)
}

// cancel ends the turn whose time is over, and waits for its end.
func (t *turn) cancel(ctx context.Context, s wire.SessionInfo) error {
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	if err := t.hub.Cancel(ctx, t.session); err != nil {
		return err
	}
	t.noAsk = false
	return t.p.follow(ctx, t.hub, s, t.seen, func(u client.Update) error {
		u.State = nil
		return t.news(ctx, u)
	})
}

// print prints the result as JSON.
func (t *turn) print(asked wire.PromptAnswer, w waitFlags, over bool) error {
	if !t.p.json {
		if t.question != nil && w.tells {
			return t.p.PrintJSON(t.question)
		}
		return nil
	}
	answer := promptAnswer{SessionID: t.session, PromptAnswer: asked, Text: t.text.String(), Question: t.question, TimedOut: over}
	if w.stream {
		answer.Type = "result"
	}
	if t.end != nil {
		answer.StopReason, answer.Error = t.end.StopReason, t.end.Error
	}
	return t.p.PrintJSON(answer)
}

// verdict is nil if the turn completed, else the reason.
func (t *turn) verdict(ctx context.Context, s wire.SessionInfo, w waitFlags, over bool) error {
	switch {
	case over && t.end != nil:
		return withCode(ExitTimeout, "after %s the turn was cancelled", w.timeout)
	case over:
		return withCode(ExitTimeout, "after %s the turn is not over; it goes on (`abide attach %s`)", w.timeout, tail(t.session))
	case t.question != nil:
		return withCode(ExitRefused, "a question waits: %s (`abide answer %s`)", plain.Line(t.question.Title), tail(t.session))
	case t.end.StopReason == event.StopEndTurn:
		return nil
	}
	words := t.end.Words(t.cut)
	if t.cut == event.CutPaused {
		if why, err := choice(ctx, t.hub, s); err == nil { // else a person has decided by now
			words = why
		}
	}
	return withCode(ExitFailed, "%s", words)
}

func (t *turn) news(ctx context.Context, u client.Update) error {
	for _, e := range u.Events {
		if t.seen = e.Seq; t.stream.write != nil {
			if err := t.stream.write(e); err != nil {
				return err
			}
		}
		if err := t.event(e); err != nil {
			return err
		}
	}
	if err := errors.Join(t.said.flush(), t.beside.flush()); err != nil {
		return err
	}
	if t.stream.flush != nil {
		if err := t.stream.flush(); err != nil {
			return err
		}
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
			t.number, t.began = e.Turn, e.Seq
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
	if _, is := payload.(event.Error); is {
		err := t.tell()
		t.problem = &e
		return err
	}
	switch payload.(type) {
	case event.AgentMessage, event.ToolCall, event.ToolCallUpdate, event.PermissionRequest: // the turn goes on
		if err := t.tell(); err != nil {
			return err
		}
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

// tell writes the error that was held back.
func (t *turn) tell() error {
	held := t.problem
	if t.problem = nil; held == nil {
		return nil
	}
	return t.beside.write(*held)
}

func (t *turn) state(ctx context.Context, s *wire.State) error {
	if t.number == 0 { // the question of an earlier turn holds this one up
		if err := t.stillWaits(ctx, s); err != nil {
			return err
		}
	} else if s.Turn.PromptID != t.ask.PromptID {
		if s.AtSeq < t.began {
			return nil // it is of a moment before the prompt
		}
		return t.missed(ctx, s.AtSeq)
	}
	if len(s.PendingPermissions) == 0 {
		return nil
	}
	id := s.PendingPermissions[0]
	if t.noAsk {
		q, err := t.hub.Question(ctx, t.session, s.AtSeq+1, id)
		if err != nil {
			return err
		}
		t.question = &q
		return errEnded
	}
	if t.asked[id] {
		return nil
	}
	t.asked[id] = true
	if !t.p.interactive() {
		t.p.notice("a question waits for an answer (`abide answer %s`)", tail(t.session))
		return nil
	}
	q, err := t.hub.Question(ctx, t.session, s.AtSeq+1, id)
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
	fmt.Fprint(t.p.Stderr, plain.Asked(q, t.asking.style))
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
		if form := reply.FormOf(q, option); form != nil {
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
// never comes. So it does if a person has to let the queue go on.
func (t *turn) stillWaits(ctx context.Context, s *wire.State) error {
	for _, item := range s.Queue {
		if item.PromptID == t.ask.PromptID {
			return t.waits(s)
		}
	}
	asked, err := t.hub.Ask(ctx, t.session, t.ask)
	if err != nil {
		return nil // the hub is away; the next state asks again
	}
	switch {
	case asked.Outcome == wire.FateRemoved:
		return withCode(ExitFailed, "the prompt was taken out of the queue")
	case asked.Seq > 0 && asked.Seq <= s.AtSeq && s.Turn.PromptID != t.ask.PromptID:
		return t.missed(ctx, s.AtSeq)
	}
	return nil // its events are still to come
}

// waits tells that the queue waits for a person: a pause or an interrupted turn holds it.
func (t *turn) waits(s *wire.State) error {
	before := t.held
	switch t.held = ""; {
	case s.Interruption != nil && s.Interruption.Held:
		t.held = "a turn was interrupted"
	case s.Paused != nil:
		t.held = "the session is paused"
	}
	if t.held == "" || t.held == before {
		return nil
	}
	words := fmt.Sprintf("%s; the prompt waits until a person goes on (`abide resume %s`)", t.held, tail(t.session))
	if t.noAsk {
		return withCode(ExitRefused, "%s", words)
	}
	t.p.notice("%s", words)
	return nil
}

// missed takes the end of a turn from the log that is over and whose end did not come: after
// a crash of the hub, or a removal of old events, the log goes on elsewhere.
func (t *turn) missed(ctx context.Context, at event.Seq) error {
	end, cut, err := t.hub.TurnEnd(ctx, t.session, at+1, t.ask.PromptID)
	switch {
	case errors.Is(err, client.ErrNoEnd):
		return withCode(ExitFailed, "the turn is over, and its end is not in the log any more (`abide show %s`)", tail(t.session))
	case err != nil:
		return nil //nolint:nilerr // the hub is away; the next state looks again
	}
	t.end, t.cut = &end, cut
	return errEnded
}

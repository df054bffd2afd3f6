package desk

import (
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// boxRows is the most rows of the prompt box; a longer text scrolls in it.
const boxRows = 6

// Options say where a desk is.
type Options struct {
	Hub *client.Hub
	// Context ends what its commands wait for.
	Context context.Context //nolint:containedctx // a command has no other way to it
	Session string
	Style   plain.Style
	// Words says what an error means.
	Words func(error) string
}

// Desk is a person's place at a session.
type Desk struct {
	o         Options
	width     int
	box       textarea.Model
	past      past
	questions questions
	offers    offers
	menu      *menu
	state     *wire.State // the newest, or nil
	client    string      // this one, as observers name it
	seen      event.Seq   // the newest event
	plan      string      // how far the agent's plan of this turn is
	notice    string      // of what was done last, until the next key
	// sure is the question and the text that may be sent although it waits.
	sure string
	// flying are the prompts whose answer has not come.
	flying []string
	// ticking is true while a message of the clock is on its way.
	ticking bool
}

// News is the message of one of a desk's commands.
type News struct {
	To   *Desk
	what any
}

// Wish is what a key asks of the screen around the desk.
type Wish int

// The wishes.
const (
	Stay     Wish = iota
	Read          // let the keys read
	Leave         // leave the session
	PageUp        // show what was before
	PageDown      // show what came after
	Newest        // show the newest
)

// New returns a desk with the events that are held.
func New(o Options, width int, held []event.Event) *Desk {
	box := textarea.New()
	box.SetStyles(textarea.Styles{})
	box.SetVirtualCursor(false)
	box.ShowLineNumbers = false
	box.Prompt = "› "
	box.Placeholder = "Type a prompt; / lists commands, @ files"
	box.CharLimit = 0
	box.DynamicHeight, box.MinHeight, box.MaxHeight, box.MaxContentHeight = true, 1, boxRows, 1<<20
	box.KeyMap.InsertNewline.SetKeys("ctrl+j", "alt+enter", "shift+enter")
	box.KeyMap.Paste.SetEnabled(false) // the terminal pastes; the clipboard here may be another person's
	box.Focus()
	d := &Desk{o: o, box: box, questions: questions{known: map[string]event.PermissionRequest{}, looked: map[string]bool{}, settled: map[string]bool{}}}
	d.Resize(width)
	d.Events(held)
	return d
}

// Resize fits the desk to a width.
func (d *Desk) Resize(width int) {
	d.width = max(8, width)
	d.box.SetWidth(d.width)
}

// Events takes events of the session, in order.
func (d *Desk) Events(events []event.Event) {
	for _, e := range events {
		d.seen = max(d.seen, e.Seq)
		switch e.Type {
		case event.TypeUserPrompt, event.TypePlan, event.TypePermissionRequest:
		default:
			continue
		}
		payload, err := e.Payload()
		if err != nil {
			continue
		}
		switch p := payload.(type) {
		case event.UserPrompt:
			d.past.add(string(p.Text))
			d.plan = ""
		case event.Plan:
			d.plan = planLine(p)
		case event.PermissionRequest:
			d.questions.known[p.PermissionID] = p
		}
	}
}

// State takes the newest state of the session. client is this one, as observers name it.
func (d *Desk) State(s *wire.State, client string) tea.Cmd {
	if s == nil {
		return nil
	}
	d.state, d.client = s, client
	return tea.Batch(d.lookUp(), d.clock())
}

// Reset says that the session's log is another one now.
func (d *Desk) Reset() {
	d.seen, d.plan = 0, ""
}

// Draft is the text of the box; empty if there is nothing to send.
func (d *Desk) Draft() string {
	if text := d.box.Value(); strings.TrimSpace(text) != "" {
		return text
	}
	return ""
}

// Unsent reports whether something was typed that the hub does not have yet.
func (d *Desk) Unsent() bool { return d.Draft() != "" || len(d.flying) > 0 }

// Notice is what was done last; empty after the next key.
func (d *Desk) Notice() string { return d.notice }

// landed takes a prompt out of those whose answer has not come.
func (d *Desk) landed(text string) {
	if i := slices.Index(d.flying, text); i >= 0 {
		d.flying = slices.Delete(d.flying, i, i+1)
	}
	if d.notice == sending {
		d.notice = ""
	}
}

// Key is what a key does. page is how many rows of the session are in view.
func (d *Desk) Key(msg tea.KeyPressMsg, page int) (tea.Cmd, Wish) {
	name := msg.String()
	d.notice = ""
	switch {
	case d.menu != nil:
		return d.menuKey(name), Stay
	case d.questions.whole:
		return d.wholeKey(name, page), Stay
	case d.offers.open() && d.offerKey(name):
		return nil, Stay
	}
	switch name {
	case "pgup":
		return nil, PageUp
	case "pgdown":
		return nil, PageDown
	case "esc":
		return nil, Read
	case "ctrl+d":
		if d.box.Value() == "" {
			return nil, Leave
		}
	case "ctrl+x":
		return d.Cancel(), Stay
	case "ctrl+o":
		d.openSettings()
		return nil, Stay
	case "ctrl+q":
		d.openQueue()
		return nil, Stay
	case "ctrl+s":
		return d.send(wire.WhenNow)
	case "enter":
		if d.questions.form != nil {
			return d.value(), Stay
		}
		return d.send("")
	case "up":
		if d.box.Line() == 0 && d.box.LineInfo().RowOffset == 0 {
			d.takeUp(1)
			return nil, Stay
		}
	case "down":
		if info := d.box.LineInfo(); d.box.Line() == d.box.LineCount()-1 && info.RowOffset == info.Height-1 {
			d.takeUp(-1)
			return nil, Stay
		}
	}
	if d.box.Value() == "" {
		if cmd, done := d.questionKey(name); done {
			return cmd, Stay
		}
	}
	return d.edit(msg), Stay
}

// Paste takes a pasted text.
func (d *Desk) Paste(msg tea.PasteMsg) tea.Cmd {
	d.questions.whole = false
	if d.menu != nil {
		return tea.Batch(d.closeMenu(), d.edit(msg))
	}
	return d.edit(msg)
}

// edit gives a key or a pasted text to the box.
func (d *Desk) edit(msg tea.Msg) tea.Cmd {
	before := d.box.Value()
	box, cmd := d.box.Update(msg)
	d.box = box
	if d.box.Value() == before {
		return cmd
	}
	if draft := d.past.draft; d.past.back > 0 && strings.TrimSpace(draft) != "" {
		d.past.back = 0
		d.past.add(draft)
	}
	d.past.back, d.sure = 0, ""
	return tea.Batch(cmd, d.offer())
}

// replace has another text in the box.
func (d *Desk) replace(text string) {
	d.box.SetValue(text)
	d.box.MoveToEnd()
	d.offers = offers{asked: d.offers.asked + 1}
}

// takeUp shows an earlier prompt, or a later one.
func (d *Desk) takeUp(by int) {
	if d.questions.form != nil {
		return // the line is for a value
	}
	if text, ok := d.past.to(by, d.box.Value()); ok {
		d.replace(text)
	}
}

// command runs what waits for the hub. What it returns comes back by Take, if it is not nil.
func (d *Desk) command(do func() any) tea.Cmd {
	return func() tea.Msg {
		if what := do(); what != nil {
			return News{d, what}
		}
		return nil
	}
}

// done makes a command of what the hub is asked, with what it says when that is done.
func (d *Desk) done(what string, do func(context.Context) error) tea.Cmd {
	return d.command(func() any {
		if err := do(d.o.Context); err != nil {
			return err
		}
		return said(what)
	})
}

// said is a notice.
type said string

// sending is said until the answer comes.
const sending = "Sending …"

// landing is a prompt that the hub has.
type landing struct {
	text   string
	queued bool
}

// unsent is a prompt that did not reach the agent.
type unsent struct {
	text string
	err  error
}

// taken is a prompt that was taken out of the queue, to be changed. With an error the hub may
// have it still, or may not.
type taken struct {
	text string
	err  error
}

// second is the time to tell how long a turn has run.
type second struct{}

// Take takes a message of the desk's own.
func (d *Desk) Take(news News) tea.Cmd {
	switch what := news.what.(type) {
	case said:
		d.notice = string(what)
	case error:
		d.notice = d.o.Words(what)
	case landing:
		d.landed(what.text)
		if what.queued {
			d.notice = "Queued: it waits for the turn to end."
		}
	case unsent:
		d.landed(what.text)
		d.notice = d.o.Words(what.err)
		if d.box.Value() == "" && d.questions.form == nil {
			d.replace(what.text)
		}
	case taken:
		if what.err != nil {
			d.past.add(what.text) // Up brings it back
			d.notice = d.o.Words(what.err)
			return nil
		}
		if text := d.Draft(); text != "" {
			d.past.add(text)
		}
		if d.questions.form != nil {
			d.past.add(what.text)
			d.notice = "The prompt is kept: Up takes it up once the form is done."
			return nil
		}
		d.replace(what.text)
	case second:
		d.ticking = false
		return d.clock()
	case found:
		if delete(d.questions.looked, what.id); what.err == nil {
			d.questions.known[what.id] = what.q
			return d.next()
		}
	case ripe:
		d.questions.ripe = d.questions.ripe || d.questions.shown == string(what)
	case unanswered:
		return d.again(what)
	case typed:
		return d.files(what)
	case completed:
		d.complete(what)
	}
	return nil
}

// send gives the text of the box to the agent. While a question waits it asks first.
func (d *Desk) send(when wire.When) (tea.Cmd, Wish) {
	text := d.Draft()
	if text == "" {
		return nil, Stay
	}
	if d.state == nil {
		d.notice = "Not sent: the session is not there yet."
		return nil, Stay
	}
	if id := d.questions.open(); id != "" && d.sure != id+"\n"+text {
		d.sure = id + "\n" + text
		d.notice = "Not sent, as a question waits: the same key again sends it. Empty the line to answer."
		return nil, Stay
	}
	d.sure = ""
	d.past.add(text)
	d.replace("")
	d.flying, d.notice = append(d.flying, text), sending
	ask := wire.NewPrompt{PromptID: client.NewKey(), Text: text, When: when}
	return d.command(func() any {
		asked, err := client.Again(d.o.Context, func() (wire.PromptAnswer, error) {
			return d.o.Hub.Ask(d.o.Context, d.o.Session, ask)
		})
		if err != nil {
			return unsent{text, err}
		}
		return landing{text, asked.Outcome == wire.FateQueued}
	}), Newest
}

// Cancel ends what the agent does: its turn, or the restore.
func (d *Desk) Cancel() tea.Cmd {
	if d.state == nil || d.state.Turn.State == state.TurnIdle && d.state.Restore == nil {
		d.notice = "The agent does nothing that could be cancelled."
		return nil
	}
	if d.state.Turn.ForceReset {
		return d.done("The agent did not answer to cancel: it was stopped, and the turn ended.", func(ctx context.Context) error {
			return d.o.Hub.ForceReset(ctx, d.o.Session)
		})
	}
	return d.done("Cancelling …", func(ctx context.Context) error { return d.o.Hub.Cancel(ctx, d.o.Session) })
}

// clock ticks while a turn runs.
func (d *Desk) clock() tea.Cmd {
	if d.ticking || d.state.Turn.State == state.TurnIdle {
		return nil
	}
	d.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return News{d, second{}} })
}

// past are the prompts that a person may take up again, oldest first.
type past struct {
	texts []string
	// back is how many of them the person has gone back; draft is what they typed before.
	back  int
	draft string
}

// pastPrompts is the most prompts that are kept.
const pastPrompts = 200

func (p *past) add(text string) {
	if len(p.texts) > 0 && p.texts[len(p.texts)-1] == text {
		return
	}
	p.texts = append(p.texts, text)
	if over := len(p.texts) - pastPrompts; over > 0 {
		p.texts = slices.Delete(p.texts, 0, over)
	}
	if p.back > 0 {
		p.back = min(p.back+1, len(p.texts))
	}
}

// to goes to an older prompt or, with -1, a newer one, and returns the text to show.
func (p *past) to(by int, typed string) (string, bool) {
	at := p.back + by
	if at < 0 || at > len(p.texts) {
		return "", false
	}
	if p.back == 0 {
		p.draft = typed
	}
	if p.back = at; at == 0 {
		return p.draft, true
	}
	return p.texts[len(p.texts)-at], true
}

package desk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/internal/reply"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// calmKeys is how long a question has been on the screen before a key answers it: a key that
// was meant for the box must not.
const calmKeys = 300 * time.Millisecond

// questions are those of a session that wait for an answer.
type questions struct {
	// waiting are their ids, oldest first; known are those whose text came, looked those
	// that are being looked up, settled those that were answered from here.
	waiting         []string
	known           map[string]event.PermissionRequest
	looked, settled map[string]bool
	// shown is the question on the screen. ripe means that keys answer it.
	shown string
	ripe  bool
	// form is the one that the person fills in, for the question on the screen.
	form *reply.Form
	// sent is the form whose values are on their way.
	sent *reply.Form
	// hidden means that not all of the question and its options is in view.
	hidden bool
	// whole shows all of the question, from a row on.
	whole bool
	top   int
}

// first is the question to answer next, or nil.
func (q *questions) first() *event.PermissionRequest {
	for _, id := range q.waiting {
		if one, known := q.known[id]; known && !q.settled[id] {
			return &one
		}
	}
	return nil
}

// open is the question that waits next, whether or not its text is known; empty if none does.
func (q *questions) open() string {
	for _, id := range q.waiting {
		if !q.settled[id] {
			return id
		}
	}
	return ""
}

// found is a question that was looked up.
type found struct {
	id  string
	q   event.PermissionRequest
	err error
}

// ripe names a question that has been on the screen for a while.
type ripe string

// unanswered is an answer that the hub did not take.
type unanswered struct {
	id  string
	err error
}

// lookUp takes the questions that wait from the state, and asks the hub for those whose text
// has not come.
func (d *Desk) lookUp() tea.Cmd {
	q := &d.questions
	q.waiting = d.state.PendingPermissions
	over := func(id string) bool { return !slices.Contains(q.waiting, id) }
	for id := range q.known {
		if over(id) {
			delete(q.known, id)
			delete(q.settled, id)
		}
	}
	if q.sent != nil && over(q.sent.Of.PermissionID) {
		q.sent = nil
	}
	if q.form != nil && over(q.form.Of.PermissionID) {
		q.form = nil
		if text := d.Draft(); text != "" {
			d.past.add(text)
		}
		d.replace("")
		d.notice = "The form was answered elsewhere."
	}
	var cmds []tea.Cmd
	for _, id := range q.waiting {
		if _, known := q.known[id]; known || q.looked[id] {
			continue
		}
		q.looked[id] = true
		before := d.state.AtSeq + 1
		cmds = append(cmds, d.command(func() any {
			one, err := d.o.Hub.Question(d.o.Context, d.o.Session, before, id)
			return found{id, one, err}
		}))
	}
	return tea.Batch(append(cmds, d.next())...)
}

// next puts the next question on the screen.
func (d *Desk) next() tea.Cmd {
	q := &d.questions
	one := q.first()
	if one == nil {
		q.shown, q.whole = "", false
		return nil
	}
	if q.shown == one.PermissionID {
		return nil
	}
	q.shown, q.ripe, q.whole, q.top = one.PermissionID, false, false, 0
	return tea.Tick(calmKeys, func(time.Time) tea.Msg { return News{d, ripe(one.PermissionID)} })
}

// questionKey is what a key does at a question while the box is empty.
func (d *Desk) questionKey(name string) (tea.Cmd, bool) {
	q := &d.questions
	one := q.first()
	if one == nil || q.form != nil {
		return nil, false
	}
	if name == "?" {
		q.whole, q.top = true, 0
		return nil, true
	}
	if q.hidden {
		return nil, false // it goes to the box
	}
	return d.optionKey(*one, name)
}

// optionKey answers a question that the person sees.
func (d *Desk) optionKey(one event.PermissionRequest, name string) (tea.Cmd, bool) {
	q := &d.questions
	option := optionOf(one, name)
	if option == "" || !q.ripe {
		return nil, false
	}
	if q.form = reply.FormOf(one, option); q.form != nil {
		return nil, true
	}
	return d.settle(one, wire.PermissionChoice{OptionID: option}), true
}

// optionOf is the option that a key stands for: its number, or y and n where one option
// allows and one rejects once.
func optionOf(q event.PermissionRequest, key string) string {
	if len(key) == 1 && key >= "1" && key <= "9" {
		id, _ := reply.Option(q, key)
		if at := int(key[0] - '1'); at >= len(q.Options) {
			return ""
		}
		return id
	}
	kind := map[string]event.PermissionKind{"y": event.AllowOnce, "n": event.RejectOnce}[key]
	var fits []string
	for _, o := range q.Options {
		if kind != "" && o.Kind == kind {
			fits = append(fits, o.OptionID)
		}
	}
	if len(fits) != 1 {
		return ""
	}
	return fits[0]
}

// settle answers a question.
func (d *Desk) settle(q event.PermissionRequest, choice wire.PermissionChoice) tea.Cmd {
	d.questions.settled[q.PermissionID] = true
	choice.SeenSeq = d.seen
	return tea.Batch(d.next(), d.command(func() any {
		if _, err := d.o.Hub.Settle(d.o.Context, d.o.Session, q.PermissionID, choice); err != nil {
			return unanswered{q.PermissionID, err}
		}
		return nil
	}))
}

// value takes the line of the box as the next value of the form.
func (d *Desk) value() tea.Cmd {
	form := d.questions.form
	choice, done, err := form.Take(d.box.Value())
	if err != nil {
		d.notice = err.Error()
		return nil
	}
	d.replace("")
	if !done {
		return nil
	}
	d.questions.form, d.questions.sent = nil, form
	return d.settle(form.Of, choice)
}

// again takes back an answer that the hub did not take. A form whose values do not fit is
// filled in again.
func (d *Desk) again(u unanswered) tea.Cmd {
	d.notice = d.o.Words(u.err)
	q := &d.questions
	delete(q.settled, u.id)
	if form := q.sent; form != nil && form.Of.PermissionID == u.id {
		if q.sent = nil; q.form == nil && reply.Misfit(u.err) {
			form.Again()
			q.form = form
		}
	}
	return d.next()
}

// wholeKey is what a key does while all of a question is shown.
func (d *Desk) wholeKey(name string, page int) tea.Cmd {
	q := &d.questions
	switch name {
	case "up", "k":
		q.top--
	case "down", "j":
		q.top++
	case "pgup":
		q.top -= page
	case "pgdown", "space":
		q.top += page
	case "esc", "?", "q", "enter":
		q.whole = false
	default:
		one := q.first()
		if one == nil {
			q.whole = false
			return nil
		}
		cmd, done := d.optionKey(*one, name)
		q.whole = q.whole && !done
		return cmd
	}
	q.top = max(0, min(q.top, len(d.questionRows())+len(d.answerRows())-page))
	return nil
}

// questionRows are all rows of the question on the screen, without its options.
func (d *Desk) questionRows() []string {
	one := d.questions.first()
	if one == nil {
		return nil
	}
	text := strings.TrimRight(plain.Asked(*one, d.o.Style), "\n")
	if d.questions.form != nil {
		text = "" // its fields are asked one by one
	}
	lines := []string{d.o.Style.Yellow("? " + plain.Line(one.Title))}
	if text != "" {
		lines = append(lines, strings.Split(text, "\n")...)
	}
	return d.wrapped(lines...)
}

// answerRows are how the question is answered.
func (d *Desk) answerRows() []string {
	q := &d.questions
	if q.form != nil {
		first := ""
		if q.form.First() {
			first = "cancel declines · "
		}
		return d.wrapped("  " + d.o.Style.Dim(first) + q.form.Field())
	}
	var names []string
	for i, o := range q.first().Options {
		names = append(names, fmt.Sprintf("%d %s", i+1, plain.Line(o.Name)))
	}
	text := "  " + strings.Join(names, " · ")
	if !q.ripe {
		return d.wrapped(d.o.Style.Dim(text))
	}
	return d.wrapped(d.o.Style.Bold(text))
}

func (d *Desk) wrapped(lines ...string) (all []string) {
	for _, row := range cells.Wrap(lines, 0, d.width) {
		all = append(all, row.Text)
	}
	return all
}

// answerKeys are the keys that answer the question on the screen; empty while none does.
func (d *Desk) answerKeys() string {
	q := &d.questions
	one := q.first()
	if one == nil || !q.ripe || q.form != nil || d.box.Value() != "" {
		return ""
	}
	if q.hidden {
		return "? shows the question"
	}
	keys := "1"
	if n := min(9, len(one.Options)); n > 1 {
		keys = fmt.Sprintf("1-%d", n)
	}
	if optionOf(*one, "y") != "" && optionOf(*one, "n") != "" {
		keys += ", y, n"
	}
	return keys + " answers · ? all of it"
}

// drawQuestion is the question in at most so many rows, but for its options.
func (d *Desk) drawQuestion(limit int) []string {
	if d.questions.first() == nil {
		return nil
	}
	all := d.questionRows()
	if len(all) > limit {
		more := d.o.Style.Dim(fmt.Sprintf("  … %d more rows", len(all)-limit+1))
		all = append(all[:limit-1:limit-1], more)
	}
	answers := d.answerRows()
	d.questions.hidden = len(answers) > limit
	if d.questions.hidden {
		answers = append(answers[:limit-1:limit-1], d.o.Style.Dim("  …"))
	}
	return append(all, answers...)
}

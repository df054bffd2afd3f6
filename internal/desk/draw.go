package desk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Draw is what lies below the session, in the rows of a screen of a height: the question that
// waits, the plan, what is offered, and the box. The cursor's place is in these rows; it is nil
// where nothing can be typed.
func (d *Desk) Draw(height int) (drawn []string, cursor *tea.Cursor) {
	limit := max(3, (height-6)/2)
	drawn = []string{d.o.Style.Dim(strings.Repeat("─", d.width))}
	switch question := d.drawQuestion(limit); {
	case d.menu != nil:
		var labels []string
		for _, i := range d.menu.items {
			labels = append(labels, i.label)
		}
		drawn = append(append(drawn, d.o.Style.Bold(cells.Cut(d.menu.title, d.width))), d.drawChoices(labels, d.menu.at, limit)...)
	case d.questions.whole:
	case len(question) > 0:
		drawn = append(drawn, question...)
	case d.plan != "" && d.state != nil && d.state.Turn.State != state.TurnIdle:
		drawn = append(drawn, d.o.Style.Dim(cells.Cut(d.plan, d.width)))
	}
	drawn = append(drawn, d.drawOffers()...)
	if cursor = d.box.Cursor(); cursor != nil {
		cursor.Y += len(drawn)
	}
	if d.menu != nil {
		cursor = nil
		d.questions.hidden = true
	}
	for row := range strings.SplitSeq(d.box.View(), "\n") {
		drawn = append(drawn, cells.Cut(row, d.width))
	}
	const around = 4 // the rows of the screen that are not the desk's, but for the session's
	d.questions.hidden = d.questions.hidden || len(drawn)+around > height
	return drawn, cursor
}

// Whole is all of the question, where the person asked for that: it is shown in place of the
// session.
func (d *Desk) Whole() []string {
	if !d.questions.whole {
		return nil
	}
	if d.questions.first() == nil {
		return nil
	}
	all := append(d.questionRows(), d.answerRows()...)
	return all[min(d.questions.top, len(all)):]
}

// planLine is how far a plan is.
func planLine(p event.Plan) string {
	done, now := 0, ""
	for _, e := range p.Entries {
		if e.Status == "completed" {
			done++
		} else if now == "" || e.Status == "in_progress" {
			now = plain.Line(e.Content)
		}
	}
	if now == "" {
		now = "done"
	}
	return fmt.Sprintf("Plan %d/%d · %s", done, len(p.Entries), now)
}

// Line is what was done last, what the agent does, its settings and who else watches.
func (d *Desk) Line() string {
	s := d.state
	var parts []string
	if d.notice != "" {
		parts = append(parts, plain.Line(d.notice))
	}
	if s == nil {
		return strings.Join(append(parts, "Connecting …"), " · ")
	}
	switch {
	case len(s.Agent.AuthMethods) > 0:
		parts = append(parts, "the agent needs a login: abide login "+d.o.Session)
	case s.Agent.Status == state.AgentFailed:
		parts = append(parts, strings.TrimSpace("the agent "+string(s.Agent.Status)+" "+plain.Line(s.Agent.Message)))
	case s.Paused != nil:
		parts = append(parts, "paused by "+plain.Line(s.Paused.By))
	case s.Interruption != nil:
		parts = append(parts, "interrupted: Esc, then Resume; or type a prompt")
	case s.Turn.State == state.TurnCancelling:
		parts = append(parts, "cancelling")
	case len(s.PendingPermissions) > 0:
		parts = append(parts, "needs you")
	case s.Turn.State != state.TurnIdle:
		work := "at work"
		if since := time.Since(s.Turn.Since).Truncate(time.Second); !s.Turn.Since.IsZero() && since >= 10*time.Second {
			work += " " + since.String()
		}
		parts = append(parts, work)
	default:
		parts = append(parts, "idle")
	}
	if n := len(s.Queue); n > 0 {
		parts = append(parts, fmt.Sprintf("%d queued", n))
	}
	if s.Mode != nil {
		parts = append(parts, "mode "+plain.Line(s.Mode.ModeID))
	}
	if s.Usage != nil && s.Usage.Size > 0 {
		parts = append(parts, fmt.Sprintf("%d %% of the context", 100*s.Usage.Context()/s.Usage.Size))
	}
	var others []string
	for _, o := range s.Observers {
		if name := plain.Line(o.Actor); o.ClientID != d.client && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		parts = append(parts, strings.Join(others, ", ")+map[bool]string{true: " watches, too", false: " watch, too"}[len(others) == 1])
	}
	return strings.Join(parts, " · ")
}

// Keys are the keys of the moment.
func (d *Desk) Keys() string {
	switch {
	case d.menu != nil:
		return ""
	case d.questions.whole:
		return "Up and Down scroll · a number answers · Esc closes"
	case d.questions.form != nil:
		return "Enter takes the value · Esc reads"
	case d.offers.open():
		return "Tab completes · Esc closes"
	case d.answerKeys() != "":
		return d.answerKeys() + " · Ctrl-X cancels · Esc reads"
	}
	keys := "Enter sends · Ctrl-J new line · Esc reads"
	if d.state != nil && d.state.Turn.State != state.TurnIdle {
		keys = "Enter queues · Ctrl-S stops and sends · Ctrl-X cancels · Esc reads"
	}
	return keys + " · Ctrl-O settings · Ctrl-Q queue"
}

package desk

import (
	"context"
	"encoding/json"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// menu is a list over the prompt box, such as the agent's settings.
type menu struct {
	title string
	items []item
	at    int
}

// item is a row of a menu. What Enter or Delete do may be nil.
type item struct {
	label         string
	enter, remove tea.Cmd
}

func (d *Desk) menuKey(name string) tea.Cmd {
	choose := d.menu
	var do tea.Cmd
	switch name {
	case "up", "k":
		choose.at = (choose.at + len(choose.items) - 1) % len(choose.items)
		return nil
	case "down", "j":
		choose.at = (choose.at + 1) % len(choose.items)
		return nil
	case "enter":
		do = choose.items[choose.at].enter
	case "delete", "backspace":
		do = choose.items[choose.at].remove
	case "esc", "q", "ctrl+o", "ctrl+q":
		return d.closeMenu()
	}
	if do != nil {
		return tea.Batch(d.closeMenu(), do)
	}
	return nil
}

// closeMenu shows what the menu covered: a question is a new one for the eyes.
func (d *Desk) closeMenu() tea.Cmd {
	d.menu = nil
	d.questions.shown = ""
	return d.next()
}

// openSettings lists the agent's modes, and the values of its options.
func (d *Desk) openSettings() {
	s := d.state
	choose := &menu{title: "The agent's settings: Enter chooses, Esc leaves them"}
	add := func(name, id, label string, current bool, set func(context.Context) error) {
		mark := "  "
		if current {
			mark = "* "
		}
		if label == "" {
			label = id
		}
		choose.items = append(choose.items, item{
			label: mark + cells.Padded(plain.Line(name), 12) + plain.Line(label),
			enter: d.done(plain.Line(name)+": "+plain.Line(label), set),
		})
	}
	if s != nil && s.Mode != nil {
		for _, one := range s.Mode.Modes {
			add("mode", one.ID, one.Name, one.ID == s.Mode.ModeID, func(ctx context.Context) error { return d.o.Hub.SetMode(ctx, d.o.Session, one.ID) })
		}
	}
	if s != nil && s.Config != nil {
		for _, o := range state.OptionsOf(s.Config.Options) {
			set := func(value any) func(context.Context) error {
				return func(ctx context.Context) error { return d.o.Hub.SetOption(ctx, d.o.Session, o.ID, value) }
			}
			var on bool
			if json.Unmarshal(o.Value, &on) == nil {
				for _, value := range []bool{true, false} {
					add(o.ID, map[bool]string{true: "on", false: "off"}[value], "", on == value, set(value))
				}
				continue
			}
			for _, c := range transcript.Choices(o.Choices) {
				add(o.ID, c.ID, c.Name, c.ID == o.Text(), set(c.ID))
			}
		}
	}
	if len(choose.items) == 0 {
		d.notice = "The agent has told no modes or options: it tells them when it starts."
		return
	}
	d.menu = choose
}

// openQueue lists the prompts that wait.
func (d *Desk) openQueue() {
	choose := &menu{title: "Prompts that wait: Enter takes one into the line, Delete removes it, Esc leaves them"}
	if d.state != nil {
		for i, q := range d.state.Queue {
			by := ""
			if q.Actor != "" {
				by = d.o.Style.Dim(" · " + plain.Line(q.Actor))
			}
			remove := func(ctx context.Context) error { return d.o.Hub.Unqueue(ctx, d.o.Session, q.PromptID) }
			choose.items = append(choose.items, item{
				label:  fmt.Sprintf("%d %s", i+1, plain.Line(q.Text)) + by,
				remove: d.done("The prompt was removed.", remove),
			})
			if len(q.Attachments) > 0 {
				continue // the line cannot hold them
			}
			choose.items[i].enter = d.command(func() any {
				err := remove(d.o.Context)
				return taken{q.Text, err}
			})
		}
	}
	if len(choose.items) == 0 {
		d.notice = "No prompt waits."
		return
	}
	d.menu = choose
}

package desk

import (
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/plain"
)

// offerRows is the most offers that are shown at once.
const offerRows = 5

// typingPause is how long a person has typed nothing when the hub is asked for files.
const typingPause = 60 * time.Millisecond

// offers complete the word that the person types: a command of the agent, or a file.
type offers struct {
	list []one
	at   int
	// word is how many characters before the cursor an offer replaces.
	word int
	// asked counts the looks at the hub: only the answer to the newest counts.
	asked int
}

// one is an offer: what it puts into the box, and what is shown of it.
type one struct{ text, label string }

func (o *offers) open() bool { return len(o.list) > 0 }

// typed is a part of a file's name, once the person pauses.
type typed struct {
	asked, word int
	name        string
}

// files asks the hub for the files that match, unless more was typed.
func (d *Desk) files(t typed) tea.Cmd {
	if t.asked != d.offers.asked {
		return nil
	}
	return d.command(func() any {
		found, err := d.o.Hub.Complete(d.o.Context, d.o.Session, t.name)
		if err != nil {
			return err
		}
		return completed{t.asked, t.word, found.Paths}
	})
}

// completed is the hub's answer about files.
type completed struct {
	asked int
	word  int
	paths []string
}

// offer looks for what completes the word before the cursor.
func (d *Desk) offer() tea.Cmd {
	d.offers = offers{asked: d.offers.asked + 1}
	if d.questions.form != nil {
		return nil
	}
	line := []rune(strings.Split(d.box.Value(), "\n")[d.box.Line()])
	before := line[:min(d.box.Column(), len(line))]
	start := len(before)
	for start > 0 && !unicode.IsSpace(before[start-1]) {
		start--
	}
	word := string(before[start:])
	switch {
	case strings.HasPrefix(word, "/") && start == 0 && d.box.Line() == 0 && d.state != nil && d.state.Commands != nil:
		for _, c := range d.state.Commands.Commands {
			if strings.HasPrefix(c.Name, word[1:]) {
				d.offers.list = append(d.offers.list, one{"/" + c.Name + " ", "/" + plain.Line(c.Name) + "  " + plain.Line(c.Description)})
			}
		}
		d.offers.word = len([]rune(word))
	case strings.HasPrefix(word, "@"):
		asked, length := d.offers.asked, len([]rune(word))
		return tea.Tick(typingPause, func(time.Time) tea.Msg { return News{d, typed{asked, length, word[1:]}} })
	}
	return nil
}

// complete shows the files that match.
func (d *Desk) complete(c completed) {
	if c.asked != d.offers.asked {
		return
	}
	d.offers.word = c.word
	for _, path := range c.paths {
		d.offers.list = append(d.offers.list, one{"@" + path + " ", "@" + plain.Line(path)})
	}
}

// offerKey is what a key does while there are offers. It reports whether it did something.
func (d *Desk) offerKey(name string) bool {
	o := &d.offers
	switch name {
	case "up":
		o.at = (o.at + len(o.list) - 1) % len(o.list)
	case "down":
		o.at = (o.at + 1) % len(o.list)
	case "esc":
		o.list = nil
	case "enter":
		if strings.TrimSpace(o.list[o.at].text) == strings.TrimSpace(d.box.Value()) {
			o.list = nil
			return false // it is typed already: Enter sends it
		}
		d.take()
	case "tab":
		d.take()
	default:
		return false
	}
	return true
}

// take puts the chosen offer in place of the word.
func (d *Desk) take() {
	text := d.offers.list[d.offers.at].text
	for range d.offers.word {
		d.box, _ = d.box.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	d.box.InsertString(text)
	d.offers = offers{asked: d.offers.asked + 1}
}

// drawOffers is a part of the list around the chosen one.
func (d *Desk) drawOffers() []string {
	var labels []string
	for _, o := range d.offers.list {
		labels = append(labels, o.label)
	}
	return d.drawChoices(labels, d.offers.at, offerRows)
}

// drawChoices is a part of a list around the chosen row.
func (d *Desk) drawChoices(labels []string, at, limit int) []string {
	first := max(0, min(at-limit/2, len(labels)-limit))
	var rows []string
	for i := first; i < min(len(labels), first+limit); i++ {
		row := cells.Cut("  "+labels[i], d.width)
		if i == at {
			row = cells.Inverse + cells.Padded(row, d.width) + cells.Reset
		}
		rows = append(rows, row)
	}
	return rows
}

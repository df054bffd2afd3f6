package screen

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

// rows are the window as text, and the part of it that is shown.
type rows struct {
	level plain.Level
	style plain.Style
	// settled is the text up to the newest prompt: of settledTo events, from settledFrom on.
	settled     []string
	settledTo   int
	settledFrom event.Seq
	all         []cells.Row
	top         int
	follow      bool // stay at the end
	width       int
	height      int
	// query is what is searched for; empty for nothing.
	query string
}

// anchored makes the rows anew, and has the same ones in view after it; or the newest, if
// these were.
func (r *rows) anchored(w *window) {
	held := r.all[min(r.top, len(r.all)):min(r.top+r.height, len(r.all))]
	r.render(w)
	if r.follow {
		r.top = r.bottom()
		return
	}
	if same(r.all, r.top, held) {
		return
	}
	for i := range r.all {
		if same(r.all, i, held) {
			r.top = i
			return
		}
	}
	r.top = min(r.top, r.bottom())
}

// same reports whether rows go on with the given ones from a place.
func same(rows []cells.Row, at int, want []cells.Row) bool {
	if at+len(want) > len(rows) {
		return false
	}
	for i, row := range want {
		if rows[at+i].Text != row.Text {
			return false
		}
	}
	return true
}

// show has a line of text at the top.
func (r *rows) show(line int) {
	for i, row := range r.all {
		if row.Line >= line {
			r.top = min(i, r.bottom())
			return
		}
	}
}

// bottom is the top row when the last one is in view.
func (r *rows) bottom() int { return max(0, len(r.all)-r.height) }

// render makes the rows of the window.
func (r *rows) render(w *window) {
	turn := w.turn()
	if first := w.first(); r.settled == nil || r.settledTo != turn || r.settledFrom != first {
		r.settled, r.settledTo, r.settledFrom = lines(w.events[:turn], r.level, r.style), turn, first
	}
	open := lines(w.events[turn:], r.level, r.style)
	r.all = cells.Wrap(r.settled, 0, r.width)
	if len(r.settled) > 0 && len(open) > 0 {
		r.all = append(r.all, cells.Row{Line: len(r.settled)})
	}
	r.all = append(r.all, cells.Wrap(open, len(r.settled)+1, r.width)...)
}

// resize gives the rows another size; the first line in view stays there.
func (r *rows) resize(w *window, width, height int) {
	at := 0
	if r.top < len(r.all) {
		at = r.all[r.top].Line
	}
	r.width, r.height = max(1, width), height
	r.render(w)
	if r.top = r.bottom(); !r.follow {
		r.show(at)
	}
}

// fit gives the rows another height, as when the prompt box grows.
func (r *rows) fit(height int) {
	if r.height == height {
		return
	}
	r.height = height
	if r.top = min(r.top, r.bottom()); r.follow {
		r.top = r.bottom()
	}
}

// relevel shows more or less of the session.
func (r *rows) relevel(w *window, level plain.Level) {
	share := float64(r.top) / float64(max(1, r.bottom()))
	r.level, r.settled = level, nil
	r.render(w)
	if r.top = int(share * float64(r.bottom())); r.follow {
		r.top = r.bottom()
	}
}

// find has the next row that says the query at the top, from some rows after it; by is 1
// or -1. It reports whether there is one.
func (r *rows) find(after, by int) bool {
	for i := r.top + after*by; i >= 0 && i < len(r.all); i += by {
		if at, _ := cells.Index(ansi.Strip(r.all[i].Text), r.query); at >= 0 {
			r.top = min(i, r.bottom())
			r.follow = false
			return true
		}
	}
	return false
}

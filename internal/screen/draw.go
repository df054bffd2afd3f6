package screen

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.width == 0 {
		return tea.NewView("")
	}
	head, body, acts, chosen := m.drawList()
	if m.view != nil {
		head, body, acts, chosen = m.drawView()
	}
	if m.help {
		body = m.drawHelp()
	}
	var below []string
	var cursor *tea.Cursor
	last := m.choices(acts, chosen)
	if v := m.view; v != nil && v.desk != nil {
		below, cursor = v.desk.Draw(m.height)
		if v.typing {
			last = m.o.Style.Dim(cells.Cut(v.desk.Keys(), m.width))
		}
	}
	room := max(1, m.body()-len(below)) + 1
	if cursor != nil {
		cursor.Y += room
	}
	if m.view == nil || !m.view.typing || m.help || m.asked != nil {
		cursor = nil
	}
	rows := append([]string{cells.Cut(head, m.width)}, body...)
	for len(rows) < room {
		rows = append(rows, "")
	}
	rows = append(rows[:room], below...)
	rows = append(rows, "", m.line(), last)
	if over := len(rows) - m.height; over > 0 && cursor != nil {
		rows = rows[over:] // the line to type in stays in view
		cursor.Y -= over
	} else if over > 0 {
		rows = rows[:m.height]
	}
	view := tea.NewView(strings.Join(rows, "\n"))
	view.AltScreen = true
	view.Cursor = cursor
	view.MouseMode = tea.MouseModeCellMotion
	return view
}

// line is the last line but one: a question, the search, what happened, or the keys.
func (m *model) line() string {
	text := "Enter does the chosen act · S search · A all or this project · H help · Esc leaves"
	if m.view != nil {
		text = "F more or less · S search, n N next · P play · I attach · H help · Esc goes back"
	}
	if m.view != nil && m.view.reel != nil {
		text = "Space stops and goes on · , . events · { } turns · < > speed · R again and again · H help"
		if m.view.watch != nil {
			text += " · P ends playing"
		}
	}
	switch {
	case m.asked != nil:
		return m.o.Style.Bold(cells.Cut(m.asked.text+" · any other key: no", m.width))
	case m.help:
		text = "Any key closes the help."
	case m.searching():
		return cells.CutLeft("Search: "+*m.query()+cells.Inverse+" "+cells.Reset, m.width)
	case m.notice != "":
		text = plain.Line(m.notice)
	case m.view != nil && m.view.seeking != 0:
		text = "Searching … Esc stops"
	case m.view != nil && m.view.over != "":
		text = plain.Line(m.view.over)
	case m.view != nil && m.view.lost:
		text = "The connection to the hub was lost; trying again."
		if m.view.desk != nil && m.view.desk.Notice() != "" {
			text = plain.Line(m.view.desk.Notice()) + " · " + text
		}
	case m.view != nil && m.view.desk != nil:
		text = m.view.desk.Line()
	}
	return m.o.Style.Dim(cells.Cut(text, m.width))
}

// choices is the last line: the acts, the chosen one marked.
func (m *model) choices(acts []act, chosen int) string {
	var parts []string
	room := " "
	if m.width < 60 {
		room = ""
	}
	for i, a := range acts {
		text := room + string(a) + room
		if i == chosen {
			text = cells.Inverse + text + cells.Reset
		}
		parts = append(parts, text)
	}
	return cells.Cut(strings.Join(parts, " "), m.width)
}

func (m *model) drawList() (head string, body []string, acts []act, chosen int) {
	l := &m.list
	scope, path := "this project", plain.Line(l.project)
	if l.all {
		scope, path = "all projects", ""
	}
	if l.query != "" {
		scope, path = "with “"+l.query+"” · "+scope, ""
	}
	head = fmt.Sprintf("Showing %d–%d of %d · ", l.first+1, l.first+len(l.rows), l.total)
	switch {
	case !l.loaded:
		head = "Sessions · "
		body = []string{m.o.Style.Dim("Reading …")}
	case len(l.rows) == 0 && l.query != "":
		head = "Showing 0 of 0 · "
		body = []string{"", "No session has these words in its line. Esc shows all again."}
	case len(l.rows) == 0 && !l.all:
		head = "Showing 0 of 0 · "
		body = []string{"", "There is no session of this project yet.", "", "abide run 'what to do' begins one. A shows those of all projects."}
	case len(l.rows) == 0:
		head = "Showing 0 of 0 · "
		body = []string{"", "There is no session yet: abide run 'what to do' begins one."}
	}
	for i, s := range l.rows {
		text := m.drawLine(s)
		if i == l.at {
			text = cells.Inverse + cells.Padded(ansi.Strip(text), m.width) + cells.Reset
		}
		body = append(body, text)
	}
	head += scope
	if room := m.width - ansi.StringWidth(head) - 3; path != "" && room > 8 {
		head += " (" + cells.CutLeft(path, room) + ")"
	}
	return m.o.Style.Bold(cells.Cut(head, m.width)), body, listActs(), l.action
}

// drawLine is the line of a session: status, age, name, the last thing said, and the root
// of its project where all are shown.
func (m *model) drawLine(s wire.SessionInfo) string {
	unread := "  "
	if unreadIn(s) {
		unread = "* "
	}
	const statusCells, ageCells = 12, 5
	status, wide := strings.ReplaceAll(string(s.Status), "_", " "), statusCells
	if m.width < 60 {
		status, wide = sign(s.Status), 2
	}
	left := unread + m.o.Style.Status(s.Status, cells.Padded(status, wide)) + cells.Padded(plain.Ago(time.Since(s.UpdatedAt)), ageCells)
	room := m.width - 2 - wide - ageCells
	root := ""
	if m.list.all {
		root = "root: Unknown"
		if own := rootOf(s); own != "" {
			root = plain.Line(own)
		}
		root = cells.CutLeft(root, room/3)
		room -= ansi.StringWidth(root) + 1
	}
	nameCells := room
	if room >= 40 {
		nameCells = room * 3 / 5
	}
	text := left + words(cells.Padded(plain.Line(s.Name), nameCells), m.list.query)
	if rest := room - nameCells - 2; rest > 0 {
		text += "  " + m.o.Style.Dim(cells.Padded(plain.Line(s.LastLine), rest))
	}
	if root != "" {
		text += " " + words(root, m.list.query)
	}
	return text
}

// words marks the words of a search.
func words(text, query string) string {
	for word := range strings.FieldsSeq(query) {
		if at, n := cells.Index(text, word); at >= 0 && !strings.Contains(text, "\x1b") {
			text = text[:at] + cells.Marked + text[at:at+n] + cells.Reset + text[at+n:]
		}
	}
	return text
}

// sign is a status in one cell, where there is no room for its word.
func sign(s wire.SessionStatus) string {
	signs := map[wire.SessionStatus]string{
		state.StatusRunning: ">", state.StatusNeedsYou: "?", state.StatusInterrupted: "~", state.StatusPaused: "=", state.StatusFailed: "!", state.StatusDamaged: "!", state.StatusEnded: ".",
	}
	if sign := signs[s]; sign != "" {
		return sign
	}
	return " "
}

// unreadIn reports whether a session has events that this person has seen on no screen.
func unreadIn(s wire.SessionInfo) bool {
	return s.ReadSeq == nil || *s.ReadSeq < s.MaxSeq
}

func (m *model) drawView() (head string, body []string, acts []act, chosen int) {
	v := m.view
	r := &v.rows
	end := min(len(r.all), r.top+r.height)
	left := fmt.Sprintf("%d–%d / %d", min(r.top+1, end), end, len(r.all))
	if v.reel != nil {
		left = v.shown.words()
	} else if v.window.first() > v.window.min || v.window.last() < v.window.end {
		left += fmt.Sprintf(" of events %d–%d / %d", v.window.first(), v.window.last(), v.window.end)
	}
	left += map[plain.Level]string{plain.Compact: " · compact", plain.Full: " · full"}[r.level]
	if v.desk != nil && !r.follow {
		left += " · older: PgDn"
	}
	path := cells.CutLeft(plain.Line(v.session.Workspace), m.width-ansi.StringWidth(left)-2)
	gap := m.width - ansi.StringWidth(left) - ansi.StringWidth(path)
	if gap >= 2 {
		left += strings.Repeat(" ", gap) + path
	}
	head = m.o.Style.Bold(cells.Cut(left, m.width))
	for _, row := range r.all[min(r.top, end):end] {
		text := row.Text
		if v.rows.query != "" {
			if at, _ := cells.Index(ansi.Strip(text), v.rows.query); at >= 0 {
				text = cells.Mark(text, v.rows.query)
			}
		}
		body = append(body, text)
	}
	switch {
	case len(r.all) == 0 && v.loading:
		body = []string{m.o.Style.Dim("Reading …")}
	case len(r.all) == 0:
		body = []string{"", "Nothing was said yet."}
	}
	if v.desk != nil {
		if whole := v.desk.Whole(); whole != nil {
			body = whole
		}
	}
	if v.state != nil {
		body = overlay(body, v.state.Restore, m.width, r.height)
	}
	return head, body, v.acts(), v.action
}

func (m *model) drawHelp() []string {
	text := "* unread, its status, when it changed, its name, the last thing said.\n" +
		"Up, Down, PgUp, PgDn choose a session, Left and Right an act; Enter does it.\n" +
		"A: this project, or all. S: only those with some words.\n"
	if m.view != nil {
		text = "Up, Down, PgUp, PgDn, Home, End and the wheel scroll. What comes is shown at the end.\n" +
			"F: what was said, or thoughts, tools and output, too.\n" +
			"S: search; n the next match, N the one before.\n" +
			"P: play the session again, each event when it came. There Space stops and goes on, , and . go by events,\n" +
			"{ and } by turns, < and > change the speed, Home and End go to the ends, R begins again at the end.\n" +
			"I: type at the session. There Esc is for reading, Ctrl-X cancels the turn or a restore,\n" +
			"Ctrl-O has the agent's mode and options, Ctrl-Q the prompts that wait.\n"
	}
	text += "View reads it, Attach writes to it.\n" +
		"Resume: the agent goes on in the best way it has.\n" +
		"Segmented: a new agent session is told all of this one, in parts.\n" +
		"Server: the agent loads its own copy of the session."
	var rows []string
	for _, row := range cells.Wrap(strings.Split(text, "\n"), 0, m.width) {
		rows = append(rows, row.Text)
	}
	return rows
}

package screen

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

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
	rows := append([]string{cut(head, m.width)}, body...)
	for len(rows) < m.body()+1 {
		rows = append(rows, "")
	}
	rows = append(rows[:m.body()+1], "", m.line(), m.choices(acts, chosen))
	if len(rows) > m.height {
		rows = rows[:m.height]
	}
	view := tea.NewView(strings.Join(rows, "\n"))
	view.AltScreen = true
	view.MouseMode = tea.MouseModeCellMotion
	return view
}

// line is the last line but one: a question, the search, what happened, or the keys.
func (m *model) line() string {
	text := "Enter does the chosen act · S search · A all or this project · H help · Esc leaves"
	if m.view != nil {
		text = "F more or less · S search, n and N the next · H help · Esc goes back"
	}
	switch {
	case m.asked != nil:
		return m.o.Style.Bold(cut(m.asked.text+" · any other key: no", m.width))
	case m.help:
		text = "Any key closes the help."
	case m.searching():
		return cutLeft("Search: "+*m.query()+inverse+" "+reset, m.width)
	case m.notice != "":
		text = plain.Line(m.notice)
	case m.view != nil && m.view.seeking != 0:
		text = "Searching … Esc stops"
	case m.view != nil && m.view.restore != nil:
		return cut(progress(*m.view.restore), m.width)
	case m.view != nil && m.view.lost:
		text = "The connection to the hub was lost; trying again."
	}
	return m.o.Style.Dim(cut(text, m.width))
}

// progress is how far the agent has been told the session.
func progress(r wire.Restore) string {
	const cells = 10
	full := min(cells, r.Percent*cells/100)
	return fmt.Sprintf("[%s%s] %d/%d · ~%d tokens · %d %%", strings.Repeat("#", full), strings.Repeat(".", cells-full), r.Done, r.Total, r.Tokens, r.Percent)
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
			text = inverse + text + reset
		}
		parts = append(parts, text)
	}
	return cut(strings.Join(parts, " "), m.width)
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
			text = inverse + padded(ansi.Strip(text), m.width) + reset
		}
		body = append(body, text)
	}
	head += scope
	if room := m.width - ansi.StringWidth(head) - 3; path != "" && room > 8 {
		head += " (" + cutLeft(path, room) + ")"
	}
	return m.o.Style.Bold(cut(head, m.width)), body, listActs(), l.action
}

// drawLine is the line of a session: status, age, name, the last thing said, and the root
// of its project where all are shown.
func (m *model) drawLine(s wire.SessionInfo) string {
	unread := "  "
	if unreadIn(s) {
		unread = "* "
	}
	const statusCells, ageCells = 12, 5
	status, cells := strings.ReplaceAll(string(s.Status), "_", " "), statusCells
	if m.width < 60 {
		status, cells = sign(s.Status), 2
	}
	left := unread + m.styled(s.Status, padded(status, cells)) + padded(ago(time.Since(s.UpdatedAt)), ageCells)
	room := m.width - 2 - cells - ageCells
	root := ""
	if m.list.all {
		root = "root: Unknown"
		if own := rootOf(s); own != "" {
			root = plain.Line(own)
		}
		root = cutLeft(root, room/3)
		room -= ansi.StringWidth(root) + 1
	}
	nameCells := room
	if room >= 40 {
		nameCells = room * 3 / 5
	}
	text := left + words(padded(plain.Line(s.Name), nameCells), m.list.query)
	if rest := room - nameCells - 2; rest > 0 {
		text += "  " + m.o.Style.Dim(padded(plain.Line(s.LastLine), rest))
	}
	if root != "" {
		text += " " + words(root, m.list.query)
	}
	return text
}

// words marks the words of a search.
func words(text, query string) string {
	for word := range strings.FieldsSeq(query) {
		if at, n := index(text, word); at >= 0 && !strings.Contains(text, "\x1b") {
			text = text[:at] + marked + text[at:at+n] + reset + text[at+n:]
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

func (m *model) styled(s wire.SessionStatus, text string) string {
	switch s {
	case state.StatusNeedsYou, state.StatusInterrupted, state.StatusPaused:
		return m.o.Style.Yellow(text)
	case state.StatusFailed, state.StatusDamaged:
		return m.o.Style.Red(text)
	case state.StatusRunning:
		return m.o.Style.Bold(text)
	}
	return m.o.Style.Dim(text)
}

// unreadIn reports whether a session has events that this person has seen on no screen.
func unreadIn(s wire.SessionInfo) bool {
	return s.ReadSeq == nil || *s.ReadSeq < s.MaxSeq
}

// ago is a time in the past in few characters.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func (m *model) drawView() (head string, body []string, acts []act, chosen int) {
	v := m.view
	r := &v.rows
	end := min(len(r.all), r.top+r.height)
	left := fmt.Sprintf("%d–%d / %d", min(r.top+1, end), end, len(r.all))
	if v.window.first() > v.window.min || v.window.last() < v.window.end {
		left += fmt.Sprintf(" of events %d–%d / %d", v.window.first(), v.window.last(), v.window.end)
	}
	left += map[plain.Level]string{plain.Compact: " · compact", plain.Full: " · full"}[r.level]
	path := cutLeft(plain.Line(v.session.Workspace), m.width-ansi.StringWidth(left)-2)
	gap := m.width - ansi.StringWidth(left) - ansi.StringWidth(path)
	if gap >= 2 {
		left += strings.Repeat(" ", gap) + path
	}
	head = m.o.Style.Bold(cut(left, m.width))
	for _, row := range r.all[min(r.top, end):end] {
		text := row.text
		if v.query != "" {
			if at, _ := index(ansi.Strip(text), v.query); at >= 0 {
				text = mark(text, v.query)
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
	return head, body, viewActs(), v.action
}

func (m *model) drawHelp() []string {
	text := "* unread, its status, when it changed, its name, the last thing said.\n" +
		"Up, Down, PgUp, PgDn choose a session, Left and Right an act; Enter does it.\n" +
		"A: this project, or all. S: only those with some words.\n"
	if m.view != nil {
		text = "Up, Down, PgUp, PgDn, Home, End and the wheel scroll. What comes is shown at the end.\n" +
			"F: what was said, or thoughts, tools and output, too.\n" +
			"S: search; n the next match, N the one before.\n"
	}
	text += "View reads it, Attach writes to it.\n" +
		"Resume: the agent goes on in the best way it has.\n" +
		"Segmented: a new agent session is told all of this one, in parts.\n" +
		"Server: the agent loads its own copy of the session."
	var rows []string
	for _, row := range wrap(strings.Split(text, "\n"), 0, m.width) {
		rows = append(rows, row.text)
	}
	return rows
}

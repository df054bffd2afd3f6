package screen

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
)

const (
	// pageRows is the most sessions on one page.
	pageRows = 20
	// calm is the shortest time between two looks at the list.
	calm = 250 * time.Millisecond
)

// list is a page of the session list.
type list struct {
	project string
	all     bool
	// query keeps the sessions with all its words in their line.
	query     string
	searching bool

	// before are the cursors of this page and of those before it.
	before []string
	next   string
	first  int // how many sessions are before this page
	total  int
	rows   []wire.SessionInfo
	at     int // the chosen row
	action int
	loaded bool
	// asked counts the questions to the hub: only the answer to the newest counts.
	asked int
}

// listed is a page that came.
type listed struct {
	asked int
	page  wire.SessionPage
	err   error
	last  bool // choose the last row
}

// changed says that a session's line changed.
type changed struct{}

// first shows the first page.
func (m *model) first() tea.Cmd {
	m.list.before, m.list.first, m.list.at = nil, 0, 0
	return m.load()
}

// load asks for the page that is shown.
func (m *model) load() tea.Cmd { return m.loadAt(false) }

func (m *model) loadAt(last bool) tea.Cmd {
	if m.height == 0 {
		return nil // the size is not known yet
	}
	l := &m.list
	l.asked++
	q := client.ListQuery{Text: l.query, Said: true, Limit: min(pageRows, m.body())}
	if !l.all {
		q.Project = l.project
	}
	if len(l.before) > 0 {
		q.Cursor = l.before[len(l.before)-1]
	}
	asked := l.asked
	return func() tea.Msg {
		page, err := m.o.Hub.List(m.ctx, q)
		return listed{asked, page, err, last}
	}
}

// take shows a page that came. The chosen session stays chosen while it is on the page.
func (m *model) take(got listed) tea.Cmd {
	l := &m.list
	if got.asked != l.asked {
		return nil
	}
	if got.err != nil {
		m.notice = m.o.Words(got.err)
		return nil
	}
	chosen := l.chosen()
	l.rows, l.next, l.loaded = got.page.Sessions, got.page.NextCursor, true
	if len(l.before) == 0 {
		l.total = got.page.Total
	} else if len(l.rows) == 0 {
		return m.first()
	}
	if got.last {
		l.at = len(l.rows) - 1
	}
	for i, s := range l.rows {
		if chosen != nil && s.SessionID == chosen.SessionID {
			l.at = i
		}
	}
	l.at = max(0, min(l.at, len(l.rows)-1))
	l.total = max(l.total, l.first+len(l.rows))
	return nil
}

// chosen is the session of the chosen row, or nil.
func (l *list) chosen() *wire.SessionInfo {
	if l.at >= len(l.rows) {
		return nil
	}
	return &l.rows[l.at]
}

// move goes some rows up or down, and to the next page at the end of one.
func (m *model) move(by int) tea.Cmd {
	l := &m.list
	switch to := l.at + by; {
	case to < 0 && len(l.before) > 0:
		return m.turn(-1, true)
	case to >= len(l.rows) && l.next != "":
		return m.turn(1, false)
	default:
		l.at = max(0, min(to, len(l.rows)-1))
	}
	return nil
}

// turn goes to the page after or before this one.
func (m *model) turn(by int, last bool) tea.Cmd {
	l := &m.list
	switch {
	case by > 0 && l.next != "":
		l.before = append(l.before, l.next)
		l.first += len(l.rows)
	case by < 0 && len(l.before) > 0:
		l.before = l.before[:len(l.before)-1]
		l.first = max(0, l.first-min(pageRows, m.body()))
		if len(l.before) == 0 {
			l.first = 0
		}
	default:
		l.at = map[bool]int{true: max(0, len(l.rows)-1), false: 0}[by > 0]
		return nil
	}
	l.next, l.at = "", 0
	l.rows = l.rows[:0:0]
	return m.loadAt(last)
}

func (m *model) listKey(name string) tea.Cmd {
	l := &m.list
	switch name {
	case "up", "k":
		return m.move(-1)
	case "down", "j":
		return m.move(1)
	case "pgup":
		return m.turn(-1, false)
	case "pgdown", "space":
		return m.turn(1, false)
	case "home", "g":
		return m.first()
	case "end", "G":
		l.at = max(0, len(l.rows)-1)
	case "left":
		l.action = (l.action + len(listActs()) - 1) % len(listActs())
	case "right", "tab":
		l.action = (l.action + 1) % len(listActs())
	case "a", "A":
		if l.project == "" {
			m.notice = "There is no project here: all sessions are shown."
			return nil
		}
		l.all = !l.all
		return m.first()
	case "esc", "q":
		if l.query != "" {
			l.query = ""
			return m.first()
		}
		return tea.Quit
	case "enter":
		if s := l.chosen(); s != nil {
			return m.act(listActs()[l.action], *s)
		}
	}
	return nil
}

// followList asks anew for the list when one of its lines changed, until ctx ends. A
// connection that is lost is made again.
func (m *model) followList(ctx context.Context) {
	ring := make(chan struct{}, 1)
	m.running.Go(func() { m.everyMinute(ctx) })
	m.running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ring:
				m.send(changed{})
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(calm):
			}
		}
	})
	for wait := calm; ; wait = min(2*wait, 5*time.Second) {
		began := time.Now()
		err := m.o.Hub.FollowList(ctx, func() {
			select {
			case ring <- struct{}{}:
			default:
			}
		})
		if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && refused.Final() {
			m.send(failed{err})
			return
		}
		if time.Since(began) > 5*time.Second {
			wait = calm
		}
		m.send(failed{err})
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

package screen

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/internal/desk"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// frame is the shortest time between two drawings of a session that is at work.
const frame = 50 * time.Millisecond

// view is one session to read.
type view struct {
	session wire.SessionInfo
	window  window
	rows    rows
	// loading is true while a page is asked for.
	loading bool
	// drawing is true while what came waits to be drawn.
	drawing bool
	lost    bool   // the connection to the hub
	over    string // why nothing comes any more; empty while something may

	searching bool
	query     string
	// seeking is the direction in which a search reads on; 0 if none does.
	seeking int
	action  int
	state   *wire.State // the newest, or nil
	client  string      // this one, as observers name it
	// desk is nil while the person only reads; typing means that keys go to it.
	desk   *desk.Desk
	typing bool
	watch  *client.Watch
	leave  context.CancelFunc
}

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
}

// pageOf is a page of a session that came.
type pageOf struct {
	view  *view
	where place
	page  wire.EventsLoaded
	err   error
}

// place is where a page goes.
type place int

const (
	newest  place = iota // in place of what is held, shown from its end
	oldest               // in place of what is held, shown from its beginning
	earlier              // before what is held
	later                // after it
)

// news is what a session's watch brought.
type news struct {
	view   *view
	update client.Update
	ended  error
}

// draw is the time to show what came.
type draw struct{ view *view }

// open shows a session, from its newest events.
func (m *model) open(s wire.SessionInfo) tea.Cmd {
	ctx, leave := context.WithCancel(m.ctx)
	v := &view{session: s, leave: leave, rows: rows{level: plain.Compact, style: m.o.Style, follow: true}}
	v.window = window{epoch: s.Epoch, min: s.MinSeq, end: s.MaxSeq}
	v.watch = client.NewWatch(m.o.Hub, s.SessionID, client.Cursor{Epoch: s.Epoch, Seq: s.MaxSeq})
	v.resize(m.width, m.body())
	m.view = v
	m.running.Go(func() {
		err := v.watch.Run(ctx, func(u client.Update) error {
			m.send(news{view: v, update: u})
			return ctx.Err()
		})
		if ctx.Err() == nil {
			m.send(news{view: v, ended: err})
		}
	})
	return m.page(v, newest)
}

// close goes back to the list. A prompt that was typed and not sent is not lost unasked.
func (m *model) close() tea.Cmd {
	v := m.view
	if v.desk != nil && v.desk.Unsent() && !m.leaving {
		m.leaving = true
		m.notice = "A prompt was typed and not sent: the same key again leaves it."
		return nil
	}
	if m.only != nil {
		return tea.Sequence(v.seen(m.ctx), tea.Quit)
	}
	m.view = nil
	return tea.Sequence(v.seen(m.ctx), func() tea.Msg {
		v.leave()
		return changed{}
	})
}

// page asks for a page.
func (m *model) page(v *view, where place) tea.Cmd {
	v.loading = true
	id, first, last, min := v.session.SessionID, v.window.first(), v.window.last(), v.window.min
	return func() tea.Msg {
		got := pageOf{view: v, where: where}
		switch where {
		case newest:
			got.page, got.err = m.o.Hub.JoinedBefore(m.ctx, id, 0, pageEvents)
		case oldest:
			got.page, got.err = m.o.Hub.JoinedAfter(m.ctx, id, min-1, pageEvents)
		case earlier:
			got.page, got.err = m.o.Hub.JoinedBefore(m.ctx, id, first, pageEvents)
		case later:
			got.page, got.err = m.o.Hub.JoinedAfter(m.ctx, id, last, pageEvents)
		}
		return got
	}
}

// paged takes a page that came.
func (m *model) paged(got pageOf) tea.Cmd {
	v := got.view
	if m.view != v {
		return nil
	}
	v.loading = false
	if got.err != nil {
		v.seeking = 0
		m.notice = m.o.Words(got.err)
		return nil
	}
	if got.page.Epoch != v.window.epoch && (got.where == earlier || got.where == later) {
		return m.page(v, newest) // the log is another one now
	}
	v.window.epoch = got.page.Epoch
	r := &v.rows
	switch got.where {
	case newest, oldest:
		if v.desk != nil && len(v.window.events) == 0 {
			v.desk.Events(got.page.Events) // it was made before they came
		}
		v.window.reset(got.page.Events)
		v.window.end = max(v.window.end, v.window.last())
		r.follow, r.settled = got.where == newest, nil
		v.render()
		if r.top = 0; got.where == newest {
			r.top = r.bottom()
		}
	case earlier:
		if len(got.page.Events) == 0 {
			v.window.min = v.window.first()
		}
		v.window.prepend(got.page.Events)
		v.anchored()
	case later:
		if len(got.page.Events) == 0 {
			v.window.end = v.window.last()
		}
		v.window.append(got.page.Events, true)
		v.anchored()
	}
	if v.seeking != 0 {
		return m.seek()
	}
	return tea.Batch(m.fill(), v.seen(m.ctx))
}

// fill asks for what lies beyond the rows that are shown, if that is not there.
func (m *model) fill() tea.Cmd {
	v := m.view
	if v == nil || v.loading {
		return nil
	}
	switch r := &v.rows; {
	case v.window.full():
	case r.top < r.height && v.window.first() > v.window.min:
		return m.page(v, earlier)
	case r.top >= r.bottom()-r.height && v.window.last() < v.window.end:
		return m.page(v, later)
	}
	return nil
}

// scroll goes some rows up or down. Beyond what is held it reads on, if that is full: else
// fill has done so.
func (m *model) scroll(by int) tea.Cmd {
	v := m.view
	r := &v.rows
	from := r.top
	r.top = max(0, min(from+by, r.bottom()))
	r.follow = r.top == r.bottom() && v.window.last() == v.window.end
	switch {
	case v.loading || r.top != from:
	case by < 0 && v.window.first() > v.window.min:
		r.follow = false
		return m.page(v, earlier)
	case by > 0 && v.window.last() < v.window.end:
		return m.page(v, later)
	}
	return tea.Batch(m.fill(), v.seen(m.ctx))
}

// follow takes what the watch brought.
func (m *model) follow(got news) tea.Cmd {
	v := got.view
	if m.view != v {
		return nil
	}
	if got.ended != nil {
		v.over = m.o.Words(got.ended)
		return nil
	}
	u := got.update
	switch {
	case u.Lost != nil:
		v.lost = true
	case u.Connected != nil:
		v.lost, v.client = false, u.Connected.ClientID
	case u.Reset:
		v.window.epoch, v.window.end = v.watch.History().Cursor().Epoch, 0
		if v.desk != nil {
			v.desk.Reset()
		}
		return m.page(v, newest)
	}
	var cmds []tea.Cmd
	if u.State != nil {
		v.state = u.State
	}
	if v.desk != nil {
		v.desk.Events(u.Events)
		cmds = append(cmds, v.desk.State(u.State, v.client))
	}
	v.window.append(u.Events, v.rows.follow)
	if !v.drawing {
		v.drawing = true
		cmds = append(cmds, tea.Tick(frame, func(time.Time) tea.Msg { return draw{v} }))
	}
	return tea.Batch(cmds...)
}

// drawn shows what came.
func (m *model) drawn(d draw) tea.Cmd {
	v := d.view
	v.drawing = false
	if m.view != v {
		return nil
	}
	v.anchored()
	return tea.Batch(m.fill(), v.seen(m.ctx))
}

// seen tells the hub how far the person has read.
func (v *view) seen(ctx context.Context) tea.Cmd {
	socket := v.watch.Socket()
	if !v.rows.follow || socket == nil || len(v.window.events) == 0 {
		return nil
	}
	ack := wire.Ack{SessionID: v.session.SessionID, Epoch: v.window.epoch, Seq: v.window.last(), Visible: true}
	return func() tea.Msg {
		_ = socket.Send(ctx, &ack) // the next one tells it again
		return nil
	}
}

// anchored makes the rows anew, and has the same ones in view after it; or the newest, if
// these were.
func (v *view) anchored() {
	r := &v.rows
	held := r.all[min(r.top, len(r.all)):min(r.top+r.height, len(r.all))]
	v.render()
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
func (v *view) render() {
	r := &v.rows
	turn := v.window.turn()
	if first := v.window.first(); r.settled == nil || r.settledTo != turn || r.settledFrom != first {
		r.settled, r.settledTo, r.settledFrom = lines(v.window.events[:turn], r.level, r.style), turn, first
	}
	open := lines(v.window.events[turn:], r.level, r.style)
	r.all = cells.Wrap(r.settled, 0, r.width)
	if len(r.settled) > 0 && len(open) > 0 {
		r.all = append(r.all, cells.Row{Line: len(r.settled)})
	}
	r.all = append(r.all, cells.Wrap(open, len(r.settled)+1, r.width)...)
}

func (v *view) resize(width, height int) {
	r := &v.rows
	at := 0
	if r.top < len(r.all) {
		at = r.all[r.top].Line
	}
	r.width, r.height = max(1, width), height
	if v.desk != nil {
		v.desk.Resize(width)
	}
	v.render()
	if r.top = r.bottom(); !r.follow {
		r.show(at)
	}
}

// place is the person's place at the session, made when it is first needed.
func (v *view) place(m *model) *desk.Desk {
	if v.desk == nil {
		v.desk = desk.New(desk.Options{
			Hub: m.o.Hub, Context: m.ctx, Session: v.session.SessionID, Style: m.o.Style, Words: m.o.Words,
		}, m.width, v.window.events)
	}
	return v.desk
}

// cancel ends what the agent does.
func (m *model) cancel(v *view) tea.Cmd {
	if v.desk != nil {
		return v.desk.Cancel()
	}
	m.notice = "Cancelling …"
	return func() tea.Msg {
		if err := m.o.Hub.Cancel(m.ctx, v.session.SessionID); err != nil {
			return failed{err}
		}
		return nil
	}
}

// sit lets the person type at the session that is shown.
func (m *model) sit() tea.Cmd {
	v := m.view
	if v.rows.level == plain.Compact {
		v.relevel(plain.Normal)
	}
	v.typing = true
	return v.place(m).State(v.state, v.client)
}

// deskKey is what a key does while a person types.
func (m *model) deskKey(msg tea.KeyPressMsg) tea.Cmd {
	v := m.view
	cmd, wish := v.desk.Key(msg, v.rows.height)
	switch wish {
	case desk.Read:
		v.typing = false
	case desk.Leave:
		return m.close()
	case desk.PageUp:
		return m.scroll(-v.rows.height)
	case desk.PageDown:
		return m.scroll(v.rows.height)
	case desk.Newest:
		if v.window.last() < v.window.end {
			return tea.Batch(cmd, m.page(v, newest))
		}
		v.rows.follow, v.rows.top = true, v.rows.bottom()
	}
	return cmd
}

// fit gives the rows another height, as when the prompt box grows.
func (v *view) fit(height int) {
	r := &v.rows
	if r.height == height {
		return
	}
	r.height = height
	if r.top = min(r.top, r.bottom()); r.follow {
		r.top = r.bottom()
	}
}

// relevel shows more or less of the session.
func (v *view) relevel(level plain.Level) {
	r := &v.rows
	share := float64(r.top) / float64(max(1, r.bottom()))
	r.level, r.settled = level, nil
	v.render()
	if r.top = int(share * float64(r.bottom())); r.follow {
		r.top = r.bottom()
	}
}

func (m *model) viewKey(name string) tea.Cmd {
	v := m.view
	r := &v.rows
	switch name {
	case "up", "k":
		return m.scroll(-1)
	case "down", "j":
		return m.scroll(1)
	case "pgup", "b":
		return m.scroll(-r.height)
	case "pgdown", "space":
		return m.scroll(r.height)
	case "home", "g":
		if v.window.first() > v.window.min {
			return m.page(v, oldest)
		}
		return m.scroll(-len(r.all) - 1)
	case "end", "G":
		if v.window.last() < v.window.end {
			return m.page(v, newest)
		}
		return m.scroll(len(r.all) + 1)
	case "f", "F":
		less := plain.Compact
		if v.desk != nil {
			less = plain.Normal
		}
		v.relevel(map[bool]plain.Level{true: less, false: plain.Full}[r.level == plain.Full])
	case "i":
		return m.act(actAttach, v.session)
	case "ctrl+x":
		return m.cancel(v)
	case "n":
		return m.next(1)
	case "N":
		return m.next(-1)
	case "left":
		v.action = (v.action + len(viewActs()) - 1) % len(viewActs())
	case "right", "tab":
		v.action = (v.action + 1) % len(viewActs())
	case "esc", "q":
		if v.seeking != 0 || v.query != "" {
			v.seeking, v.query = 0, ""
			return nil
		}
		return m.close()
	case "enter":
		return m.act(viewActs()[v.action], v.session)
	default:
		return nil
	}
	return m.fill()
}

// find has the next row that says the query at the top, from some rows after it; by is 1
// or -1. It reports whether there is one.
func (v *view) find(after, by int) bool {
	r := &v.rows
	for i := r.top + after*by; i >= 0 && i < len(r.all); i += by {
		if at, _ := cells.Index(ansi.Strip(r.all[i].Text), v.query); at >= 0 {
			r.top = min(i, r.bottom())
			r.follow = false
			return true
		}
	}
	return false
}

// next goes to the next match, and reads on where there is none in what is held.
func (m *model) next(by int) tea.Cmd {
	v := m.view
	if v.query == "" {
		m.notice = "Nothing is searched for: S begins a search."
		return nil
	}
	if v.find(1, by) {
		return m.fill()
	}
	v.seeking = by
	return m.seek()
}

// seek reads on until a row says the query.
func (m *model) seek() tea.Cmd {
	v := m.view
	if v.loading {
		return nil
	}
	r := &v.rows
	from := r.top
	if v.seeking < 0 && v.find(1, -1) || v.seeking > 0 && v.find(1, 1) {
		v.seeking = 0
		return m.fill()
	}
	r.top = from
	switch {
	case v.seeking < 0 && v.window.first() > v.window.min:
		r.top = 0
		return m.page(v, earlier)
	case v.seeking > 0 && v.window.last() < v.window.end:
		r.top, r.follow = r.bottom(), false
		return m.page(v, later)
	}
	way := map[bool]string{true: "later", false: "earlier"}[v.seeking > 0]
	v.seeking = 0
	m.notice = "No " + way + " row says " + strings.TrimSpace(v.query) + "."
	return nil
}

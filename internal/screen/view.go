package screen

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/desk"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
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
	// seeking is the direction in which a search reads on; 0 if none does.
	seeking int
	action  int
	state   *wire.State // the newest, or nil
	client  string      // this one, as observers name it
	pages   pages
	// reel plays the session; nil while it is only read. shown is what it told last.
	reel  *reel
	shown reeled
	// desk is nil while the person only reads; typing means that keys go to it.
	desk   *desk.Desk
	typing bool
	watch  *client.Watch
	leave  context.CancelFunc
	unroll context.CancelFunc // of the reel
	ctx    context.Context    // ends with the view
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

// read makes the view of a session.
func (m *model) read(s wire.SessionInfo, p pages) *view {
	ctx, leave := context.WithCancel(m.ctx)
	v := &view{session: s, pages: p, ctx: ctx, leave: leave, rows: rows{level: plain.Compact, style: m.o.Style, follow: true}}
	v.window = window{epoch: s.Epoch, min: s.MinSeq, end: s.MaxSeq}
	v.resize(m.width, m.body())
	m.view = v
	return v
}

// acts are what can be done with the session. With a file there is nothing but to leave.
func (v *view) acts() []act {
	if v.watch == nil {
		return []act{actReturn}
	}
	return viewActs()
}

// open shows a session, from its newest events.
func (m *model) open(s wire.SessionInfo) tea.Cmd {
	v := m.read(s, pagesOf(m.o.Hub, s.SessionID))
	ctx := v.ctx
	v.watch = client.NewWatch(m.o.Hub, s.SessionID, client.Cursor{Epoch: s.Epoch, Seq: s.MaxSeq})
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
	first, last, min := v.window.first(), v.window.last(), v.window.min
	return func() tea.Msg {
		got := pageOf{view: v, where: where}
		switch where {
		case newest:
			got.page, got.err = v.pages.before(m.ctx, 0)
		case oldest:
			got.page, got.err = v.pages.after(m.ctx, min-1)
		case earlier:
			got.page, got.err = v.pages.before(m.ctx, first)
		case later:
			got.page, got.err = v.pages.after(m.ctx, last)
		}
		return got
	}
}

// paged takes a page that came.
func (m *model) paged(got pageOf) tea.Cmd {
	v := got.view
	if m.view != v || v.reel != nil && got.where != earlier {
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
		v.rows.render(&v.window)
		if r.top = 0; got.where == newest {
			r.top = r.bottom()
		}
	case earlier:
		if len(got.page.Events) == 0 {
			v.window.min = v.window.first()
		}
		v.window.prepend(got.page.Events)
		v.rows.anchored(&v.window)
	case later:
		if len(got.page.Events) == 0 {
			v.window.end = v.window.last()
		}
		v.window.append(got.page.Events, true)
		v.rows.anchored(&v.window)
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

// roll plays the session that is shown, or ends that.
func (m *model) roll(pace Pace) tea.Cmd {
	v := m.view
	if v.reel != nil {
		v.unroll()
		v.reel = nil
		return m.page(v, newest)
	}
	ctx, stop := context.WithCancel(v.ctx)
	r := newReel(v.pages, v.window.min, pace, m.send)
	v.reel, v.unroll, v.shown, v.loading = r, stop, reeled{moving: true, pace: r.pace}, true
	v.rows.follow = true
	m.running.Go(func() { r.run(ctx, pace.From) })
	return nil
}

// rolled shows what a reel shows.
func (m *model) rolled(got reeled) tea.Cmd {
	v := m.view
	if v == nil || v.reel != got.reel {
		return nil
	}
	if got.err != nil && m.tape != nil && v.shown.last == 0 {
		m.failed = got.err
		return tea.Quit
	}
	if got.err != nil {
		m.notice = m.o.Words(got.err)
		return m.roll(Pace{}) // it has ended
	}
	if got.time.IsZero() {
		got.time = v.shown.time
	}
	v.shown, v.loading = got, false
	switch {
	case got.page != nil:
		v.window.reset(got.page.Events)
		v.window.end, v.rows.settled, v.rows.follow = got.at, nil, true
		v.rows.anchored(&v.window)
	case got.event != nil:
		v.window.append([]event.Event{*got.event}, true)
		return m.soon(v)
	}
	return nil
}

// soon draws what came, after a while in which more may come.
func (m *model) soon(v *view) tea.Cmd {
	if v.drawing {
		return nil
	}
	v.drawing = true
	return tea.Tick(frame, func(time.Time) tea.Msg { return draw{v} })
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
		if v.reel != nil {
			return m.roll(Pace{}) // of a log that is gone
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
	if v.reel != nil {
		return tea.Batch(cmds...) // what came is shown when nothing is played
	}
	v.window.append(u.Events, v.rows.follow)
	return tea.Batch(append(cmds, m.soon(v))...)
}

// drawn shows what came.
func (m *model) drawn(d draw) tea.Cmd {
	v := d.view
	v.drawing = false
	if m.view != v {
		return nil
	}
	v.rows.anchored(&v.window)
	return tea.Batch(m.fill(), v.seen(m.ctx))
}

// seen tells the hub how far the person has read.
func (v *view) seen(ctx context.Context) tea.Cmd {
	if v.watch == nil || v.reel != nil {
		return nil
	}
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

func (v *view) resize(width, height int) {
	if v.desk != nil {
		v.desk.Resize(width)
	}
	v.rows.resize(&v.window, width, height)
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
		v.rows.relevel(&v.window, plain.Normal)
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

// reelKey is what a key does while the session is played; false for the others.
func (m *model) reelKey(name string) (tea.Cmd, bool) {
	v := m.view
	switch name {
	case "p", "P", "esc":
		if v.watch == nil { // of a file there is no more to read than to play
			return m.close(), true
		}
		return m.roll(Pace{}), true
	case "R":
		name = string(orderLoop)
	}
	if o := order(name); slices.Contains(orders(), o) {
		v.reel.order(o)
		return nil, true
	}
	return nil, false
}

func (m *model) viewKey(name string) tea.Cmd {
	v := m.view
	r := &v.rows
	if v.reel != nil && (name != "esc" || v.rows.query == "") {
		if cmd, did := m.reelKey(name); did {
			return cmd
		}
	}
	switch name {
	case "p", "P":
		return m.roll(Pace{Speed: 1, Idle: playback.Idle})
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
		v.rows.relevel(&v.window, map[bool]plain.Level{true: less, false: plain.Full}[r.level == plain.Full])
	case "i":
		if v.watch != nil {
			return m.act(actAttach, v.session)
		}
	case "ctrl+x":
		if v.watch != nil {
			return m.cancel(v)
		}
	case "n":
		return m.next(1)
	case "N":
		return m.next(-1)
	case "left":
		v.action = (v.action + len(v.acts()) - 1) % len(v.acts())
	case "right", "tab":
		v.action = (v.action + 1) % len(v.acts())
	case "esc", "q":
		if v.seeking != 0 || v.rows.query != "" {
			v.seeking, v.rows.query = 0, ""
			return nil
		}
		return m.close()
	case "enter":
		return m.act(v.acts()[v.action], v.session)
	default:
		return nil
	}
	return m.fill()
}

// next goes to the next match, and reads on where there is none in what is held.
func (m *model) next(by int) tea.Cmd {
	v := m.view
	if v.rows.query == "" {
		m.notice = "Nothing is searched for: S begins a search."
		return nil
	}
	if v.rows.find(1, by) {
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
	if v.seeking < 0 && v.rows.find(1, -1) || v.seeking > 0 && v.rows.find(1, 1) {
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
	m.notice = "No " + way + " row says " + strings.TrimSpace(v.rows.query) + "."
	return nil
}

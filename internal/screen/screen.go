package screen

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/desk"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/internal/tape"
	"github.com/abidehub/abide/server/wire"
)

// Options say what is shown and where.
type Options struct {
	Hub *client.Hub
	// Project is the root of the project in which the person is. The list begins with its
	// sessions, unless All is set.
	Project string
	All     bool
	Style   plain.Style
	In      io.Reader
	Out     io.Writer
	Environ []string
	// Words says what an error means.
	Words func(error) string
}

// Tape is a session to play: one of the hub, or a file.
type Tape struct {
	// Session is what is known of it. Of a file, that is the workspace and the first and last
	// seq.
	Session wire.SessionInfo
	File    *tape.File // nil of a session of the hub
	Level   plain.Level
	Pace    Pace
}

// Play plays a session, until the person leaves.
func Play(ctx context.Context, o Options, t Tape) error { return run(ctx, o, &t.Session, &t) }

// Run shows the list of sessions, or the one given with the person at its prompt box, until
// the person leaves.
func Run(ctx context.Context, o Options, session *wire.SessionInfo) error {
	return run(ctx, o, session, nil)
}

func run(ctx context.Context, o Options, session *wire.SessionInfo, t *Tape) error {
	ctx, leave := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer leave()
	m := &model{o: o, ctx: ctx, running: &running, only: session, tape: t, list: list{project: o.Project, all: o.All || o.Project == ""}}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ), tea.WithFPS(120))
	m.send = program.Send
	if session == nil {
		running.Go(func() { m.followList(ctx) })
	}
	_, err := program.Run()
	if m.failed != nil {
		return m.failed
	}
	if errors.Is(err, tea.ErrInterrupted) || ctx.Err() != nil {
		err = nil // Ctrl-C leaves
	}
	return err
}

// model is what both screens have in common. bubbletea calls Update and View one after
// the other; what waits for the hub runs as a command and sends its answer.
type model struct {
	o       Options
	ctx     context.Context
	running *sync.WaitGroup
	send    func(tea.Msg)

	width, height int
	list          list
	view          *view // nil while the list is shown
	help          bool
	notice        string            // of what was done last, until the next key
	leaving       bool              // the last key was to leave, and a prompt is not sent
	asked         *asking           // waits for a key
	only          *wire.SessionInfo // the session that is shown without the list, or nil
	tape          *Tape             // how that is played, or nil
	failed        error             // why it cannot be played
}

// asking is a question that a key answers.
type asking struct {
	text string
	// keys are what the keys do; any other key does nothing.
	keys map[string]tea.Cmd
}

// failed is the message of a command that came to nothing.
type failed struct{ err error }

// ask is the message of one that needs an answer first.
type ask struct{ asking }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	switch {
	case m.tape != nil && m.tape.File != nil:
		m.read(*m.only, filePages{m.tape.File}).rows.level = m.tape.Level
		return m.roll(m.tape.Pace)
	case m.tape != nil:
		opened := m.open(*m.only)
		m.view.rows.level = m.tape.Level
		return tea.Batch(opened, m.roll(m.tape.Pace))
	case m.only != nil:
		return tea.Batch(m.open(*m.only), m.sit())
	}
	return m.load()
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if m.view != nil {
		height := m.body()
		if m.view.desk != nil {
			below, _ := m.view.desk.Draw(m.height)
			height -= len(below)
		}
		m.view.rows.fit(max(1, height))
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.view != nil {
			m.view.resize(m.width, m.body())
		}
		if m.only != nil {
			return m.fill()
		}
		return m.load()
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseWheelMsg:
		if m.view != nil {
			step := 3
			if msg.Button == tea.MouseWheelUp {
				step = -3
			}
			return m.scroll(step)
		}
		return m.move(map[bool]int{true: -1, false: 1}[msg.Button == tea.MouseWheelUp])
	case tea.PasteMsg:
		if v := m.view; v != nil && v.typing {
			return v.desk.Paste(msg)
		}
		return m.typed(msg.Content)
	case failed:
		m.notice = m.o.Words(msg.err)
	case ask:
		m.asked = &msg.asking
	case listed:
		return m.take(msg)
	case changed:
		return m.load()
	case minute:
		return m.load()
	case pageOf:
		return m.paged(msg)
	case news:
		return m.follow(msg)
	case draw:
		return m.drawn(msg)
	case reeled:
		return m.rolled(msg)
	case sure:
		return m.sure(msg)
	case resumed:
		m.notice = "The agent goes on."
		if m.view == nil {
			return m.open(msg.session)
		}
	case here:
		if m.view != nil {
			m.view.leave()
		}
		return tea.Batch(m.open(msg.session), m.sit())
	case desk.News:
		return msg.To.Take(msg)
	}
	return nil
}

// key is what a key does on the screen that is shown.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	leaving := m.leaving
	defer func() { m.leaving = m.leaving && !leaving }()
	if name == "ctrl+c" {
		if m.view == nil || leaving || m.view.desk == nil || !m.view.desk.Unsent() {
			return tea.Quit
		}
		m.leaving = true
		m.notice = "A prompt was typed and not sent: Ctrl-C again leaves it."
		return nil
	}
	m.notice = ""
	if m.asked != nil {
		do := m.asked.keys[name]
		m.asked = nil
		if do == nil {
			m.notice = "Nothing was changed."
		}
		return do
	}
	if m.help {
		m.help = false
		return nil
	}
	if m.searching() {
		return m.searchKey(msg)
	}
	if m.view != nil && m.view.typing {
		return m.deskKey(msg)
	}
	switch name {
	case "h", "H", "?":
		m.help = true
		return nil
	case "s", "S", "/":
		m.search("")
		return nil
	}
	if m.view != nil {
		return m.viewKey(name)
	}
	return m.listKey(name)
}

// body is how many rows lie between the header and the footer.
func (m *model) body() int { return max(1, m.height-4) }

// searching reports whether keys go to the search line.
func (m *model) searching() bool {
	return m.view == nil && m.list.searching || m.view != nil && m.view.searching
}

// search opens the search line with a text.
func (m *model) search(text string) {
	if m.view != nil {
		m.view.searching, m.view.rows.query = true, text
		return
	}
	m.list.searching = true
}

func (m *model) query() *string {
	if m.view != nil {
		return &m.view.rows.query
	}
	return &m.list.query
}

// searchKey edits the search line.
func (m *model) searchKey(msg tea.KeyPressMsg) tea.Cmd {
	query := m.query()
	switch msg.String() {
	case "esc":
		*query = ""
		return m.searched(false)
	case "enter":
		return m.searched(true)
	case "backspace":
		if runes := []rune(*query); len(runes) > 0 {
			return m.typedOver(string(runes[:len(runes)-1]))
		}
	case "ctrl+u":
		return m.typedOver("")
	default:
		return m.typed(msg.Text)
	}
	return nil
}

// typed adds text to the search line.
func (m *model) typed(text string) tea.Cmd {
	if !m.searching() || text == "" {
		return nil
	}
	if text != " " {
		text = plain.Line(text)
	}
	return m.typedOver(*m.query() + text)
}

// longestQuery bounds a search, in characters. The hub takes 256 bytes.
const longestQuery = 60

func (m *model) typedOver(text string) tea.Cmd {
	if runes := []rune(text); len(runes) > longestQuery {
		text = string(runes[:longestQuery])
	}
	*m.query() = text
	if m.view != nil {
		return nil
	}
	return m.first()
}

// searched closes the search line: the list stays as it is filtered, the reader goes to
// the first match from the top of the screen on, or else to the one before.
func (m *model) searched(sure bool) tea.Cmd {
	if m.view == nil {
		m.list.searching = false
		if !sure {
			return m.first()
		}
		return nil
	}
	m.view.searching = false
	if !sure || m.view.rows.query == "" || m.view.rows.find(0, 1) {
		return m.fill()
	}
	m.view.seeking = -1
	return m.seek()
}

// minute is the time to tell ages anew.
type minute struct{}

// everyMinute rings until ctx ends.
func (m *model) everyMinute(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.send(minute{})
		}
	}
}

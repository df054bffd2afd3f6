package session

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// PastSession is a session that an agent stores.
type PastSession struct {
	AgentSessionID string
	Folder         string
	Title          string
	UpdatedAt      time.Time // zero if the agent does not tell it
	// SessionID is the session of the hub that continues it already; empty if none.
	SessionID string
	// Refused says why the hub cannot continue it in its folder; empty if it can.
	Refused string
}

// PastPage is one page of the sessions that an agent stores.
type PastPage struct {
	Sessions []PastSession
	// Next is the cursor of the following page; empty at the end.
	Next string
	// LeftOut counts the entries of the agent's page that are not in this one.
	LeftOut int
}

// ListPast asks an agent for one page of the sessions that it stores. The agent runs in
// workspace meanwhile. A folder selects the sessions of that folder. It returns
// *LoginNeeded if a person must log in first.
type ListPast func(ctx context.Context, agent, workspace, folder, cursor string) (PastPage, error)

// NoteAdopted is the method of the note that ends the past of an adopted session.
const NoteAdopted = "abide/adopted"

// PastSessions returns a page of the sessions that an agent stores: the folder with the
// newest first, and the newest of each folder first. Their texts are single lines that can
// be printed.
func (m *Manager) PastSessions(ctx context.Context, agent, folder, cursor string) (PastPage, error) {
	current := m.settings.Load()
	if m.listPast == nil || !current.Configured(agent) {
		return PastPage{}, fmt.Errorf("%w: no agent %q is configured: %q lists those that are", state.ErrNotFound, agent, "abide agents")
	}
	workspace, err := current.Resolve(folder)
	if err != nil {
		return PastPage{}, err
	}
	if folder != "" {
		folder = workspace
	}
	release, err := m.AgentSlot(ctx)
	if err != nil {
		return PastPage{}, err
	}
	defer release()
	bounded, cancel := context.WithTimeout(ctx, current.Limits.AgentStart)
	defer cancel()
	page, err := m.listPast(bounded, agent, workspace, folder, cursor)
	if err != nil {
		return PastPage{}, refusedByAgent(agent, "list its sessions", err)
	}
	told := len(page.Sessions)
	page.Sessions = slices.DeleteFunc(page.Sessions, func(p PastSession) bool { return checkAgentSessionID(p.AgentSessionID) != nil })
	page.LeftOut += told - len(page.Sessions)
	here := m.continued(ctx, agent)
	newest := map[string]time.Time{}
	for i := range page.Sessions {
		p := &page.Sessions[i]
		p.SessionID = here[p.AgentSessionID]
		if _, err := current.Resolve(p.Folder); p.Folder == "" {
			p.Refused = "the agent does not tell its folder"
		} else if err != nil {
			p.Refused = state.OneLine(withoutSentinel(err))
		}
		p.Folder, p.Title = state.OneLine(p.Folder), state.AgentTitle(p.Title)
		if p.UpdatedAt.After(newest[p.Folder]) {
			newest[p.Folder] = p.UpdatedAt
		}
	}
	slices.SortStableFunc(page.Sessions, func(a, b PastSession) int {
		return cmp.Or(newest[b.Folder].Compare(newest[a.Folder]), strings.Compare(a.Folder, b.Folder), b.UpdatedAt.Compare(a.UpdatedAt))
	})
	return page, nil
}

func checkAgentSessionID(id string) error {
	if id == "" || len(id) > maxAgentSessionID || !state.Printable(id) {
		return fmt.Errorf("%w: an agent_session_id has 1 to %d printable bytes", state.ErrInvalid, maxAgentSessionID)
	}
	return nil
}

// continued returns the sessions of the hub that continue sessions of an agent, by the
// agent's ids.
func (m *Manager) continued(ctx context.Context, agent string) map[string]string {
	here := map[string]string{}
	for _, md := range m.journal.List() {
		if md.Format == 0 { // its metadata is rebuilt when it is opened
			if b, err := m.Session(ctx, md.SessionID); err == nil {
				md = b.log.Metadata()
			}
		}
		if md.Agent != agent || md.Imported {
			continue
		}
		if md.AgentSessionID != "" {
			here[md.AgentSessionID] = md.SessionID
		}
		if md.Adopted != nil {
			here[md.Adopted.AgentSessionID] = md.SessionID
		}
	}
	return here
}

// AdoptRequest asks for a session that continues one that an agent stores.
type AdoptRequest struct {
	Agent, AgentSessionID string
	// Workspace is where it goes on; empty means the folder that the agent tells.
	Workspace string
	Actor     event.Actor
}

// Adopt creates a session that continues one that an agent stores: its log begins with
// the past as the agent repeats it in session/load. It creates all of it or nothing.
// Repeating it finds the session; made reports whether it was created.
func (m *Manager) Adopt(ctx context.Context, r AdoptRequest) (b *BackgroundSession, made bool, err error) {
	current := m.settings.Load()
	if !current.Configured(r.Agent) {
		return nil, false, fmt.Errorf("%w: no agent %q is configured: %q lists those that are", state.ErrNotFound, r.Agent, "abide agents")
	}
	if err := checkAgentSessionID(r.AgentSessionID); err != nil {
		return nil, false, err
	}
	done, err := m.creating.hold(ctx, creationKey{"agent " + r.Agent, r.AgentSessionID})
	if err != nil {
		return nil, false, err
	}
	defer done()
	if id := m.continued(ctx, r.Agent)[r.AgentSessionID]; id != "" {
		b, err := m.Session(ctx, id)
		return b, false, err
	}
	title := ""
	if r.Workspace == "" {
		if r.Workspace, title, err = m.folderOf(ctx, r); err != nil {
			return nil, false, err
		}
	}
	workspace, err := current.Resolve(r.Workspace)
	if err != nil {
		return nil, false, err
	}
	if err := m.makeRoom(ctx, current.Limits.Sessions); err != nil {
		return nil, false, err
	}
	release, err := m.AgentSlot(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	staged, most, err := m.stagingFile()
	if err != nil {
		return nil, false, err
	}
	defer staged.Close()
	past, err := m.loadPast(ctx, current, r, workspace, title, staged, most)
	release()
	if err != nil {
		return nil, false, refusedByAgent(r.Agent, "load that session", err)
	}
	id, err := m.journal.Import(ctx, past)
	if err != nil {
		return nil, false, fmt.Errorf("create session: %w", problem.OfLog(err))
	}
	if b, err = m.Session(ctx, id); err != nil {
		return nil, false, err
	}
	m.changes.Add(id)
	m.logger.Info("session of an agent continued", "session", id, "agent", r.Agent, "workspace", workspace, "actor", r.Actor.Name)
	return b, true, nil
}

const (
	// maxAgentSessionID limits an agent's id of a session in a request, in bytes.
	maxAgentSessionID = 500
	// maxPastPages is how many pages of an agent's list are searched for a session.
	maxPastPages = 20
)

// folderOf finds the folder and the title of an agent's session in its list.
func (m *Manager) folderOf(ctx context.Context, r AdoptRequest) (folder, title string, err error) {
	cursor := ""
	for range maxPastPages {
		page, err := m.PastSessions(ctx, r.Agent, "", cursor)
		if err != nil {
			return "", "", err
		}
		for _, p := range page.Sessions {
			if p.AgentSessionID != r.AgentSessionID {
				continue
			}
			if p.Refused != "" {
				return "", "", fmt.Errorf("%w: %s: name a workspace to continue it in", state.ErrForbidden, p.Refused)
			}
			return p.Folder, p.Title, nil
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return "", "", fmt.Errorf("%w: the agent %s lists no session %q: name its workspace if it has one", state.ErrNotFound, r.Agent, r.AgentSessionID)
}

// loadPast starts an agent that loads the session, and stops it. It returns the log that
// the session begins with, which it reads from staged.
func (m *Manager) loadPast(ctx context.Context, current *settings.Hub, r AdoptRequest, workspace, title string, staged *os.File, most int64) (journal.Imported, error) {
	now := time.Now()
	begin := event.AgentSettings{MCPServers: append([]string{}, current.Agent(r.Agent).MCPServers...), Rules: ruleIDs(m.hub.rules.All(), r.Agent)}
	policy := current.Permissions.Policy()
	start := event.SessionStart{
		Format: 1, SessionID: journal.NewID(now), Epoch: journal.NewEpoch(),
		Agent: r.Agent, Workspace: workspace, ProjectRoot: settings.ProjectRoot(workspace), Git: gitHead(workspace),
		CreatedBy: r.Actor.Name, CreatedByID: r.Actor.ID, Settings: &begin, Policy: &policy,
		Adopted: &event.Adopted{AgentSessionID: r.AgentSessionID},
	}
	p := &pastLog{rules: begin.Rules, command: current.Agent(r.Agent).CommandDigest(), now: now, staged: staged, most: most, ended: make(chan struct{})}
	if err := p.open(start); err != nil {
		return journal.Imported{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, current.Limits.AgentStart)
	defer cancel()
	agent, err := m.hub.start(bounded, AgentSpec{
		SessionID: start.SessionID, Agent: r.Agent, Workspace: workspace, AgentSessionID: r.AgentSessionID, Adopt: true,
		Directories: current.DirectoriesFor(workspace),
	}, p)
	if err != nil {
		return journal.Imported{}, cmp.Or(p.failure(), err)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
	defer cancel()
	if err := agent.Stop(stopping); err != nil {
		m.logger.Error("agent could not be stopped", "agent", r.Agent, "err", err)
	}
	select {
	case <-p.ended:
	case <-time.After(lastWordBound):
		return journal.Imported{}, errors.New("it did not report its end")
	}
	return p.imported(title, r.Actor)
}

// refusedByAgent is the error of an agent that was asked for its past, in its own words.
func refusedByAgent(agent, what string, err error) error {
	var login *LoginNeeded
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, state.ErrNotFound), errors.Is(err, state.ErrTooLarge), errors.Is(err, state.ErrBusy), errors.Is(err, state.ErrUnavailable):
		return err
	case errors.As(err, &login):
		return fmt.Errorf("%w: the agent %s could not %s: %s", state.ErrConflict, agent, what, login.Error())
	}
	return fmt.Errorf("%w: the agent %s could not %s: %s", state.ErrConflict, agent, what, err.Error())
}

// withoutSentinel is the text of an error of a request without its class.
func withoutSentinel(err error) string {
	for _, class := range []error{state.ErrInvalid, state.ErrForbidden} {
		if text, cut := strings.CutPrefix(err.Error(), class.Error()+": "); cut {
			return text
		}
	}
	return err.Error()
}

// pastLog is the log of an adopted session until its agent has told the past. As a sink
// it takes what the agent says from its start to its exit. The past is in a file, however
// long it is: the agent tells it before it answers, so its start comes after it.
type pastLog struct {
	rules   []string // in force
	command string   // the digest of the agent's command
	now     time.Time
	staged  *os.File
	most    int64         // bytes of staged
	ended   chan struct{} // closed by the agent's exit

	mu       sync.Mutex
	fold     state.Fold        // guarded by mu, as the rest
	asking   *event.UserPrompt // the prompt that is being told, without its text
	text     strings.Builder   // of that prompt so far
	leftOut  int               // bytes of that prompt
	head     []event.Event     // session_start and the agent's start, without seqs
	starting bool              // its start is being told
	out      *bufio.Writer     // to staged
	lines    *json.Encoder     // to out
	written  int64
	exit     *event.AgentExit // written last
	prompts  int
	titled   bool
	err      error // why no more is taken
}

const (
	// maxPastPrompt is how many bytes of a prompt of the past are kept.
	maxPastPrompt = 4 << 20
	// pastLine is about what a line of the past has beside its data.
	pastLine = 80
)

// open begins the log.
func (p *pastLog) open(start event.SessionStart) error {
	p.out = bufio.NewWriter(p.staged)
	p.lines = json.NewEncoder(p.out)
	p.lines.SetEscapeHTML(false)
	first, err := p.eventOf(start)
	p.head = append(p.head, first)
	return err
}

// Starting implements AgentSink: no screen shows this start.
func (p *pastLog) Starting(string) {}

// Record implements AgentSink. It keeps what belongs to the talk and to the agent's
// settings. Usage is of another time, and questions were answered then.
func (p *pastLog) Record(_ context.Context, payloads []event.Payload) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, payload := range payloads {
		if err := p.take(payload); err != nil {
			p.err = err
			return err
		}
	}
	return nil
}

// failure returns why no more was taken, or nil.
func (p *pastLog) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *pastLog) take(payload event.Payload) error {
	begins := p.starting
	p.starting = false
	switch of := payload.(type) {
	case event.UserPrompt:
		if p.asking == nil || p.asking.PromptID != of.PromptID {
			if err := p.asked(); err != nil {
				return err
			}
			p.asking = &of
		}
		kept := string(of.Text)
		if room := max(0, maxPastPrompt-p.text.Len()); len(kept) > room {
			kept = strings.ToValidUTF8(kept[:room], "")
		}
		p.text.WriteString(kept)
		p.leftOut += len(of.Text) - len(kept)
		return nil
	case event.AgentStarted:
		if of.Settings == nil {
			of.Settings = &event.AgentSettings{MCPServers: []string{}}
		}
		of.Settings.Rules, of.Settings.Command = p.rules, p.command
		p.starting = true
		return p.begin(of)
	case event.AgentExit:
		of.Reason = "asleep" // the next prompt wakes it
		p.exit = &of
		close(p.ended)
		return nil
	case event.AgentMessage, event.AgentThought, event.ToolCall, event.ToolCallUpdate, event.TerminalOutput, event.Plan:
		if err := p.asked(); err != nil {
			return err
		}
		return p.put(payload)
	case event.Title:
		p.titled = true
		return p.put(payload)
	case event.Mode, event.Config, event.Note:
		if p.starting = begins; begins {
			return p.begin(payload)
		}
		return p.put(payload)
	case event.Commands, event.Error:
		return p.put(payload)
	}
	return nil
}

// begin puts an event before the past.
func (p *pastLog) begin(payload event.Payload) error {
	e, err := p.eventOf(payload)
	e.Turn = 0
	p.head = append(p.head, e)
	return err
}

// asked writes a prompt that is whole, which ends the turn before it.
func (p *pastLog) asked() error {
	if p.asking == nil {
		return nil
	}
	if err := p.endTurn(); err != nil {
		return err
	}
	prompt := *p.asking
	if p.leftOut > 0 {
		fmt.Fprintf(&p.text, "\n[%d more bytes of this prompt are left out]", p.leftOut)
	}
	prompt.Text = event.Text(p.text.String())
	p.asking, p.leftOut = nil, 0
	p.text.Reset()
	p.prompts++
	prompt.PromptID = fmt.Sprint(state.PastPrompt, p.prompts)
	return errors.Join(p.put(prompt), p.put(event.TurnStart{PromptID: prompt.PromptID}))
}

func (p *pastLog) endTurn() error {
	for _, closing := range p.fold.Closings(func(state.ToolCall) bool { return true }, "adopted") {
		if err := p.put(closing.Payload); err != nil {
			return err
		}
	}
	if !p.fold.Open {
		return nil
	}
	return p.put(event.TurnEnd{PromptID: p.fold.PromptID, StopReason: event.StopEndTurn})
}

// put writes an event of the past.
func (p *pastLog) put(payload event.Payload) error {
	e, err := p.eventOf(payload)
	if err != nil {
		return err
	}
	if p.written += int64(len(e.Data)) + pastLine; p.written > p.most {
		return fmt.Errorf("%w: the past of this session takes more than %d bytes, half of the free disk: free some disk first", state.ErrTooLarge, p.most)
	}
	if err := p.lines.Encode(e); err != nil {
		return fmt.Errorf("%w: keep the past while it is told: %w", state.ErrUnavailable, err)
	}
	return nil
}

// eventOf encodes an event, without its seq.
func (p *pastLog) eventOf(payload event.Payload) (event.Event, error) {
	turn := p.fold.TurnOf(payload)
	if _, is := payload.(event.UserPrompt); is {
		turn = p.fold.Turn + 1
	}
	draft, err := event.NewDraft(payload, turn, p.now)
	p.fold.Apply(p.fold.Seq+1, p.now, turn, payload)
	return event.Event{Time: p.now, Type: draft.Type, Turn: turn, Data: draft.Data}, err
}

// imported ends the past and returns the log.
func (p *pastLog) imported(title string, by event.Actor) (journal.Imported, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := errors.Join(p.err, p.asked(), p.endTurn())
	if title != "" && !p.titled {
		err = errors.Join(err, p.put(event.Title{Title: title}))
	}
	words := "Above is the agent's own past, as it told it now."
	if p.prompts == 0 {
		words = "The agent told nothing of this session's past."
	}
	err = errors.Join(err, p.put(*p.exit), p.put(event.Note{
		Method: NoteAdopted, Text: event.Text(words), Raw: json.RawMessage(fmt.Sprintf(`{"prompts":%d}`, p.prompts)), By: by.Name, ByID: by.ID,
	}), p.out.Flush())
	if err != nil {
		return journal.Imported{}, err
	}
	if _, err := p.staged.Seek(0, io.SeekStart); err != nil {
		return journal.Imported{}, err
	}
	head, past, seq := p.head, json.NewDecoder(bufio.NewReader(p.staged)), event.Seq(0)
	next := func() (e event.Event, err error) {
		seq++
		if len(head) > 0 {
			e, head = head[0], head[1:]
		} else {
			err = past.Decode(&e)
		}
		e.Seq = seq
		return e, err
	}
	first, err := next()
	return journal.Imported{First: first, Own: true, Next: next}, err
}

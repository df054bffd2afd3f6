package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/session/event"
)

// errHeldTooMuch means that the agent sent too much output before its session
// began.
var errHeldTooMuch = errors.New("too much was said before the session began")

// stream is one agent's output as a session gets it: first its start, then
// everything else in the order of the wire. Output from before the start is held.
// It belongs to the reader.
type stream struct {
	// set at construction
	cfg     Config
	pid     int
	settled func(promptID string) // the turn is over

	convert converter
	replay  replay
	retold  retold
	loaded  time.Time       // when session/load was answered; zero once the replay was judged
	hello   json.RawMessage // the response to initialize
	session string          // the agent's own id, once known
	started bool
	waiting []held
	bytes   int

	// known is the history that a replay is compared with; Start sets it before it
	// asks for one.
	known atomic.Pointer[Known]
	// models are those of an agent that offers them without options; nil otherwise.
	models atomic.Pointer[models]
	// prompted is the text of the latest prompt, as the agent got it, spaced; nil before the
	// first. Prompt sets it before it sends.
	prompted atomic.Pointer[string]
	// forking counts the requests for a copy of the session: what the agent says of
	// other sessions meanwhile is of that. copies are their ids.
	forking atomic.Int32
	copies  sync.Map
}

// held is output from before the session began: an update, or payloads.
type held struct {
	update   message
	payloads []event.Payload
}

// say records payloads, or holds them.
func (s *stream) say(e *effect, p ...event.Payload) {
	if s.started {
		e.record(p...)
	} else if len(p) > 0 {
		s.waiting = append(s.waiting, held{payloads: p})
	}
}

// notification records an agent's notification. f is its params, nil if they are no
// object. replaying means that session/load or session/resume has not been answered
// yet.
func (s *stream) notification(m message, f *fields, replaying bool, e *effect) {
	past := s.cfg.Adopt && m.Method == methodUpdate // recorded as it comes
	if !past {
		s.bytes += len(m.Params)
	}
	if m.Method != methodUpdate || f == nil {
		if prompt := s.prompted.Load(); prompt != nil {
			s.live(s.retold.settle(prompt), e)
		}
		s.say(e, event.Note{Method: m.Method, Raw: m.Params}.Heard(event.FromAgent))
		return
	}
	session, inner, update := updateIn(f)
	if (session == s.cfg.Resume || session == s.session) && s.again(m, update, replaying, e) {
		return
	}
	if !s.started && !past {
		s.waiting = append(s.waiting, held{update: m})
		return
	}
	s.update(m, f, session, inner, update, e)
}

// updateIn takes the parts of a notification of an update.
func updateIn(f *fields) (session string, inner *fields, update json.RawMessage) {
	f.name("sessionId", &session)
	inner = f.inside("update")
	f.raw("update", &update)
	return session, inner, update
}

// update records an update.
func (s *stream) update(m message, f *fields, session string, inner *fields, update json.RawMessage, e *effect) {
	if _, copied := s.copies.Load(session); copied || s.session != "" && session != s.session && s.forking.Load() > 0 {
		return
	}
	if s.session != "" && session != s.session || update == nil {
		e.record(event.Note{Method: m.Method, Raw: m.Params}.Heard(event.FromAgent))
		return
	}
	whole, exact := update, f.complete()
	if !exact {
		whole = m.Params
	}
	if s.cfg.Adopt {
		if chunk, is := pastPrompt(update); is {
			s.convert.messages.interrupt()
			e.record(chunk)
			return
		}
	}
	s.convert.update(e, inner, whole, exact)
}

// again reports whether an update repeats what is in the log, or may do so, and takes it.
// replaying means that the agent is asked for its session just now. An agent that has
// begun to repeat its history may go on until the first prompt. From then on, retold
// decides.
func (s *stream) again(m message, update json.RawMessage, replaying bool, e *effect) bool {
	u := said{params: m.Params}
	if s.cfg.Adopt || json.Unmarshal(update, &u.historyUpdate) != nil {
		return false
	}
	prompt := s.prompted.Load()
	if prompt != nil {
		taken, live := s.retold.take(u, prompt)
		s.live(live, e)
		return taken
	}
	if s.cfg.Resume == "" || !u.past() || !replaying && !s.replay.begins(u.historyUpdate) {
		return false
	}
	s.replay.take(u.historyUpdate)
	if s.session == s.cfg.Resume || s.known.Load() != nil { // else it would read the log
		s.retold.take(u, nil)
		s.retold.held = nil // before a prompt, nothing is live behind one
	}
	return true
}

// live records updates that were held.
func (s *stream) live(updates []json.RawMessage, e *effect) {
	for _, params := range updates {
		f, _ := objectFields(params) // they were objects
		session, inner, update := updateIn(f)
		s.update(message{Method: methodUpdate, Params: params}, f, session, inner, update, e)
	}
}

// paused records what is undecided when the agent's output comes to a stop.
func (s *stream) paused(e *effect) {
	if prompt := s.prompted.Load(); prompt != nil {
		s.live(s.retold.pause(prompt), e)
	}
}

// lateReplay is how long after its answer to session/load an agent that has told nothing
// of its history may still do so.
const lateReplay = 10 * time.Second

// judge records the verdict on the replay once it is all told: at the end of a turn, or
// when no prompt is missing.
func (s *stream) judge(turnEnded bool, e *effect) {
	known := s.known.Load()
	if known == nil || s.loaded.IsZero() || s.retold.telling {
		return
	}
	told := s.replay
	told.prompts = append(slices.Clone(told.prompts), s.retold.told...)
	told.chunks += len(s.retold.told)
	_, missing := known.compare(told.prompts)
	if len(missing) > 0 && (!turnEnded || told.chunks == 0 && s.cfg.Clock.Now().Sub(s.loaded) < lateReplay) {
		return
	}
	s.loaded = time.Time{}
	s.say(e, told.verdict(known)...)
}

// overflow reports whether too much is held.
func (s *stream) overflow() error {
	if !s.started && s.bytes > s.cfg.Limits.HeldBytes {
		return errHeldTooMuch
	}
	return nil
}

// request records an agent's request. Requests that the hub serves itself are
// recorded by the code that serves them.
func (s *stream) request(r *request, e *effect) {
	s.paused(e)
	switch {
	case r.question != nil && r.question.form:
		s.convert.messages.interrupt()
		s.say(e, elicitation(r))
	case r.question != nil:
		s.convert.messages.interrupt()
		s.say(e, s.convert.permission(r)...)
	case !s.cfg.serves(r.method):
		s.say(e, event.Note{Method: r.method, Raw: r.params}.Heard(event.FromAgent))
	}
}

// response records the effect of a response to one of the hub's requests.
func (s *stream) response(c *call, got answer, m message, e *effect) {
	switch {
	case c.method == methodInitialize && got.err == nil:
		s.hello = got.result
	case c.method == methodPrompt:
		s.paused(e)
		s.judge(true, e)
		s.convert.settled()
		s.settled(c.about)
		end := turnEnd(c.about, got, m.Error)
		if end.Error != nil && s.cfg.folderGone() {
			end.Error.Message = strings.TrimSuffix(end.Error.Message, ".") + ". Its folder " + s.cfg.Workspace + " does not exist."
		}
		s.say(e, end)
	case beginsSession(c.method) && got.err == nil:
		s.begin(c.method, got.result, e)
	case c.method == methodSetMode && got.err == nil:
		p := event.Mode{ModeID: c.about, Modes: s.convert.modes, By: c.by.Name, ByID: c.by.ID}
		if f, err := objectFields(got.result); err == nil {
			p.Raw = rest(f, got.result)
		}
		s.say(e, p)
	case c.method == methodSetOption && got.err == nil:
		f, err := objectFields(got.result)
		if err != nil || f.get("configOptions") == nil {
			s.say(e, event.Note{Method: c.method, Raw: got.result})
			return
		}
		p := config(f, got.result)
		p.By, p.ByID = c.by.Name, c.by.ID
		s.say(e, p)
	case c.method == methodSetModel && got.err == nil:
		s.say(e, event.Config{Options: s.models.Load().asOption(c.about), By: c.by.Name, ByID: c.by.ID})
	case (c.method == methodSetMode || c.method == methodSetOption || c.method == methodSetModel) && got.err != nil:
		s.say(e, event.Note{Method: c.method, Text: event.Text(refusalWords(c, got.err)), Raw: m.Error})
	case c.method == methodClose && got.err == nil && saysNothing(got.result):
		// The agent's exit, which follows, reports it.
	case c.method == methodFork, c.method == methodClose && s.forking.Load() > 0:
		// The log of the copy tells it.
	case c.method == methodSetTitle && got.err == nil:
		// A person named the session, and sees the name.
	default:
		p := event.Note{Method: c.method, Raw: firstOf(m.Error, m.Result)}
		if got.err != nil {
			p.Text = event.Text("The agent answered " + c.method + " with an error: " + strings.TrimSuffix(reasonOf(got.err), ".") + ".")
		}
		s.say(e, p.Heard(event.FromAgent))
	}
}

// refusalWords says which setting the agent did not take, and why.
func refusalWords(c *call, err error) string {
	what := "mode "
	switch c.method {
	case methodSetOption:
		what = "option "
	case methodSetModel:
		what = "model "
	}
	return "The agent refused " + what + c.about + ": " + strings.TrimSuffix(reasonOf(err), ".") + "."
}

// reasonOf is the agent's own reason in an error.
func reasonOf(err error) string {
	if refused := (*RequestError)(nil); errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}

// saysNothing reports whether a result contains no data.
func saysNothing(result json.RawMessage) bool {
	f, err := objectFields(result)
	return isNull(result) || err == nil && f.complete()
}

// begin records the agent's start, then the held events.
func (s *stream) begin(method string, result json.RawMessage, e *effect) {
	f, err := objectFields(result)
	if err != nil {
		f = &fields{}
	}
	p := event.AgentStarted{Agent: s.cfg.Name, PID: s.pid}
	p.Name, p.Version = agentInfo(s.hello)
	switch method {
	case methodResume:
		p.Resumed, s.session = event.ResumedByResume, s.cfg.Resume
	case methodLoad:
		p.Resumed, s.session = event.ResumedByLoad, s.cfg.Resume
	default:
		if !f.text("sessionId", &s.session) || s.session == "" {
			s.say(e, event.Note{Method: method, Raw: result}) // Start fails
			return
		}
		p.ContextLost = s.cfg.ContextLost
	}
	p.AgentSessionID = s.session
	p.Raw = mustJSON(map[string]json.RawMessage{"initialize": firstOf(s.hello, json.RawMessage("null")), "session": result})
	s.started = true
	offered, _ := readOffers(s.hello, nil) // begin has refused an unreadable one
	taken, left := offered.servers(s.cfg.MCPServers)
	p.Settings = &event.AgentSettings{MCPServers: append(serverNames(taken), ownServers(result)...), Rules: []string{}}
	then := []event.Payload{}
	if len(left) > 0 {
		then = append(then, event.Note{
			Method: "abide/mcp_left_out", Text: event.Text("The agent does not take MCP servers of this kind: " + strings.Join(serverNames(left), ", ") + "."),
		})
	}
	if len(s.cfg.Directories) > 0 && !offered.directories {
		then = append(then, event.Note{
			Method: "abide/directories_left_out", Text: event.Text("The agent takes no further directories: " + strings.Join(s.cfg.Directories, ", ") + "."),
		})
	}
	if mode, ok := s.convert.modeState(f, "modes"); ok {
		p.Settings.Mode = mode.ModeID
		then = append(then, mode)
	}
	var offers json.RawMessage
	if options := f.said("configOptions"); options != nil {
		offers = options.value
	} else if m := modelsOf(result); m != nil {
		s.models.Store(m)
		offers = m.asOption(m.Current)
	}
	if offers != nil {
		p.Settings.Model, p.Settings.Options = optionValues(offers)
		then = append(then, event.Config{Options: offers})
	}
	e.record(append([]event.Payload{p}, then...)...)
	if method == methodLoad && !s.cfg.Adopt && s.known.Load() != nil {
		s.loaded = s.cfg.Clock.Now()
		s.judge(false, e)
	}
	s.retold.settle(nil)
	s.retold.end()
	s.release(e)
}

// ownServers are the MCP servers that an agent reports as its own.
func ownServers(result json.RawMessage) []string {
	var said struct {
		Meta struct {
			Servers []string `json:"mcpServers"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(result, &said) // most say nothing of it
	return said.Meta.Servers
}

// optionValues are the values of an agent's options, and the model among them.
func optionValues(raw json.RawMessage) (model string, values map[string]json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return "", nil
	}
	values = map[string]json.RawMessage{}
	for _, one := range list {
		var o struct {
			ID       string          `json:"id"`
			Category string          `json:"category"`
			Value    json.RawMessage `json:"currentValue"`
		}
		if json.Unmarshal(one, &o) != nil || o.ID == "" || len(o.Value) == 0 {
			continue
		}
		values[o.ID] = o.Value
		if o.Category == "model" {
			_ = json.Unmarshal(o.Value, &model) // a model that is no string has no name
		}
	}
	return model, values
}

// release records the held events, when the session has begun or has failed to.
func (s *stream) release(e *effect) {
	s.paused(e)
	waiting := s.waiting
	s.waiting, s.started = nil, true
	for _, h := range waiting {
		if h.payloads != nil {
			e.record(h.payloads...)
		} else {
			f, _ := objectFields(h.update.Params) // nil where they are no object
			s.notification(h.update, f, false, e)
		}
	}
}

func turnEnd(promptID string, got answer, raw json.RawMessage) event.TurnEnd {
	p := event.TurnEnd{PromptID: promptID}
	var failed *RequestError
	if errors.As(got.err, &failed) {
		p.StopReason, p.Raw = event.StopInterrupted, raw
		p.Error = &event.Failure{Code: "agent_error", Message: failed.Message}
		switch failed.Code {
		case codeAuthRequired:
			p.Error.Code = "auth_required"
		case codeCancelled:
			p.StopReason, p.Error = event.StopCancelled, nil
		}
		return p
	}
	f, err := objectFields(got.result)
	if err != nil {
		f = &fields{lossy: true}
	}
	word(f, "stopReason", &p.StopReason)
	f.raw("usage", &p.Usage)
	if p.StopReason == "" {
		p.StopReason = event.StopInterrupted
		p.Error = &event.Failure{Code: "agent_error", Message: "The agent ended the turn without saying why."}
		f.lossy = true
	}
	p.Raw = rest(f, got.result)
	return p
}

func agentInfo(hello json.RawMessage) (name, version string) {
	var h struct {
		AgentInfo struct {
			Name    string `json:"name"`
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"agentInfo"`
	}
	if json.Unmarshal(hello, &h) != nil {
		return "", ""
	}
	name = h.AgentInfo.Title
	if name == "" {
		name = h.AgentInfo.Name
	}
	return name, h.AgentInfo.Version
}

// startFailure returns the event for an agent's refusal to begin.
func startFailure(err error) event.Error {
	return event.Error{Code: "agent_start", Message: fmt.Sprintf("The agent did not start: %v.", err)}
}

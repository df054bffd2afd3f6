package acp

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Onlooker converts the traffic between another client and its agent to events, in
// the same way as for the hub's own agents. It follows one session of the agent at
// a time, the last one begun. Messages of other sessions become notes. It is not
// safe for concurrent use.
type Onlooker struct {
	tap    tap
	actor  string
	prefix string
	// sent are the client's requests by id, asked are the agent's.
	sent  map[string]*call
	asked map[string]*request
	// turn is the prompt_id of the open turn; empty without one.
	turn      string
	cancelled bool
	prompts   int
	questions int
}

// NewOnlooker returns an onlooker for an agent of that name. actor is the actor of
// the client's actions.
func NewOnlooker(agent, actor string) *Onlooker {
	id := make([]byte, 6)
	rand.Read(id)
	o := &Onlooker{actor: actor, prefix: hex.EncodeToString(id), sent: map[string]*call{}, asked: map[string]*request{}}
	o.tap.noise = &noise{clock: systemClock{}}
	o.tap.stream = &stream{
		// The client serves files and terminals, so these requests are no notes.
		cfg: Config{Name: agent, Files: true, Terminals: true}, settled: func(string) {},
		convert: converter{messages: messageIDs{prefix: "m" + o.prefix}},
	}
	return o
}

// name returns an id that is unique in the session.
func (o *Onlooker) name(kind string, n *int) string {
	*n++
	return kind + o.prefix + "-" + strconv.Itoa(*n)
}

// FromClient handles a line of the client.
func (o *Onlooker) FromClient(line []byte) []event.Payload {
	m, params, ok := o.apart(line)
	switch {
	case !ok:
		return nil
	case m.ID != nil && m.Method != "":
		return o.request(m, params)
	case m.Method == methodCancel:
		o.cancelled = o.turn != ""
	case m.ID != nil:
		return o.answered(m)
	}
	return nil
}

// request keeps the client's request, to interpret the response.
func (o *Onlooker) request(m message, params *fields) []event.Payload {
	c := &call{method: m.Method}
	o.sent[requestKey(m.ID)] = c
	if params == nil {
		return nil
	}
	switch {
	case m.Method == methodPrompt && o.turn == "":
		o.turn, o.cancelled = o.name("p", &o.prompts), false
		c.about = o.turn
		return []event.Payload{
			event.UserPrompt{PromptID: o.turn, Text: event.Text(promptText(m.Params)), Actor: o.actor},
			event.TurnStart{PromptID: o.turn},
		}
	case m.Method == methodPrompt:
		c.method = "" // for another session of the agent, whose end is not the end of this turn
		return one(event.Note{Method: m.Method, Raw: m.Params}.Heard(event.FromAgent))
	case m.Method == methodSetMode:
		params.text("modeId", &c.about)
	case m.Method == methodLoad, m.Method == methodResume:
		params.text("sessionId", &c.about)
	}
	return nil
}

// promptText is the text of a prompt's content blocks for a person.
func promptText(params json.RawMessage) string {
	var p struct {
		Prompt []struct {
			Type string `json:"type"`
			Text string `json:"text"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"prompt"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	var parts []string
	for _, block := range p.Prompt {
		switch {
		case block.Type == "text":
			parts = append(parts, block.Text)
		case block.URI != "":
			parts = append(parts, "["+block.Type+": "+block.URI+"]")
		default:
			parts = append(parts, "["+block.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// answered handles the client's response to a request of the agent.
func (o *Onlooker) answered(m message) []event.Payload {
	key := requestKey(m.ID)
	r := o.asked[key]
	delete(o.asked, key)
	switch {
	case r == nil:
		return nil
	case r.question != nil:
		return one(o.outcome(r.question, m))
	case m.Error == nil:
		return fileServed(r, m.Result)
	}
	return nil
}

func (o *Onlooker) outcome(q *question, m message) event.PermissionOutcome {
	p := event.PermissionOutcome{PermissionID: q.id, Outcome: event.OutcomeCancelled, By: o.actor}
	var result struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil {
		return p
	}
	switch {
	case result.Outcome.Outcome == string(event.OutcomeSelected):
		p.Outcome, p.OptionID = event.OutcomeSelected, result.Outcome.OptionID
	case result.Action == optionAccept || result.Action == optionDecline:
		p.Outcome, p.OptionID, p.Content = event.OutcomeSelected, result.Action, result.Content
	}
	return p
}

// fileServed returns the event of a file that the client read or wrote for the
// agent.
func fileServed(r *request, result json.RawMessage) []event.Payload {
	var asked struct{ Path, Content string }
	var got struct{ Content string }
	if json.Unmarshal(r.params, &asked) != nil || json.Unmarshal(result, &got) != nil || asked.Path == "" {
		return nil
	}
	switch r.method {
	case "fs/read_text_file":
		return one(event.FileRead{Path: asked.Path, Bytes: int64(len(got.Content)), Lines: strings.Count(got.Content, "\n")})
	case "fs/write_text_file":
		return one(event.FileWrite{Path: asked.Path, Bytes: int64(len(asked.Content)), Lines: strings.Count(asked.Content, "\n"), SHA256: hashOf(asked.Content)})
	}
	return nil
}

// FromAgent handles a line of the agent.
func (o *Onlooker) FromAgent(line []byte) []event.Payload {
	var e effect
	m, params, ok := o.apart(line)
	switch {
	case !ok:
		if len(bytes.TrimSpace(line)) > 0 {
			o.tap.skip(line, "not a message", &e)
		}
	case m.ID != nil && m.Method != "":
		r := &request{method: m.Method, params: m.Params}
		if form := m.Method == methodElicit; form || m.Method == methodPermission {
			r.question = &question{id: o.name("q", &o.questions), request: m.ID, form: form}
		}
		o.asked[requestKey(m.ID)] = r
		o.tap.stream.request(r, &e)
	case m.Method != "":
		o.tap.stream.notification(m, params, false, &e)
	case m.ID != nil:
		o.response(m, &e)
	}
	return e.payloads
}

// response handles the agent's response to a request of the client.
func (o *Onlooker) response(m message, e *effect) {
	key := requestKey(m.ID)
	c := o.sent[key]
	delete(o.sent, key)
	if c == nil || c.method == "" {
		return
	}
	got := answer{result: m.Result}
	if m.Error != nil {
		got = answer{err: o.tap.requestError(c.method, m.Error)}
	}
	s := o.tap.stream
	if beginsSession(c.method) && got.err == nil {
		s.cfg.Resume, s.started = c.about, false
	}
	s.response(c, got, m, e)
	if c.method != methodPrompt {
		return
	}
	o.turn = ""
	for i, p := range e.payloads {
		if end, ok := p.(event.TurnEnd); ok && o.cancelled && end.StopReason == event.StopCancelled {
			end.By = o.actor
			e.payloads[i] = end
		}
	}
}

// End returns the remaining events when the traffic ends.
func (o *Onlooker) End() []event.Payload {
	var e effect
	o.tap.stream.say(&e, o.tap.noise.end()...)
	o.tap.stream.release(&e)
	return e.payloads
}

// apart parses a line; ok is false for a line that is no message.
func (o *Onlooker) apart(line []byte) (m message, params *fields, ok bool) {
	line = withoutMark(line)
	if text := bytes.TrimSpace(line); len(text) == 0 || text[0] != '{' {
		return m, nil, false
	}
	m, params, err := o.tap.message(bytesAsEscapes(line))
	return m, params, err == nil && (m.Method != "" || m.ID != nil)
}

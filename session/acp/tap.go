package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
)

// tap sits between the agent's stdout and the SDK. It reads every line in the order
// of the wire and passes it to the session. The SDK only learns that a request or a
// response came, never its contents. So the SDK's notification queue, line limit,
// reordering and lossy types cannot change the recorded events. All fields belong
// to the reader goroutine except the marked ones.
type tap struct {
	// set at construction
	lines   *lineReader
	sdk     io.WriteCloser // the SDK's input
	calls   *calls
	inbound *inbound
	stream  *stream
	noise   *noise
	objects objects
	secrets []string
	reply   func(line []byte) // answers a request the SDK is not told of

	// loading is set by Start while session/load or session/resume runs: messages
	// meanwhile are a replay.
	loading atomic.Bool
	// heard is the time of the last lines in Unix nanoseconds, for the watch.
	heard atomic.Int64
}

// message is any JSON-RPC message. Its values are unchanged parts of the line.
type message struct {
	ID     json.RawMessage // nil where it is absent or null
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

var errMethod = errors.New("method is not a string")

// messageOf reads the members of a message. As in encoding/json, names are compared
// without regard to case, and the last member of a name counts.
func messageOf(f *fields) (m message, params *member, err error) {
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		switch said := &f.in.members[at]; memberOf(said.name) {
		case "method":
			if said.value[0] == '"' {
				m.Method, _ = f.in.word(said.value)
			} else if said.value[0] != 'n' {
				err = errMethod
			}
		case "params":
			m.Params, params = said.value, said
		case "id":
			if m.ID = said.value; said.value[0] == 'n' {
				m.ID = nil
			}
		case "result":
			m.Result = said.value
		case "error":
			m.Error = said.value
		}
	}
	return m, params, err
}

// memberOf returns the field of a message for a name, or nil.
func memberOf(name []byte) string {
	switch string(name) { // the usual spelling
	case "jsonrpc":
		return ""
	case "method":
		return "method"
	case "params":
		return "params"
	case "id":
		return "id"
	case "result":
		return "result"
	case "error":
		return "error"
	}
	for _, member := range []string{"method", "params", "id", "result", "error"} {
		if strings.EqualFold(member, string(name)) {
			return member
		}
	}
	return ""
}

// effect is the effect of lines: the events to record, and the steps after that, in
// order.
type effect struct {
	payloads []event.Payload
	then     []func()
}

func (e *effect) record(p ...event.Payload) { e.payloads = append(e.payloads, p...) }

// forget makes room for the next lines.
func (e *effect) forget() {
	clear(e.payloads)
	e.payloads, e.then = e.payloads[:0], nil
}

func (e *effect) after(do func()) { e.then = append(e.then, do) }

// run reads until the agent's output ends, and returns why: io.EOF,
// errLineTooLong, errHeldTooMuch or the sink's error.
func (t *tap) run(record func(...event.Payload) error) error {
	var e effect
	for {
		lines, err := t.lines.batch()
		t.heard.Store(t.noise.clock.Now().UnixNano())
		for _, line := range lines {
			t.line(line, &e)
		}
		if err != nil {
			t.stream.say(&e, t.noise.end()...)
			t.stream.release(&e)
		}
		if recordErr := record(e.payloads...); recordErr != nil {
			return recordErr
		}
		for _, do := range e.then {
			do()
		}
		e.forget()
		if err == nil {
			err = t.stream.overflow()
		}
		if err != nil {
			return err
		}
	}
}

// line handles one line.
func (t *tap) line(line []byte, e *effect) {
	line = withoutMark(line)
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if line[0] != '{' && bytes.TrimSpace(line)[0] != '{' {
		t.skip(line, "not a JSON object", e)
		return
	}
	m, params, err := t.message(bytesAsEscapes(line))
	switch {
	case err != nil:
		t.skip(line, "not valid JSON", e)
	case m.ID != nil && m.Method != "":
		t.request(m, e)
	case m.Method == "$/cancel_request":
		t.withdrawn(m, params, e)
	case m.Method == "elicitation/complete":
		t.completed(m, params, e)
	case m.Method != "":
		t.stream.notification(m, params, t.loading.Load(), e)
	case m.ID != nil && (m.Result != nil || m.Error != nil):
		t.response(m, e)
	default:
		t.skip(line, "neither request, response nor notification", e)
	}
}

// message parses a line. params are nil if they are no object.
func (t *tap) message(line []byte) (m message, params *fields, err error) {
	f, err := t.objects.line(line)
	if err != nil {
		return m, nil, err
	}
	m, said, err := messageOf(f)
	if err == nil && said != nil && said.value[0] == '{' {
		params = t.objects.apart(said)
	}
	return m, params, err
}

func (t *tap) skip(line []byte, why string, e *effect) {
	t.stream.say(e, t.noise.skipped(line, why)...)
}

// request keeps the request, and tells the SDK the number of one that the hub
// answers by itself.
func (t *tap) request(m message, e *effect) {
	r, refused := t.inbound.add(m.ID, m.Method, m.Params)
	if refused == nil || refused.payload != nil {
		t.stream.request(r, e)
	}
	if refused != nil {
		if refused.payload != nil {
			t.stream.say(e, refused.payload)
		}
		e.after(func() { t.reply(refused.line(m.ID)) })
		return
	}
	if r.question != nil {
		return // a person answers; see Agent.Answer
	}
	t.passRequest(e, m.ID, r)
}

// withdrawn records that a question is withdrawn. For another request it tells the
// SDK, which ends its handler; one that is answered already needs nothing, as after a
// cancelled turn.
func (t *tap) withdrawn(m message, params *fields, e *effect) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil || len(p.RequestID) == 0 {
		t.stream.notification(m, params, false, e)
		return
	}
	if q := t.inbound.withdraw(p.RequestID); q != nil {
		t.stream.say(e, event.PermissionOutcome{
			PermissionID: q.id, Outcome: event.OutcomeCancelled, By: "agent", Reason: "withdrawn",
		})
		e.after(func() { t.reply(q.dropped()) })
		return
	}
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`+"\n", p.RequestID)
	e.after(func() { _, _ = t.sdk.Write(line) })
}

// completed records that a person did what an elicitation asked for, which closes its
// question.
func (t *tap) completed(m message, params *fields, e *effect) {
	all := t.inbound.completed(elicitationID(m.Params))
	if len(all) == 0 {
		t.stream.notification(m, params, false, e)
	}
	for _, q := range all {
		done := event.PermissionOutcome{
			PermissionID: q.id, Outcome: event.OutcomeSelected, OptionID: optionAccept, By: "agent", Reason: "completed",
		}
		t.stream.say(e, done)
		e.after(func() { t.reply(q.response(q.answerTo(done))) })
	}
}

// response settles one of the hub's own requests.
func (t *tap) response(m message, e *effect) {
	c := t.calls.take(m.ID)
	if c == nil {
		t.stream.say(e, event.Note{Method: "response", Raw: firstOf(m.Error, m.Result)})
		return
	}
	got := answer{result: m.Result}
	if m.Error != nil {
		m.Error = redactJSON(m.Error, t.secrets)
		got = answer{err: t.requestError(c.method, m.Error)}
		m.Error = bounded(m.Error)
	}
	if c.method == methodLoad || c.method == methodResume {
		t.loading.Store(false)
	}
	t.stream.response(c, got, m, e)
	e.after(func() { c.answer <- got })
	t.passResponse(e, m.ID)
}

// passRequest tells the SDK of a request by its number. The write cannot block for
// long, because the SDK's reader only sorts its input.
func (t *tap) passRequest(e *effect, id json.RawMessage, r *request) {
	stub := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s,"params":%d}`+"\n", id, mustJSON(r.method), r.ticket)
	e.after(func() { _, _ = t.sdk.Write(stub) })
}

// passResponse tells the SDK that one of its requests was answered.
func (t *tap) passResponse(e *effect, id json.RawMessage) {
	stub := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`+"\n", id)
	e.after(func() { _, _ = t.sdk.Write(stub) })
}

// requestError decodes an agent's error. It redacts known secrets, because agents
// quote their input and the error ends up in the hub's log.
func (t *tap) requestError(method string, raw json.RawMessage) *RequestError {
	code, message := readError(raw)
	return &RequestError{Method: method, Code: code, Message: redact(message, t.secrets)}
}

func firstOf(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

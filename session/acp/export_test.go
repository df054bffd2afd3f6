package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Conversation is a tap without a process and the SDK: its events depend on the
// lines alone.
type Conversation struct{ tap *tap }

// NewConversation returns a conversation. It loads the session resume unless that
// is empty. started says whether the session has begun.
func NewConversation(resume string, started bool) *Conversation {
	limits := Limits{OpenPermissions: 1000, OpenRequests: 1000, HeldBytes: 1 << 30}
	t := &tap{
		calls: newCalls(), inbound: newInbound("p", limits), noise: &noise{clock: &hurriedClock{}},
		stream: &stream{
			cfg: Config{Name: "test", Resume: resume, Limits: limits}, settled: func(string) {},
			convert: converter{messages: messageIDs{prefix: "m"}}, started: started,
		},
	}
	return &Conversation{t}
}

// Sent passes a line sent to the agent.
func (c *Conversation) Sent(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Prompt []struct{ Text string } }
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
		return
	}
	c.tap.loading.Store(m.Method == methodLoad)
	if m.Method == methodPrompt {
		text := ""
		for _, block := range m.Params.Prompt {
			text += block.Text
		}
		text = spaced(text)
		c.tap.stream.prompted.Store(&text)
	}
	c.tap.calls.next(&call{method: m.Method, about: "about", sent: make(chan struct{}), answer: make(chan answer, 1)})
	c.tap.calls.sent(line)
}

// Said passes a line from the agent. It returns the type and data of each event.
func (c *Conversation) Said(line []byte) (events []string) {
	var e effect
	c.tap.line(line, &e)
	for _, p := range e.payloads {
		draft, err := event.NewDraft(p, 0, time.Time{})
		events = append(events, fmt.Sprintf("%s %s", draft.Type, draft.Data))
		if err != nil {
			events = append(events, err.Error())
		}
	}
	return events
}

// Read reads and records an agent's whole output.
func (c *Conversation) Read(out io.Reader, record func(...event.Payload) error) error {
	c.tap.lines = newLineReader(out, 32<<20)
	return c.tap.run(record)
}

// Members returns the last value of each member of an object, or of the nested
// object at the path names. The line before is read first, because the reader
// reuses its memory.
func Members(before, text []byte, names ...string) (map[string]json.RawMessage, error) {
	var o objects
	_, _ = o.line(before)
	f, err := o.line(text)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f = f.inside(name)
	}
	values := map[string]json.RawMessage{}
	for at := f.first; at != 0; at = int(f.in.members[at].next) {
		if m := &f.in.members[at]; !m.taken {
			values[string(m.name)] = m.value
		}
	}
	return values, nil
}

// hurriedClock advances by a minute at each reading, so that no error report is
// rate-limited.
type hurriedClock struct{ now time.Time }

func (c *hurriedClock) Now() time.Time {
	c.now = c.now.Add(time.Minute)
	return c.now
}

func (*hurriedClock) After(time.Duration) <-chan time.Time { return nil }

// TextOf decodes a JSON string as the fields of events are decoded.
func TextOf(quoted []byte) (text string, exact bool) { return new(objects).textOf(quoted) }

// ListPast asks for the agent's sessions in its folder while it has one open.
func (a *Agent) ListPast(ctx context.Context) error {
	_, err := a.list(ctx, a.cfg.Workspace, "")
	return err
}

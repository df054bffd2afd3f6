package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// fake is an agent that writes raw lines, for cases that the demo agent does not
// cover.
type fake struct {
	in  *bufio.Reader
	out *os.File
	// said writes to out and keeps the lines for the test.
	said io.Writer
}

type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

const fakeSession = "fake-session"

func newFake() *fake {
	in, out := wired()
	return &fake{in: bufio.NewReaderSize(in, 1<<20), out: os.Stdout, said: out}
}

// next reads a message; at the end of stdin the fake exits.
func (f *fake) next() incoming {
	line, err := f.in.ReadBytes('\n')
	if err == io.EOF {
		os.Exit(0)
	}
	var m incoming
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, "fake: unreadable line", err)
		os.Exit(9)
	}
	return m
}

func (f *fake) line(format string, args ...any) { fmt.Fprintf(f.said, format+"\n", args...) }

func (f *fake) result(id json.RawMessage, result string) {
	f.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (f *fake) update(update string) {
	f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, fakeSession, update)
}

func (f *fake) chunk(text string) {
	f.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

// expect reads until a message with the method arrives.
func (f *fake) expect(method string) incoming {
	for {
		if m := f.next(); m.Method == method {
			return m
		}
	}
}

// hello answers initialize and session/new.
func (f *fake) hello() {
	m := f.expect("initialize")
	f.result(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1"},"agentCapabilities":{}}`)
	m = f.expect("session/new")
	f.result(m.ID, fmt.Sprintf(`{"sessionId":%q}`, fakeSession))
}

// prompt waits for a prompt.
func (f *fake) prompt() incoming { return f.expect("session/prompt") }

func (f *fake) done(p incoming) { f.result(p.ID, `{"stopReason":"end_turn"}`) }

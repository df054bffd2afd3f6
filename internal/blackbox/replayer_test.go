package blackbox_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// traceName is the variable that names the trace to replay.
const traceName = "ABIDE_BLACKBOX_TRACE"

// traceLine is one line of a recorded conversation between a client and an
// agent.
type traceLine struct {
	Dir string          `json:"dir"` // c>a, a>c, err, meta
	Msg json.RawMessage `json:"msg"`
	Raw string          `json:"raw"`
}

// message is a JSON-RPC message as far as a replay needs it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (m message) isResponse() bool { return m.Method == "" && len(m.ID) > 0 }

func readTrace(path string) ([]traceLine, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []traceLine
	for line := range bytes.Lines(data) {
		var l traceLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// parsed is the line's message; ok is false for a line that is none.
func (l traceLine) parsed() (m message, ok bool) {
	return m, len(l.Msg) > 0 && json.Unmarshal(l.Msg, &m) == nil
}

// replayed are the agent's lines of a trace that a hub can bring about: it
// never asks for the list of sessions, and begins where the trace loaded.
func replayed(trace []traceLine) []traceLine {
	var out []traceLine
	skip := map[string]bool{}
	for _, l := range trace {
		m, ok := l.parsed()
		if ok && l.Dir == "c>a" && m.Method == "session/list" {
			skip[string(m.ID)] = true
			continue
		}
		if ok && l.Dir == "a>c" && m.isResponse() && skip[string(m.ID)] {
			continue
		}
		out = append(out, l)
	}
	return out
}

// playReplay writes the lines of the agent of a trace, each time the hub has done
// the step of the trace's client. Ids of the hub's requests take the place of those
// in the trace.
func playReplay() error {
	trace, err := readTrace(os.Getenv(traceName))
	if err != nil {
		return err
	}
	hub := bufio.NewReaderSize(os.Stdin, 1<<20)
	ids := map[string]json.RawMessage{} // of the trace -> of the hub
	loaded := loadedSession(trace)
	for _, l := range replayed(trace) {
		m, _ := l.parsed()
		switch l.Dir {
		case "err":
			fmt.Fprintln(os.Stderr, l.Raw)
		case "c>a":
			got, err := hear(hub, m)
			if err != nil {
				return err
			}
			ids[string(m.ID)] = got.ID
		case "a>c":
			if err := say(l.Msg, m, ids, loaded); err != nil {
				return err
			}
		}
	}
	for { // until the hub closes stdin
		if _, err := hub.ReadBytes('\n'); err != nil {
			return nil
		}
	}
}

// loadedSession is the session the trace's client loaded, if it did.
func loadedSession(trace []traceLine) string {
	for _, l := range trace {
		if m, ok := l.parsed(); ok && m.Method == "session/load" {
			var p struct{ SessionID string }
			if json.Unmarshal(m.Params, &p) == nil {
				return p.SessionID
			}
		}
	}
	return ""
}

// hear waits for the hub's counterpart of a line of the trace's client.
func hear(hub *bufio.Reader, want message) (message, error) {
	method := want.Method
	if method == "session/load" {
		method = "session/new"
	}
	for {
		line, err := hub.ReadBytes('\n')
		if err != nil {
			return message{}, fmt.Errorf("waiting for %q: %w", method, err)
		}
		var got message
		if err := json.Unmarshal(line, &got); err != nil {
			return message{}, fmt.Errorf("the hub sent %q: %w", line, err)
		}
		if got.Method == method && (method != "" || bytes.Equal(got.ID, want.ID)) {
			return got, nil
		}
		if got.Method == "session/cancel" {
			continue // how the hub answers a request with "cancelled"
		}
		return message{}, fmt.Errorf("the hub sent %.200s instead of %q %s", line, method, want.ID)
	}
}

// say writes one line of the agent's. A response gets the id of the hub's
// request; the answer to a load becomes that to the beginning of a session.
func say(raw json.RawMessage, m message, ids map[string]json.RawMessage, loaded string) error {
	if !m.isResponse() {
		_, err := fmt.Printf("%s\n", raw)
		return err
	}
	id, ok := ids[string(m.ID)]
	if !ok {
		return fmt.Errorf("the trace answers %s, which was not asked", m.ID)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return err
	}
	whole["id"] = id
	if loaded != "" && bytes.Contains(m.Result, []byte(`"configOptions"`)) {
		var result map[string]json.RawMessage
		if err := json.Unmarshal(m.Result, &result); err != nil {
			return err
		}
		result["sessionId"], _ = json.Marshal(loaded)
		whole["result"], _ = json.Marshal(result)
	}
	line, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", line)
	return err
}

package blackbox_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

const (
	// traceName is the environment variable with the path of the trace to replay.
	traceName = "ABIDE_BLACKBOX_TRACE"
	// traceEnd is the method of a notification at the end of a replay.
	traceEnd = "_blackbox/trace_end"
)

// traceLine is one line of a recorded conversation between a client and an agent.
type traceLine struct {
	Dir string          `json:"dir"` // c>a, a>c, err, meta
	Msg json.RawMessage `json:"msg"`
	Raw string          `json:"raw"`
}

// message contains the fields of a JSON-RPC message that a replay needs.
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

// parsed decodes the line's message. ok is false if it has none.
func (l traceLine) parsed() (m message, ok bool) {
	return m, len(l.Msg) > 0 && json.Unmarshal(l.Msg, &m) == nil
}

// replayed returns the lines of a trace that a hub can cause. It leaves out
// session/list, which a hub never calls, and starts at session/load if the trace
// has one.
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

// playReplay is an agent that replays a trace. It writes the agent's lines that
// follow a line of the client as soon as the hub has sent the same message, with
// the ids of the hub's requests.
func playReplay() error {
	trace, err := readTrace(os.Getenv(traceName))
	if err != nil {
		return err
	}
	hub := bufio.NewReaderSize(os.Stdin, 1<<20)
	ids := map[string]json.RawMessage{} // trace id -> hub id
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
	fmt.Printf(`{"jsonrpc":"2.0","method":%q,"params":{}}`+"\n", traceEnd)
	for { // until the hub closes stdin
		if _, err := hub.ReadBytes('\n'); err != nil {
			return nil
		}
	}
}

// loadedSession returns the id of the session that the trace's client loaded, if
// any.
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

// hear reads until the hub sends the message of the trace's client.
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
			continue // the hub's "cancelled" answer to a request
		}
		return message{}, fmt.Errorf("the hub sent %.200s instead of %q %s", line, method, want.ID)
	}
}

// say writes one line of the agent. A response gets the id of the hub's request.
// The response to session/load becomes the response to session/new.
func say(raw json.RawMessage, m message, ids map[string]json.RawMessage, loaded string) error {
	if !m.isResponse() {
		_, err := fmt.Printf("%s\n", raw)
		return err
	}
	id, ok := ids[string(m.ID)]
	if !ok {
		return fmt.Errorf("the trace answers %s, which the hub did not send", m.ID)
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

package machines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// protocol is the version of what machines and home say to each other.
const protocol = 1

// leaveBound is how long home may take to hear that a machine leaves.
const leaveBound = 5 * time.Second

// hello is the first message of a machine, and welcome its answer.
type hello struct {
	Protocol int       `json:"protocol"`
	Version  string    `json:"version"`
	Allow    Allow     `json:"allow"`
	Time     time.Time `json:"time"`
}

type welcome struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	// Refused says why home does not talk to the machine; empty if it does.
	Refused string `json:"refused,omitempty"`
}

// rowsMessage has changed lines of a machine's list.
type rowsMessage struct {
	// First begins the list anew: rows that were there before and do not come until the
	// message that is not More are gone.
	First bool         `json:"first,omitempty"`
	More  bool         `json:"more,omitempty"`
	Rows  []state.Info `json:"rows,omitempty"`
	Gone  []string     `json:"gone,omitempty"`
}

// rowsAnswer is home's acknowledgement. Refused says why nothing of the message was taken.
type rowsAnswer struct {
	Refused string `json:"refused,omitempty"`
	// Notifies says that home notifies people of the machine's sessions.
	Notifies bool `json:"notifies,omitempty"`
}

// callHead begins a call: an HTTP request. The body's first part is behind it.
type callHead struct {
	Method string      `json:"method"`
	Target string      `json:"target"` // path and query
	Header http.Header `json:"header,omitempty"`
	Caller Caller      `json:"caller"`
	// Length is that of the whole body, -1 if it is not known. More says that more parts
	// of the body follow.
	Length int64 `json:"length,omitempty"`
	More   bool  `json:"more,omitempty"`
}

// Caller is on whose behalf home calls.
type Caller struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Scope is at most that of what the machine allows, there. SessionID limits it to one
	// session.
	Scope     string `json:"scope"`
	SessionID string `json:"session_id,omitempty"`
}

// plain is the caller with words that can be in a log and on a screen, whatever home sends.
func (c Caller) plain() Caller {
	c.ID, c.Name = words(c.ID), words(c.Name)
	return c
}

// partHead is the line before a later part of a body.
type partHead struct {
	More bool `json:"more,omitempty"`
	// Failed says that the rest of the body cannot be read.
	Failed bool `json:"failed,omitempty"`
}

// answerHead is the line before a part of an answer. The first has the status.
type answerHead struct {
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	More   bool        `json:"more,omitempty"`
	// Broken says that the rest is missing.
	Broken bool `json:"broken,omitempty"`
}

// readHead asks for what is new in a session's log: see Read.
type readHead struct {
	SessionID string    `json:"session_id"`
	After     event.Seq `json:"after"`
	Sum       string    `json:"sum,omitempty"`
	State     string    `json:"state,omitempty"`
	Most      int       `json:"most"`
	Wait      int       `json:"wait_ms,omitempty"`
}

// linesHead is the line before stored lines: see News. Error says in words why there are none.
type linesHead struct {
	File  event.Seq       `json:"file,omitempty"`
	Last  event.Seq       `json:"last,omitempty"`
	Epoch string          `json:"epoch,omitempty"` // of the log, also while it has no line
	Other bool            `json:"other,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
	Error string          `json:"error,omitempty"`
}

// readGone is the Error of a read of a session that does not exist.
const readGone = "not_found"

// message joins a line and the bytes behind it.
func message(head any, body []byte) []byte {
	line, err := json.Marshal(head)
	if err != nil {
		panic(err) // the heads are plain values
	}
	out := make([]byte, 0, len(line)+1+len(body))
	return append(append(append(out, line...), '\n'), body...)
}

// parse decodes the line of a message and returns the bytes behind it.
func parse(data []byte, head any) (body []byte, err error) {
	line, body, _ := bytes.Cut(data, []byte{'\n'})
	if err := json.Unmarshal(line, head); err != nil {
		return nil, fmt.Errorf("a message without its line: %w", err)
	}
	return body, nil
}

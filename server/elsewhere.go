package server

import (
	"encoding/json"
	"net/url"
	"sync"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// elsewhereCalls are one client's messages that machines carry out, those about one session
// in the order in which they came.
type elsewhereCalls struct {
	mu   sync.Mutex
	last map[string]chan struct{} // closed when the last one of a session is done
}

// after returns a channel that is closed when those before are done, nil if there are none,
// and a function to call when this one is.
func (e *elsewhereCalls) after(id string) (before <-chan struct{}, done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		e.last = map[string]chan struct{}{}
	}
	before, mine := e.last[id], make(chan struct{})
	e.last[id] = mine
	return before, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		close(mine)
		if e.last[id] == mine {
			delete(e.last, id)
		}
	}
}

// promptAnswered is the frame of a machine's answer to a prompt.
func promptAnswered(requestID, id string, a wire.PromptAnswer) wire.Message {
	switch a.Outcome {
	case wire.FateQueued:
		position := 0
		if a.Position != nil {
			position = *a.Position
		}
		return &wire.PromptQueued{RequestID: requestID, SessionID: id, PromptID: a.PromptID, Position: position}
	case wire.FateRemoved:
		return &wire.PromptRemoved{RequestID: requestID, SessionID: id, PromptID: a.PromptID}
	case wire.FateInterrupted:
		return &wire.PromptInterrupted{RequestID: requestID, SessionID: id, PromptID: a.PromptID, Seq: a.Seq}
	}
	return &wire.PromptReceived{RequestID: requestID, SessionID: id, PromptID: a.PromptID, Seq: a.Seq}
}

// ofMessage returns the session and the request that a message is about.
func ofMessage(message wire.Message) (id, requestID string) {
	var head struct {
		SessionID string `json:"session_id"`
		RequestID string `json:"request_id"`
	}
	data, err := json.Marshal(message)
	if err != nil || json.Unmarshal(data, &head) != nil {
		return "", ""
	}
	return head.SessionID, head.RequestID
}

// requestOf returns the HTTP request that does what a message does; no method if the copy at
// home answers it. The fields of a message are those of the request's body.
func requestOf(message wire.Message) (method, path string, body []byte, verb auth.Verb) {
	whole := func(v any) []byte {
		data, _ := json.Marshal(v)
		return data
	}
	of := url.PathEscape
	switch m := message.(type) {
	case *wire.Prompt:
		return "POST", "/prompt", whole(wire.NewPrompt{PromptID: m.PromptID, Text: m.Text, Attachments: m.Attachments, When: m.When, ScheduledAt: m.ScheduledAt}), auth.Act
	case *wire.PermissionAnswer:
		return "POST", "/permissions/" + of(m.PermissionID), whole(wire.PermissionChoice{OptionID: m.OptionID, Content: m.Content, SeenSeq: m.SeenSeq, Remember: m.Remember}), auth.Act
	case *wire.Cancel:
		return "POST", "/cancel", nil, auth.Act
	case *wire.ForceReset:
		return "POST", "/force-reset", nil, auth.Act
	case *wire.ResumeTurn:
		return "POST", "/resume", whole(m.Resume), auth.Act
	case *wire.DismissTurn:
		return "POST", "/dismiss", whole(m.Dismiss), auth.Act
	case *wire.RestartAgent:
		return "POST", "/restart", nil, auth.Act
	case *wire.QueueEdit:
		return "PATCH", "/queue/" + of(m.PromptID), whole(wire.QueuePatch{Text: &m.Text}), auth.Act
	case *wire.QueueMove:
		return "PATCH", "/queue/" + of(m.PromptID), whole(wire.QueuePatch{Position: &m.Position}), auth.Act
	case *wire.QueueRemove:
		return "DELETE", "/queue/" + of(m.PromptID), nil, auth.Act
	case *wire.QueueClear:
		return "DELETE", "/queue", nil, auth.Act
	case *wire.SetMode:
		return "POST", "/mode", whole(wire.ChosenMode{ModeID: m.ModeID}), auth.Manage
	case *wire.SetConfigOption:
		return "POST", "/option", whole(wire.ChosenOption{ConfigID: m.ConfigID, Value: m.Value}), auth.Manage
	case *wire.Authenticate:
		return "POST", "/authenticate", whole(map[string]string{"method_id": m.MethodID}), auth.Manage // which is refused there
	}
	return "", "", nil, auth.Read
}

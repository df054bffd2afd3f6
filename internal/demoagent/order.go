package demoagent

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// order watches the agent's input. The SDK runs requests and notifications side
// by side, so it loses a cancel that comes right behind its prompt; on the wire
// it is plain which prompt a cancel is for.
type order struct {
	in io.Reader

	mu        sync.Mutex
	partial   []byte                // of a line
	prompts   map[sdk.SessionId]int // guarded by mu: how many came
	cancelled map[sdk.SessionId]int // guarded by mu: up to which one
	answers   map[string][]byte     // guarded by mu: to requests the SDK did not send
	answered  chan struct{}         // guarded by mu: closed and replaced at each answer
}

func newOrder(in io.Reader) *order {
	return &order{
		in: in, prompts: map[sdk.SessionId]int{}, cancelled: map[sdk.SessionId]int{},
		answers: map[string][]byte{}, answered: make(chan struct{}),
	}
}

// Read implements io.Reader.
func (o *order) Read(p []byte) (int, error) {
	n, err := o.in.Read(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p[:n]; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		o.partial = append(o.partial, line...)
		if whole {
			o.line(o.partial)
			o.partial = o.partial[:0]
		}
		rest = after
	}
	return n, err
}

func (o *order) line(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Method string          `json:"method"`
		Params struct {
			SessionID sdk.SessionId `json:"sessionId"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	var id string
	if m.Method == "" && json.Unmarshal(m.ID, &id) == nil {
		o.answers[id] = m.Result
		close(o.answered)
		o.answered = make(chan struct{})
	}
	switch m.Method {
	case sdk.AgentMethodSessionPrompt:
		o.prompts[m.Params.SessionID]++
	case sdk.AgentMethodSessionCancel:
		o.cancelled[m.Params.SessionID] = o.prompts[m.Params.SessionID]
	}
}

// await waits for the answer to a request the SDK did not send: its result, or
// nil if it was an error.
func (o *order) await(ctx context.Context, id string) (json.RawMessage, error) {
	for {
		o.mu.Lock()
		result, ok := o.answers[id]
		delete(o.answers, id)
		answered := o.answered
		o.mu.Unlock()
		if ok {
			return result, nil
		}
		select {
		case <-answered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isCancelled reports whether the session's nth prompt was cancelled.
func (o *order) isCancelled(id sdk.SessionId, n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return n <= o.cancelled[id]
}

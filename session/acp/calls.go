package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/abidehub/abide/session/event"
	sdk "github.com/coder/acp-go-sdk"
)

// RequestError is an agent's error response.
type RequestError struct {
	Method string
	Code   int
	// Message is the agent's message with the reason in its data, for a person.
	Message string
}

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("%s: agent says: %s (%d)", e.Method, e.Message, e.Code)
}

// codeAuthRequired and codeCancelled are the protocol's error codes.
const (
	codeMethodNotFound = -32601
	codeInternal       = -32603
	codeInvalidParams  = -32602
	codeCancelled      = -32800
	codeAuthRequired   = -32000
	codeNotFound       = -32002
)

// call is one request of the hub to the agent. The tap reads the response itself:
// the SDK only numbers the request, and loses the response if the agent exits right
// after it.
type call struct {
	method string
	// about is the prompt_id of a session/prompt, or the mode of a set_mode.
	about  string
	by     event.Actor   // the actor of a set_mode or set_config_option
	sent   chan struct{} // closed when the line is on its way
	answer chan answer   // receives one value, or none if the agent ends
	// abandon tells the agent that the response is no longer needed.
	abandon context.CancelFunc
}

type answer struct {
	result json.RawMessage
	err    error
}

// calls maps responses to requests.
type calls struct {
	// turn is held from passing a request to the SDK until its line was written, so
	// that the line belongs to that request. Capacity 1.
	turn chan struct{}

	mu      sync.Mutex
	sending *call            // guarded by mu: the request of the next request line
	open    map[string]*call // guarded by mu: by id, as in the agent's response
}

func newCalls() *calls {
	return &calls{turn: make(chan struct{}, 1), open: map[string]*call{}}
}

// sent sees every line to the agent, and gives the request being sent its id.
func (c *calls) sent(line []byte) {
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	c.mu.Lock()
	sending := c.sending
	c.mu.Unlock()
	// Responses and notifications pass here too; only a request has both.
	if sending == nil || !bytes.Contains(line[:min(len(line), 256)], []byte(`"method":`)) {
		return
	}
	if json.Unmarshal(line, &envelope) != nil || len(envelope.ID) == 0 || envelope.Method != sending.method {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[requestKey(envelope.ID)] = sending
	c.sending = nil
	close(sending.sent)
}

// take returns the request of a response, once.
func (c *calls) take(id json.RawMessage) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := requestKey(id)
	found := c.open[key]
	delete(c.open, key)
	return found
}

func (c *calls) next(call *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending = call
}

// requestKey normalises ids: an agent may send 1.0 for 1.
func requestKey(id json.RawMessage) string {
	key := string(bytes.TrimSpace(id))
	if whole, fraction, ok := strings.Cut(key, "."); ok && strings.Trim(fraction, "0") == "" && key[0] != '"' {
		return whole
	}
	return key
}

// send sends a request to the agent and returns once its line is written. The call
// gets the response.
func (a *Agent) send(call *call, params any) error {
	a.calls.turn <- struct{}{}
	defer func() { <-a.calls.turn }()
	call.sent, call.answer = make(chan struct{}), make(chan answer, 1)
	// The SDK learns of the response after the call. So it has its own context: if
	// it ended with the caller's, the SDK would tell the agent to cancel an
	// answered request.
	ctx, cancel := context.WithCancel(a.ctx)
	call.abandon = cancel
	a.calls.next(call)
	failed := make(chan error, 1)
	started := a.tasks.start(func() {
		defer cancel()
		// The tap reads the response itself; this one is a stub.
		_, err := sdk.SendRequest[json.RawMessage](a.conn, ctx, call.method, params)
		failed <- err
	})
	if !started {
		cancel()
		failed <- ErrGone
	}
	select {
	case <-call.sent:
		return nil
	case err := <-failed:
		a.calls.next(nil)
		select {
		case <-call.sent:
			return nil
		default:
		}
		if err == nil {
			err = ErrGone
		}
		return fmt.Errorf("send %s: %w", call.method, err)
	}
}

// request sends a request and waits for its response, for ctx to end, or for the
// agent to end.
func (a *Agent) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return a.ask(ctx, &call{method: method}, params)
}

func (a *Agent) ask(ctx context.Context, c *call, params any) (json.RawMessage, error) {
	if err := a.send(c, params); err != nil {
		return nil, err
	}
	select {
	case got := <-c.answer:
		return got.result, got.err
	case <-ctx.Done():
		c.abandon()
		return nil, fmt.Errorf("%s: no answer: %w", c.method, context.Cause(ctx))
	case <-a.quiet:
		select {
		case got := <-c.answer: // its last line may have been the response
			return got.result, got.err
		default:
			return nil, fmt.Errorf("%s: no answer: %w", c.method, ErrGone)
		}
	}
}

package acp

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/abidehub/abide/session/event"
)

const (
	methodPermission = "session/request_permission"
	methodElicit     = "elicitation/create"
)

// request is one request of the agent, kept by the tap while the SDK runs its
// handler.
type request struct {
	key    string
	ticket uint64
	method string
	params json.RawMessage
	// question is set when a person answers.
	question *question
}

// question is a request that a person answers.
type question struct {
	id     string
	form   bool
	answer chan event.PermissionOutcome // capacity 1
}

// inbound knows the requests the agent has open.
type inbound struct {
	// set at construction
	prefix       string // makes permission ids unique in the session
	maxQuestions int
	maxRequests  int

	mu        sync.Mutex
	tickets   uint64               // guarded by mu
	asked     int                  // guarded by mu
	requests  map[uint64]*request  // guarded by mu: by ticket
	questions map[string]*question // guarded by mu: by permission id
	byKey     map[string]*question // guarded by mu: by the request's id
}

func newInbound(prefix string, l Limits) *inbound {
	return &inbound{
		prefix: prefix, maxQuestions: l.OpenPermissions, maxRequests: l.OpenRequests,
		requests: map[uint64]*request{}, questions: map[string]*question{}, byKey: map[string]*question{},
	}
}

// refusal is a request the agent may not have open as well.
type refusal struct {
	payload event.Payload
	answer  string // the response's body
}

// line is the response.
func (r *refusal) line(id json.RawMessage) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, r.answer)
}

// add keeps a request, or says why not. The request is returned either way; a
// question that was refused has no id.
func (i *inbound) add(id json.RawMessage, method string, params json.RawMessage) (*request, *refusal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := &request{key: requestKey(id), method: method, params: params}
	if len(i.requests) >= i.maxRequests {
		return r, &refusal{
			event.Error{Code: "too_many_requests", Message: fmt.Sprintf("The agent has %d requests open; its %s was refused.", i.maxRequests, method)},
			fmt.Sprintf(`"error":{"code":%d,"message":"too many open requests"}`, codeInternal),
		}
	}
	if method == methodPermission || method == methodElicit {
		if len(i.questions) >= i.maxQuestions {
			body := `"result":{"outcome":{"outcome":"cancelled"}}`
			if method == methodElicit {
				body = `"result":{"action":"cancel"}`
			}
			return r, &refusal{event.Error{
				Code:    "too_many_permissions",
				Message: fmt.Sprintf("The agent has %d permission requests open; one more was cancelled.", i.maxQuestions),
			}, body}
		}
		i.asked++
		r.question = &question{
			id: fmt.Sprintf("%s-%d", i.prefix, i.asked), form: method == methodElicit,
			answer: make(chan event.PermissionOutcome, 1),
		}
		i.questions[r.question.id] = r.question
		i.byKey[r.key] = r.question
	}
	i.tickets++
	r.ticket = i.tickets
	i.requests[r.ticket] = r
	return r, nil
}

// get returns the request behind a ticket.
func (i *inbound) get(ticket uint64) *request {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests[ticket]
}

// done forgets an answered request.
func (i *inbound) done(r *request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.requests, r.ticket)
	if q := r.question; q != nil {
		delete(i.questions, q.id)
		if i.byKey[r.key] == q {
			delete(i.byKey, r.key)
		}
	}
}

// settle answers a question. It reports whether that question was open.
func (i *inbound) settle(o event.PermissionOutcome) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := i.questions[o.PermissionID]
	if q == nil {
		return false
	}
	delete(i.questions, q.id)
	q.answer <- o // the only send: it was in the table
	return true
}

// withdraw takes the question with that request id off the table, if it was
// still open.
func (i *inbound) withdraw(id json.RawMessage) *question {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := i.byKey[requestKey(id)]
	if q == nil || i.questions[q.id] == nil {
		return nil
	}
	delete(i.questions, q.id)
	return q
}

// cancelAll answers every open question with cancelled.
func (i *inbound) cancelAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id, q := range i.questions {
		delete(i.questions, id)
		q.answer <- event.PermissionOutcome{PermissionID: id, Outcome: event.OutcomeCancelled}
	}
}

// waiting reports whether a question is open.
func (i *inbound) waiting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.questions) > 0
}

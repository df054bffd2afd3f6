package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	ticket uint64
	method string
	params json.RawMessage
	// question is set if a person answers; the SDK is not involved then.
	question *question
}

// question is a request that a person answers, however long that takes. The answer
// is written at once, so it precedes the next message.
type question struct {
	id      string          // the permission_id
	request json.RawMessage // the request's id on the wire
	form    bool
	// elicitation is the agent's id of a page that it asks a person to visit.
	elicitation string
}

// response is the line that answers the question.
func (q *question) response(result json.RawMessage) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.request, result)
}

// dropped is the response that confirms that the agent withdrew the question.
func (q *question) dropped() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Request cancelled"}}`+"\n", q.request, codeCancelled)
}

// inbound holds the open requests of the agent.
type inbound struct {
	// set at construction
	prefix       string // makes permission ids unique in the session
	maxQuestions int
	maxRequests  int

	mu        sync.Mutex
	tickets   uint64               // guarded by mu
	asked     int                  // guarded by mu
	flooded   bool                 // guarded by mu: a refusal was recorded since the last accepted question
	requests  map[uint64]*request  // guarded by mu: by ticket
	questions map[string]*question // guarded by mu: by permission id
}

func newInbound(prefix string, l Limits) *inbound {
	return &inbound{
		prefix: prefix, maxQuestions: l.OpenPermissions, maxRequests: l.OpenRequests,
		requests: map[uint64]*request{}, questions: map[string]*question{},
	}
}

// refusal is a request that exceeds the limits.
type refusal struct {
	// payload records the refusal. It is nil for all but the first refusal of a
	// flood: an agent must not fill the disk with requests that are never shown.
	payload event.Payload
	answer  string // the response's body
}

// line is the response.
func (r *refusal) line(id json.RawMessage) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, r.answer)
}

// add keeps a request, or refuses it. It returns the request in either case; a
// refused question has no id.
func (i *inbound) add(id json.RawMessage, method string, params json.RawMessage) (*request, *refusal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := &request{method: method, params: params}
	if len(i.requests) >= i.maxRequests {
		return r, &refusal{
			event.Error{Code: "too_many_requests", Message: fmt.Sprintf("The agent has %d requests open; its %s was refused.", i.maxRequests, method)},
			fmt.Sprintf(`"error":{"code":%d,"message":"too many open requests"}`, codeInternal),
		}
	}
	if form := method == methodElicit; form || method == methodPermission {
		if len(i.questions) >= i.maxQuestions {
			return r, &refusal{i.flood(), body(form)}
		}
		if why := unaskable(form, params); why != nil {
			return r, &refusal{why, body(form)}
		}
		i.flooded = false
		i.asked++
		q := &question{id: fmt.Sprintf("%s-%d", i.prefix, i.asked), request: id, form: form, elicitation: elicitationID(params)}
		i.questions[q.id], r.question = q, q
		return r, nil
	}
	i.tickets++
	r.ticket = i.tickets
	i.requests[r.ticket] = r
	return r, nil
}

// body answers a question as cancelled.
func body(form bool) string {
	if form {
		return `"result":{"action":"cancel"}`
	}
	return `"result":{"outcome":{"outcome":"cancelled"}}`
}

// flood records, once per flood, that questions are refused. The caller holds mu.
func (i *inbound) flood() event.Payload {
	if i.flooded {
		return nil
	}
	i.flooded = true
	return event.Error{
		Code:    "too_many_permissions",
		Message: fmt.Sprintf("The agent has %d permission requests open; what it asks beyond them is cancelled, and not shown.", i.maxQuestions),
	}
}

// unaskable returns why a question cannot be shown to a person, or nil.
func unaskable(form bool, params json.RawMessage) event.Payload {
	if !form && !answerable(params) {
		return event.Error{
			Code:    "permission_without_options",
			Message: "The agent asked for permission without offering an answer; its request was cancelled.",
		}
	}
	return nil
}

// get returns the request of a ticket.
func (i *inbound) get(ticket uint64) *request {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests[ticket]
}

// done removes an answered request.
func (i *inbound) done(r *request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.requests, r.ticket)
}

// settle removes an open request and returns it, or nil. The caller answers the
// request.
func (i *inbound) settle(id string) *question {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := i.questions[id]
	delete(i.questions, id)
	return q
}

// elicitationID is the id of an elicitation in params; empty if there is none.
func elicitationID(params json.RawMessage) string {
	var p struct {
		ElicitationID string `json:"elicitationId"`
	}
	_ = json.Unmarshal(params, &p) // then there is none
	return p.ElicitationID
}

// completed removes the open questions about that elicitation, of which an agent may ask
// more than one.
func (i *inbound) completed(elicitation string) (all []*question) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id, q := range i.questions {
		if elicitation != "" && q.elicitation == elicitation {
			delete(i.questions, id)
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *question) int { return strings.Compare(a.id, b.id) })
	return all
}

// withdraw removes the open question with that request id.
func (i *inbound) withdraw(request json.RawMessage) *question {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := requestKey(request)
	for id, q := range i.questions {
		if requestKey(q.request) == key {
			delete(i.questions, id)
			return q
		}
	}
	return nil
}

// takeAll removes and returns every open question.
func (i *inbound) takeAll() []*question {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []*question
	for id, q := range i.questions {
		delete(i.questions, id)
		all = append(all, q)
	}
	return all
}

// waiting reports whether a question is open.
func (i *inbound) waiting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.questions) > 0
}

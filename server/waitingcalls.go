package server

import (
	"errors"
	"sync"
)

// waitingCalls are the requests of a client about sessions whose state is not known yet. They
// are carried out in order, beside the goroutine that reads the socket, so that a
// ping is answered meanwhile.
type waitingCalls struct {
	// Set at construction.
	ended   <-chan struct{} // closed when the socket ends
	running *sync.WaitGroup // counts the goroutines that carry requests out

	mu    sync.Mutex
	calls map[string][]waitingCall // by session
}

type waitingCall struct {
	act    func() error
	failed func(error)
}

// mostWaiting is how many requests about a session may wait.
const mostWaiting = 8

var errManyWait = errors.New("too many requests wait for the state of the session")

// call calls act at once if known is closed and no earlier request about the session
// waits, and returns its error. Else act is called later, and its error goes to
// failed.
func (h *waitingCalls) call(sessionID string, known <-chan struct{}, act func() error, failed func(error)) error {
	h.mu.Lock()
	waiting, busy := h.calls[sessionID]
	if !busy {
		select {
		case <-known:
			h.mu.Unlock()
			return act()
		default:
		}
	}
	defer h.mu.Unlock()
	if len(waiting) >= mostWaiting {
		return errManyWait
	}
	if h.calls == nil {
		h.calls = map[string][]waitingCall{}
	}
	h.calls[sessionID] = append(waiting, waitingCall{act, failed})
	if !busy {
		h.running.Go(func() { h.run(sessionID, known) })
	}
	return nil
}

// run carries out the requests about a session until none waits. At the end of the
// socket it drops them: the client repeats them.
func (h *waitingCalls) run(sessionID string, known <-chan struct{}) {
	select {
	case <-known:
	case <-h.ended:
	}
	for {
		next, ok := h.take(sessionID)
		if !ok {
			return
		}
		if err := next.act(); err != nil {
			next.failed(err)
		}
	}
}

// take returns the next request about a session. After the last one, a request that
// comes is carried out at once.
func (h *waitingCalls) take(sessionID string) (next waitingCall, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting := h.calls[sessionID]
	select {
	case <-h.ended:
		waiting = nil
	default:
	}
	if len(waiting) == 0 {
		delete(h.calls, sessionID)
		return waitingCall{}, false
	}
	h.calls[sessionID] = waiting[1:]
	return waiting[0], true
}

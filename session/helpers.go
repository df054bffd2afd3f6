package session

import "sync"

// helpers are goroutines beside the engine, for work that would block it. Each
// reports back with post.
type helpers struct {
	b       *BackgroundSession
	running sync.WaitGroup
}

// run calls fn in a new goroutine. wait waits for it.
func (h *helpers) run(fn func()) {
	h.running.Add(1)
	go func() {
		defer h.running.Done()
		fn()
	}()
}

// post runs a job in the engine's goroutine. It is dropped if the engine has ended.
func (h *helpers) post(job func()) {
	h.b.post(func(*engine) { job() })
}

// wait returns when all goroutines have ended.
func (h *helpers) wait() { h.running.Wait() }

package session

import "sync"

// helpers are goroutines beside the engine, for work that would block it. Each
// reports back with post.
type helpers struct {
	// post runs a job in the engine's goroutine. It is dropped if the engine has
	// ended.
	post    func(job func())
	ended   <-chan struct{} // closed when the engine accepts no more jobs
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

// wait returns when all goroutines have ended.
func (h *helpers) wait() { h.running.Wait() }

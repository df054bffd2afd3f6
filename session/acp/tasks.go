package acp

import "sync"

// tasks are goroutines that are waited for together. Unlike a WaitGroup, start may
// be called during the wait; it refuses then.
type tasks struct {
	group sync.WaitGroup

	mu      sync.Mutex
	waiting bool // guarded by mu
}

// start runs do in a goroutine, unless the tasks are ending.
func (t *tasks) start(do func()) bool {
	if !t.enter() {
		return false
	}
	go func() {
		defer t.leave()
		do()
	}()
	return true
}

// enter makes the caller's goroutine one of the tasks, unless they are ending.
func (t *tasks) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting {
		return false
	}
	t.group.Add(1)
	return true
}

func (t *tasks) leave() { t.group.Done() }

// wait refuses new tasks and waits for the others.
func (t *tasks) wait() {
	t.mu.Lock()
	t.waiting = true
	t.mu.Unlock()
	t.group.Wait()
}

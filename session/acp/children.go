package acp

import (
	"os/exec"
	"sync"
)

// children are the processes that this package started and waits for. Each leads a
// session of its own, and so may a process that this one inherited as a subreaper:
// reaping those must not take the exit of one of these. The kernel keeps one table
// of children for each process, and so does this.
var children = childTable{pids: map[int]int{}}

type childTable struct {
	// mu is held for reading while a child is started, and for writing while
	// inherited processes are reaped: a child that has just ended is in the table.
	mu sync.RWMutex

	forking sync.Mutex // held while a child is started: this process has its limit

	guard sync.Mutex
	pids  map[int]int // guarded by guard; counts, as a pid may be used again
}

// start starts cmd and enters it in the table.
func (t *childTable) start(cmd *exec.Cmd) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.forking.Lock()
	err := startLimited(cmd, limitOf(variable(cmd.Env, markerName)))
	t.forking.Unlock()
	if err != nil {
		return err
	}
	t.add(cmd.Process.Pid, 1)
	return nil
}

// wait waits for a child's end, and takes it out of the table.
func (t *childTable) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // cmd.ProcessState says the same
	t.add(cmd.Process.Pid, -1)
}

func (t *childTable) add(pid, n int) {
	t.guard.Lock()
	defer t.guard.Unlock()
	if t.pids[pid] += n; t.pids[pid] == 0 {
		delete(t.pids, pid)
	}
}

// has reports whether a process is in the table.
func (t *childTable) has(pid int) bool {
	t.guard.Lock()
	defer t.guard.Unlock()
	return t.pids[pid] > 0
}

// whileStill calls f while no child is started. If one is being started now, it
// returns false at once, as a start can take long.
func (t *childTable) whileStill(f func()) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	f()
	return true
}

package acp

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// descendants finds the processes of an agent that lack its marker, because they
// were started with another environment. While the agent lives they descend from
// it. Orphans become children of this process, the subreaper.
type descendants struct {
	leader proc // the agent

	mu   sync.Mutex
	seen map[processKey]bool // guarded by mu: descendants seen so far
}

func newDescendants(pid int) *descendants {
	leader, _ := readProc(pid) // at worst a zombie: it is not reaped yet
	return &descendants{leader: leader, seen: map[processKey]bool{}}
}

// look records the agent's descendants. It is called before the agent is ended:
// afterwards their parent is gone and they cannot be found.
func (k *descendants) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range descendantsOf(processes(), k.leader.key(), k.seen) {
		k.seen[p.key()] = true
	}
}

// living lists the agent's descendants that still live after its end. An agent that is
// being started has no marker yet, and would be taken for a stray: living waits until
// it has one, or ctx ends.
func (k *descendants) living(ctx context.Context) (found []proc) {
	for !children.whileStill(func() { found = k.find() }) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
	return found
}

// find is called while no child is started.
func (k *descendants) find() []proc {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := processes()
	for _, p := range k.strays(list) {
		k.seen[p.key()] = true
	}
	var found []proc
	for _, p := range descendantsOf(list, k.leader.key(), k.seen) {
		if !p.zombie {
			found = append(found, p)
		}
	}
	return found
}

// strays lists the orphans that only this agent can have left: they have no marker,
// began after the agent, and no other process of that time is left that could have
// started them. If several agents run, the last one to end takes the orphan along.
func (k *descendants) strays(list []proc) []proc {
	session, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	self := os.Getpid()
	var found []proc
	for _, p := range list {
		if p.parent != self || p.zombie || p.session == session || p.born < k.leader.born || children.has(p.pid) {
			continue
		}
		if _, ok := markerOf(p.pid); ok {
			continue
		}
		others := false
		for _, q := range list {
			leads := q.parent == self && !q.zombie && children.has(q.pid)
			others = others || leads && q.key() != k.leader.key() && q.born <= p.born
		}
		if !others {
			found = append(found, p)
		}
	}
	return found
}

// descendantsOf returns the others and the descendants of them and of the root,
// without the root.
func descendantsOf(list []proc, root processKey, others map[processKey]bool) []proc {
	children := map[int][]proc{}
	var line, found []proc
	known := map[processKey]bool{root: true}
	for _, p := range list {
		children[p.parent] = append(children[p.parent], p)
		switch key := p.key(); {
		case key == root:
			line = append(line, p)
		case others[key]:
			known[key] = true
			line, found = append(line, p), append(found, p)
		}
	}
	for len(line) > 0 {
		parent := line[0]
		line = line[1:]
		for _, p := range children[parent.pid] {
			if !known[p.key()] {
				known[p.key()] = true
				line, found = append(line, p), append(found, p)
			}
		}
	}
	return found
}

package machines

import (
	"fmt"
	"sync"

	"github.com/abidehub/abide/session/state"
)

// errHomeFull means that a session cannot be read here because it has no copy.
var errHomeFull = fmt.Errorf("%w: home's disk is full: there is no copy of this session, and none can be written until there is space", state.ErrUnavailable)

// room is whether home's disk has space for copies.
type room struct {
	mu   sync.Mutex
	full bool
	// owed are the sessions to read on once there is space, by machine.
	owed map[string]map[string]bool
}

// isFull reports whether the last copy that was written found no space.
func (r *room) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// note keeps how writing a copy ended, and reports whether that is news.
func (r *room) note(full bool) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news = r.full != full
	r.full = full
	return news
}

// owe has sessions read on once there is space. It reports whether they wait: if not, they can
// be read now.
func (r *room) owe(machine string, ids ...string) (waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full {
		return false
	}
	if r.owed == nil {
		r.owed = map[string]map[string]bool{}
	}
	if r.owed[machine] == nil {
		r.owed[machine] = map[string]bool{}
	}
	for _, id := range ids {
		r.owed[machine][id] = true
	}
	return true
}

// due takes sessions that may be read on: one of each machine while the disk is full, to see
// whether it still is.
func (r *room) due() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := map[string][]string{}
	for machine, ids := range r.owed {
		for id := range ids {
			due[machine] = append(due[machine], id)
			delete(ids, id)
			if r.full {
				break
			}
		}
	}
	return due
}

// forget forgets what a machine is owed.
func (r *room) forget(machine string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.owed, machine)
}

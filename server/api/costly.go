package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// cost is a class of requests that take much memory, a process or a file for long.
type cost int

const (
	cheap        cost = iota
	computing         // search, previews, git, an agent asked for its sessions
	transferring      // exports, imports, adoptions
	costs
)

const (
	// costlyAtOnce limits the running requests of each class, costlyOwners is how many of
	// them are for owners of all sessions, and costlyOfOne how many a credential has.
	costlyAtOnce = 4
	costlyOwners = 1
	costlyOfOne  = 2
	// costlyWait is how long a request waits for its turn.
	costlyWait = 10 * time.Second
)

// costOf returns the class of a request.
func costOf(rt route, r *http.Request) cost {
	switch rt.path {
	case "/api/import", "/api/sessions/{id}/export", "/api/agents/{name}/adopt":
		return transferring
	case "/api/search", "/api/agents/{name}/sessions", "/api/sessions/{id}/complete", "/api/sessions/{id}/changes", "/api/sessions/{id}/change":
		return computing
	case "/api/sessions/{id}/blobs/{sha256}":
		if r.URL.Query().Get("preview") == "true" {
			return computing
		}
	}
	return cheap
}

// costly counts the running requests of one class.
type costly struct {
	mu          sync.Mutex
	all, others int            // others: not of owners of all sessions
	of          map[string]int // by credential
	freed       chan struct{}  // closed when one ends
}

// take waits for a place, which leave gives back.
func (s *costly) take(ctx context.Context, g auth.Grant) (leave func(), err error) {
	owner := g.May(auth.Manage, "")
	wait := time.NewTimer(costlyWait)
	defer wait.Stop()
	for {
		s.mu.Lock()
		if s.all < costlyAtOnce && s.of[g.ID] < costlyOfOne && (owner || s.others < costlyAtOnce-costlyOwners) {
			s.count(g.ID, owner, 1)
			s.mu.Unlock()
			return func() { s.leave(g.ID, owner) }, nil
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-wait.C:
			return nil, &Problem{Code: wire.CodeBusy, Message: "too many exports, searches or previews are under way", RetryAfter: RetryLater}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// count changes the numbers. The lock is held.
func (s *costly) count(id string, owner bool, n int) {
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all += n
	if !owner {
		s.others += n
	}
	if s.of[id] += n; s.of[id] == 0 {
		delete(s.of, id)
	}
}

func (s *costly) leave(id string, owner bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(id, owner, -1)
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

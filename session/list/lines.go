package list

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Lines makes the lines of the session list.
type Lines struct {
	Forks  *Forks
	Expiry *Expiry
}

// Of returns the line of a session with this metadata. damaged says that it cannot be
// opened. The caller must not change its Forks.
func (l Lines) Of(m journal.Metadata, damaged bool) Info {
	info := infoOf(m)
	info.Forks = l.Forks.forksOf(m.SessionID)
	if damaged {
		info.Status = state.StatusDamaged
	}
	info.Lifecycle = state.LifecycleOf(info.Status, info.Resumable, info.Job, l.Expiry.expired(m))
	return info
}

// Expiry knows which sessions are past their time: nothing happened in them for long, or
// their workspace is missing. It is safe for concurrent use.
type Expiry struct {
	after func() time.Duration // 0 is never
	now   func() time.Time

	mu      sync.Mutex
	missing map[string]bool // workspaces
	known   map[string]bool // the sessions that were past their time at the last look
}

// NewExpiry lets sessions expire when nothing happened in them for after, or at no age if
// that is 0.
func NewExpiry(after func() time.Duration, now func() time.Time) *Expiry {
	return &Expiry{after: after, now: now, missing: map[string]bool{}, known: map[string]bool{}}
}

func (e *Expiry) expired(m journal.Metadata) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.past(m)
}

// past is called with mu held.
func (e *Expiry) past(m journal.Metadata) bool {
	after := e.after()
	return after > 0 && e.now().Sub(m.UpdatedAt) >= after || e.missing[m.Workspace]
}

// Look looks for the workspaces of sessions, and returns the sessions that expired or came
// back since the last time.
func (e *Expiry) Look(ctx context.Context, sessions iter.Seq[journal.Metadata]) (changed []string) {
	missing, seen := map[string]bool{}, map[string]bool{}
	var all []journal.Metadata
	for m := range sessions {
		if m.Imported || m.Workspace == "" || ctx.Err() != nil {
			continue // an import's workspace is another machine's
		}
		all = append(all, m)
		if !seen[m.Workspace] {
			seen[m.Workspace] = true
			if isMissing(ctx, m.Workspace) {
				missing[m.Workspace] = true
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missing = missing
	known := map[string]bool{}
	for _, m := range all {
		past := e.past(m)
		if past {
			known[m.SessionID] = true
		}
		if past != e.known[m.SessionID] {
			changed = append(changed, m.SessionID)
		}
	}
	e.known = known
	return changed
}

// isMissing reports whether there is nothing at a path. A file system that hangs is not
// waited for after ctx: the goroutine ends with its call.
func isMissing(ctx context.Context, path string) bool {
	answer := make(chan bool, 1)
	go func() {
		_, err := os.Stat(path)
		answer <- errors.Is(err, fs.ErrNotExist)
	}()
	select {
	case missing := <-answer:
		return missing
	case <-ctx.Done():
		return false
	}
}

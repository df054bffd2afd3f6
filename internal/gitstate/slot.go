package gitstate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/turns"
)

const (
	// quickAtOnce bounds the git processes of a hub in their first slowAfter, and
	// slowAtOnce those that take longer. So processes that hang delay others by slowAfter
	// at most: what finds no slow slot is ended.
	quickAtOnce = 4
	slowAtOnce  = 4
	slowAfter   = 500 * time.Millisecond
	// hungFor is how long a command that took too long in a worktree is refused there.
	// One that was given less than hungAfter is not counted.
	hungFor   = time.Minute
	hungAfter = 200 * time.Millisecond
)

// ErrHung says that git took too long with this command in this worktree, less than a
// minute ago. It is a context.DeadlineExceeded, too.
var ErrHung = fmt.Errorf("git took too long here less than a minute ago: %w", context.DeadlineExceeded)

// errCrowded ends a process that is slow while too many others are.
var errCrowded = fmt.Errorf("too many slow git processes: %w", context.DeadlineExceeded)

// slots bounds the git processes of a hub.
type slots struct {
	quick, slow chan struct{}
	now         func() time.Time
	// turns are those of the worktrees: one in which git hangs takes one slot, and not all.
	turns turns.Turns

	mu   sync.Mutex
	hung map[string]time.Time // when a worktree's command took too long
}

func newSlots() *slots {
	return &slots{
		quick: make(chan struct{}, quickAtOnce), slow: make(chan struct{}, slowAtOnce), now: time.Now,
		hung: map[string]time.Time{},
	}
}

// slot is what a running git process holds.
type slot struct {
	of    *slots
	name  string // worktree and command
	began time.Time
	turn  func() // gives up the worktree's turn
	timer *time.Timer
	ctx   context.Context
	cut   context.CancelCauseFunc

	mu   sync.Mutex
	held chan struct{} // the channel to receive from at the end
}

// take waits for the worktree's turn and then for a slot. The process runs under the
// slot's ctx.
func (s *slots) take(ctx context.Context, c command) (*slot, error) {
	name := c.worktree + "\x00" + strings.Join(c.args[:min(len(c.args), 3)], " ")
	turn, err := s.wait(ctx, c.worktree)
	if err != nil {
		return nil, err
	}
	if s.isHung(name) {
		turn()
		return nil, ErrHung
	}
	select {
	case s.quick <- struct{}{}:
	case <-ctx.Done():
		turn()
		return nil, ctx.Err()
	}
	l := &slot{of: s, name: name, began: s.now(), turn: turn, held: s.quick}
	l.ctx, l.cut = context.WithCancelCause(ctx)
	l.timer = time.AfterFunc(slowAfter, l.slowDown)
	return l, nil
}

// wait waits for a worktree's turn.
func (s *slots) wait(ctx context.Context, worktree string) (done func(), err error) {
	if worktree == "" {
		return func() {}, nil
	}
	return s.turns.Take(ctx, worktree)
}

// slowDown gives the quick slot to others, for a slow one.
func (l *slot) slowDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return // it has left
	}
	select {
	case l.of.slow <- struct{}{}:
		<-l.held
		l.held = l.of.slow
	default:
		l.cut(errCrowded)
	}
}

// leave gives the slot up once the process has ended. It returns why the process was
// ended; nil if it was not.
func (l *slot) leave() error {
	cause := context.Cause(l.ctx)
	l.timer.Stop()
	l.mu.Lock()
	<-l.held
	l.held = nil
	l.mu.Unlock()
	l.cut(nil)
	if ran := l.of.now().Sub(l.began); errors.Is(cause, context.DeadlineExceeded) && ran >= hungAfter {
		l.of.remember(l.name)
	}
	l.turn()
	return cause
}

// remember notes that a command took too long, and forgets those of long ago.
func (s *slots) remember(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, at := range s.hung {
		if s.now().Sub(at) >= hungFor {
			delete(s.hung, other)
		}
	}
	s.hung[name] = s.now()
}

func (s *slots) isHung(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.hung[name]
	return ok && s.now().Sub(at) < hungFor
}

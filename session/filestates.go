package session

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/state"
)

// statesGrace is how long a state may take yet when the session is closed.
const statesGrace = 2 * time.Second

// filesRun is the part of the open turn about the state of its files before the prompt.
type filesRun struct {
	begun bool
	// claim is who decides whether the state counts: 0 while it is open, keeperClaims when the
	// keeper gives the state its name, turnClaims when the turn no longer waits.
	claim *atomic.Int32
	done  bool
	since time.Time // since when the turn waits for nothing else
	// commit is the state, and why the reason if there is none.
	commit, why string
}

const (
	keeperClaims = 1
	turnClaims   = 2
)

// fileStates keeps the files of the workspace before each prompt and at the end of each
// turn, in helper goroutines, one state at a time.
type fileStates struct {
	// Set at construction.
	of      filestate.Of
	keeper  *filestate.Keeper    // nil: there is no undo
	patient func() time.Duration // how long a prompt waits; 0: there is no undo
	run     *filesRun            // of the open turn
	helpers *helpers
	wake    func(time.Time)
	logger  *slog.Logger

	line    []func() // the first one is running
	waiting []func() // until there is none
}

// on reports whether states are kept.
func (s *fileStates) on() bool { return s.keeper != nil && s.patient() > 0 }

// add has a state kept, and then called with it in the engine's goroutine.
func (s *fileStates) add(name string, claim *atomic.Int32, then func(filestate.State, error)) {
	s.line = append(s.line, func() {
		s.helpers.run(func() {
			ctx, done := s.helpers.bounded(statesGrace)
			defer done()
			kept, err := s.keeper.Keep(ctx, s.of, name, func() bool { return claim == nil || claim.CompareAndSwap(0, keeperClaims) })
			s.helpers.post(func() {
				if s.line = s.line[1:]; len(s.line) > 0 {
					s.line[0]()
				}
				then(kept, err)
				s.tellSettled()
			})
		})
	})
	if len(s.line) == 1 {
		s.line[0]()
	}
}

// settled calls then, in the engine's goroutine, when no state is being kept.
func (s *fileStates) settled(then func()) {
	s.waiting = append(s.waiting, then)
	s.tellSettled()
}

func (s *fileStates) tellSettled() {
	for len(s.line) == 0 && len(s.waiting) > 0 {
		then := s.waiting[0]
		s.waiting = s.waiting[1:]
		then()
	}
}

// before begins to keep the files as they are before the open turn's prompt.
func (s *fileStates) before(turn int) {
	f := s.run
	if f.begun || !s.on() {
		return
	}
	claim := &atomic.Int32{}
	*f = filesRun{begun: true, claim: claim}
	s.add(filestate.Before(turn), claim, func(kept filestate.State, err error) {
		if f.claim != claim || f.done {
			return
		}
		f.done, f.commit = true, kept.Commit
		if err != nil {
			s.logger.Info("the files before a turn were not kept", "turn", turn, "err", err)
			f.commit, f.why = "", noUndo(err)
		}
	})
}

// kept reports whether the prompt may be given to the agent: the files are kept, or cannot
// be, or took too long.
func (s *fileStates) kept(now time.Time) bool {
	f := s.run
	if !f.begun || f.done {
		return true
	}
	if f.since.IsZero() {
		f.since = now
	}
	wait := s.patient()
	if at := f.since.Add(wait); now.Before(at) {
		s.wake(at)
		return false
	}
	if !f.claim.CompareAndSwap(0, turnClaims) {
		return false // it gets its name at this moment
	}
	f.done, f.why = true, "it took longer than "+wait.String()
	return true
}

// after keeps the files as they are at the end of a turn. Nothing waits for it but the next
// state.
func (s *fileStates) after(turn int) {
	if !s.on() {
		return
	}
	s.add(filestate.After(turn), nil, func(_ filestate.State, err error) {
		if err != nil {
			s.logger.Info("the files at the end of a turn were not kept", "turn", turn, "err", err)
		}
	})
}

// start is the event that says that the agent got a prompt.
func (s *fileStates) start(promptID string) event.TurnStart {
	return event.TurnStart{PromptID: promptID, Files: s.run.commit, NoUndo: s.run.why}
}

// noUndo says for people why there is no state, without paths of the hub.
func noUndo(err error) string {
	var why *filestate.NoneError
	if errors.As(err, &why) {
		return state.Cut(why.Why, 200)
	}
	return "the files could not be kept"
}

// bounded is a context that ends some time after the engine does.
func (h *helpers) bounded(grace time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { // done waits
		defer close(watched)
		select {
		case <-ctx.Done():
			return
		case <-h.ended:
		}
		select {
		case <-ctx.Done():
		case <-time.After(grace):
			cancel()
		}
	}()
	return ctx, func() { cancel(); <-watched }
}

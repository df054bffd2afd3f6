package acp

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Reasons of an event.AgentExit that say what is wrong with the agent.
const (
	stdinStuck   = "stdin_stuck"
	stdinClosed  = "stdin_closed"
	stdoutClosed = "stdout_closed"
	folderGone   = "folder_gone"
)

// stopping says why and how an agent ends.
type stopping struct {
	once  sync.Once
	hurry chan struct{} // closed to skip the polite steps
	over  chan struct{} // closed when the sequence has ended

	mu      sync.Mutex
	why     string
	hurried bool
	// lived is set if the agent had to be ended: it did not exit when its stdin was
	// closed.
	lived bool
}

func (s *stopping) reason(signal string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.why == stdinClosed && s.lived, s.why == stdoutClosed && s.lived:
		return s.why
	case s.why != "" && s.why != stdinClosed && s.why != stdoutClosed:
		return s.why
	case signal != "":
		return "killed"
	}
	return "exited"
}

// unasked reports whether the agent ended though the hub did not want that.
func (s *stopping) unasked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why == stdinClosed || s.why == stdoutClosed
}

func (s *stopping) outlived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lived = !s.hurried // else it had no time
}

// press skips the polite steps.
func (s *stopping) press() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hurried {
		s.hurried = true
		close(s.hurry)
	}
}

// Stop ends the agent and everything it started, in steps with time limits:
// session/cancel if a turn is open, session/close if supported, closing stdin,
// SIGTERM and then SIGKILL to its group, and a sweep for processes that left the
// group. When ctx ends it sends SIGKILL at once. It returns when all processes are
// gone. An error means that a process is still there, which happens only if the
// system does not end it. The last events may still be coming then: see Done.
func (a *Agent) Stop(ctx context.Context) error {
	a.shutdown("stopped", false)
	select {
	case <-a.gone:
		return nil
	case <-ctx.Done():
		a.stop.press()
	}
	select {
	case <-a.gone:
		return nil
	case <-time.After(2 * a.cfg.Bounds.Killed):
		return fmt.Errorf("stop agent %s, pid %d: still there: %w", a.cfg.Name, a.PID(), context.Cause(ctx))
	}
}

// shutdown begins the stop sequence. Only the first reason counts. atOnce skips the
// polite steps.
func (a *Agent) shutdown(why string, atOnce bool) {
	if atOnce {
		a.stop.press()
	}
	a.stop.once.Do(func() {
		a.stop.mu.Lock()
		a.stop.why = why
		a.stop.mu.Unlock()
		go a.stopSequence() // supervise waits for it
	})
}

func (a *Agent) stopSequence() {
	defer close(a.stop.over)
	b := a.cfg.Bounds
	if ended := a.cancelTurn(); ended != nil {
		a.await(ended, b.Cancel)
	}
	a.closeSession()
	a.in.close()
	if a.await(a.proc.exited, b.StdinClosed) {
		return
	}
	a.stop.outlived()
	a.proc.signal(syscall.SIGTERM)
	if a.await(a.proc.exited, b.Terminated) {
		return
	}
	a.proc.kill()
	<-a.proc.exited
}

// await waits for done, for the process to exit, for d, or for a press. It reports
// whether the process exited.
func (a *Agent) await(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-a.proc.exited:
	case <-timer.C:
	case <-a.stop.hurry:
	}
	select {
	case <-a.proc.exited:
		return true
	default:
		return false
	}
}

// cancelTurn ends an open turn with session/cancel, and returns a channel that is
// closed when the agent has settled it.
func (a *Agent) cancelTurn() <-chan struct{} {
	a.mu.Lock()
	open := a.turn
	a.mu.Unlock()
	if open == nil {
		return nil
	}
	for _, q := range a.inbound.takeAll() {
		_, _ = a.in.Write(q.response(q.answerTo(event.PermissionOutcome{Outcome: event.OutcomeCancelled})))
	}
	_ = a.Cancel() // an unreachable agent is killed next
	return open.ended
}

// closeSession sends session/close to an agent that supports it, to free the
// session's resources. The session can be continued later. If the response does not
// come in time, the agent is stopped anyway.
func (a *Agent) closeSession() {
	a.mu.Lock()
	able := a.offers.close && a.session != "" && a.turn == nil
	a.mu.Unlock()
	if !able || a.stop.reason("") != "stopped" {
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, a.cfg.Bounds.Closed)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	wait.Go(func() {
		select {
		case <-a.stop.hurry:
		case <-a.proc.exited:
		case <-ctx.Done():
		}
		cancel()
	})
	if _, err := a.request(ctx, methodClose, map[string]any{"sessionId": a.SessionID()}); err != nil {
		a.cfg.Logger.Debug("agent did not close its session", "err", err)
	}
}

// sweepOwn ends the processes that the agent left, after its group is gone.
func (a *Agent) sweepOwn() {
	reapGroup(a.proc.pid())
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Bounds.Killed)
	defer cancel()
	ended, err := sweep(ctx, func() []proc { return marked(a.cfg.marker()) })
	if err != nil {
		a.cfg.Logger.Error("processes outlive their agent", "err", err)
	} else if ended > 0 {
		a.cfg.Logger.Info("ended processes that outlived their agent", "count", ended)
	}
}

// endedEarly is ErrGone, with how the agent ended.
type endedEarly string

// Error implements error.
func (e endedEarly) Error() string { return string(e) }

// Is implements the interface of package errors.
func (e endedEarly) Is(target error) bool { return target == ErrGone }

// endedEarly says how an agent ended that was to answer. Its process has exited.
func (a *Agent) endedEarly() error {
	code, signal := a.proc.exit()
	switch a.stop.reason(signal) {
	case stdinClosed:
		return endedEarly("it closed its standard input before it answered")
	case stdoutClosed:
		return endedEarly("it closed its standard output before it answered")
	case stdinStuck:
		return endedEarly("it did not read its standard input")
	case "protocol":
		return endedEarly("it was stopped before it answered")
	}
	if code != nil {
		signal = fmt.Sprintf("exit code %d", *code)
	}
	return endedEarly("it ended before it answered (" + signal + ")")
}

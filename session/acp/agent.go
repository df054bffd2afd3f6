// Package acp runs one coding agent as a child process and speaks the Agent Client
// Protocol with it.
//
// A line tap sits between the agent's stdout and the SDK. It reads every line in
// the order of the wire, converts it to a payload of package event and passes it to
// the Sink before anything else happens. The SDK only numbers requests and
// dispatches them. The hub reads no faster than it records, so an agent that is
// faster than the disk waits in its own pipe.
//
// The process has its own session without a terminal, and two marks that all it starts
// inherit: a variable of its environment and, on Linux, a limit that no program uses. By
// these, Stop or the Sweep of a later run finds and ends everything it started.
package acp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// Errors of the verbs, beside ErrGone.
var (
	// ErrBusy means that a turn is open.
	ErrBusy = errors.New("a turn is open")
	// ErrNotOpen means that no such permission request is open.
	ErrNotOpen = errors.New("no such permission request is open")
)

// Agent is one running agent with one session. Its methods are safe for concurrent
// use.
type Agent struct {
	// Set at construction.
	cfg     Config
	ctx     context.Context // ends after the last event was recorded
	end     context.CancelFunc
	proc    *process
	in      *stdin
	out     *outPipe
	errs    *outPipe
	stderr  *stderrRing
	tap     *tap
	conn    *sdk.Connection
	calls   *calls
	inbound *inbound
	rec     *recorder
	served  served

	// tasks are all goroutines except the one that ends the stream after them.
	tasks tasks
	quiet chan struct{} // closed once the agent's output was read to its end
	gone  chan struct{} // closed once the process and everything it started have ended
	done  chan struct{} // closed once event.AgentExit was recorded
	stop  stopping

	mu      sync.Mutex
	turn    *turn  // guarded by mu: nil when idle
	session string // guarded by mu
	offers  offers // guarded by mu
	account string // guarded by mu: text before the next prompt
}

// turn is a prompt that the agent has not settled yet.
type turn struct {
	prompt string
	began  time.Time
	sent   bool
	cancel bool // requested before the prompt was sent
	ended  chan struct{}
}

// Start starts the agent and returns once its session has begun: it has answered
// session/new, or the resume or load that Config.Resume asks for.
// event.AgentStarted is recorded before Start returns. It stops trying when ctx
// ends.
//
// If the process ran but its session did not begin, Start ends the process before
// it returns, and the stream still ends in event.AgentExit. An event.Error before it says
// why, unless ctx was cancelled. If the process did not
// start, nothing is recorded. An *AuthError means that a person must log in.
func Start(ctx context.Context, cfg Config, sink Sink) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := launch(ctx, cfg, sink)
	if err != nil {
		return nil, err
	}
	beginning := a.tasks.enter() // so that the reason is recorded before the exit
	err = a.tellingStderr(func() error { return a.begin(ctx) })
	if err == nil {
		if beginning {
			a.tasks.leave()
		}
		return a, nil
	}
	if errors.Is(err, ErrGone) {
		<-a.proc.exited // it is being stopped, unless it has ended by itself
		err = a.endedEarly()
	}
	err = a.cfg.orFolder(err)
	why := "start_failed"
	if errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled) {
		why = "stopped" // the caller gave it up
	}
	if beginning {
		if why == "start_failed" {
			_ = a.rec.put(startFailure(err)) // a failed sink ends the agent too
		}
		a.tasks.leave()
	}
	a.shutdown(why, true)
	<-a.done
	return nil, err // the caller's error names the agent
}

// stderrTold is how often the stderr of a starting agent is looked at.
const stderrTold = time.Second

// tellingStderr shows the end of stderr while the session begins.
func (a *Agent) tellingStderr(begin func() error) error {
	if a.cfg.Starting == nil {
		return begin()
	}
	begun, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(stderrTold)
		defer tick.Stop()
		for last := ""; ; {
			select {
			case <-begun:
				return
			case <-tick.C:
			}
			if tail := a.stderr.tail(); tail != last {
				last = tail
				a.cfg.Starting(tail)
			}
		}
	}()
	err := begin()
	close(begun)
	<-told
	return err
}

// launch starts the process and the goroutines around it.
func launch(ctx context.Context, cfg Config, sink Sink) (*Agent, error) {
	if err := becomeSubreaper(); err != nil {
		cfg.Logger.Warn("orphans of agents are not reaped on this system", "err", err)
	}
	cmd, err := command(cfg.Command, cfg.environment(os.Environ()))
	if err != nil {
		return nil, cfg.orFolder(notRunnable(cfg.Command[0], "", err))
	}
	cmd.Dir = cfg.Workspace
	files, err := attach(cmd)
	if err != nil {
		return nil, err
	}
	proc, err := startProcess(cmd, cfg.Bounds.Terminated)
	if err != nil {
		files.close()
		return nil, cfg.orFolder(notRunnable(cfg.Command[0], cmd.Path, err))
	}
	files.closeChild()

	a := &Agent{
		cfg: cfg, proc: proc, calls: newCalls(), stderr: newStderrRing(cfg.secrets(os.Environ())),
		quiet: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
		stop: stopping{hurry: make(chan struct{}), over: make(chan struct{})},
	}
	a.ctx, a.end = context.WithCancel(context.WithoutCancel(ctx))
	a.rec = newRecorder(a.ctx, sink)
	unique := randomHex(4)
	a.inbound = newInbound("p-"+unique, cfg.Limits)
	a.served = newServed(cfg, unique, a.rec.put)
	a.in = newStdin(files.stdin, cfg.Bounds.StdinStuck, cfg.Limits.StdinBytes, a.calls.sent)
	a.out = &outPipe{pipe: files.stdout, idle: cfg.Bounds.Drain}
	a.errs = &outPipe{pipe: files.stderr, idle: cfg.Bounds.Drain}
	sdkIn, tapOut := io.Pipe()
	a.conn = sdk.NewConnection(a.serve, a.in, sdkIn)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	a.tap = newTap(a, tapOut, "m-"+unique)
	a.run()
	return a, nil
}

// run starts the goroutines; supervise waits for them.
func (a *Agent) run() {
	a.tasks.start(func() {
		switch err := a.in.run(); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			a.cfg.Logger.Warn("agent stopped reading", "err", err)
			a.shutdown(stdinStuck, true)
		case err != nil:
			a.shutdown(stdinClosed, false) // unless it has exited
		}
	})
	a.tasks.start(func() {
		_, _ = io.Copy(a.stderr, a.errs)
		a.errs.pipe.Close()
	})
	a.tasks.start(a.read)
	a.tasks.start(a.watch)
	go a.supervise() // closes done
}

// read runs the tap until the agent's output ends.
func (a *Agent) read() {
	err := a.tap.run(a.rec.put)
	switch {
	case errors.Is(err, io.EOF):
		a.shutdown(stdoutClosed, false) // unless it has exited
	case errors.Is(err, errLineTooLong), errors.Is(err, errHeldTooMuch):
		a.cfg.Logger.Warn("agent broke the protocol", "err", err)
		_ = a.rec.put(a.brokeProtocol(err)) // a failed sink ends the agent too
		a.shutdown("protocol", true)
	default:
		a.cfg.Logger.Error("agent's output cannot be recorded", "err", err)
		a.shutdown("not_recorded", true)
	}
	close(a.quiet)
	a.out.pipe.Close()
	a.tap.sdk.Close() // ends the SDK, and with it the handlers
}

// brokeProtocol returns the message about a protocol error that ends an agent.
func (a *Agent) brokeProtocol(err error) event.Error {
	what := fmt.Sprintf("said more than %s before its session began", mebibytes(a.cfg.Limits.HeldBytes))
	if errors.Is(err, errLineTooLong) {
		what = fmt.Sprintf("sent a message of more than %s in one line", mebibytes(a.cfg.Limits.LineBytes))
	}
	return event.Error{Code: "protocol", Message: "The agent " + what + ", which is the most that is read, and was stopped."}
}

func mebibytes(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// supervise waits for the process, ends the processes it left behind, and records
// the exit.
func (a *Agent) supervise() {
	defer close(a.done)
	<-a.proc.exited
	a.out.exit()
	a.errs.exit()
	a.in.abandon()
	commands := a.served.terminals.killAll()
	for _, t := range commands {
		<-t.proc.exited
	}
	a.sweepOwn()
	close(a.gone)
	<-a.quiet
	<-a.conn.Done()
	a.tasks.wait()
	for _, t := range commands {
		<-t.done
	}
	<-a.stop.over

	code, signal := a.proc.exit()
	exit := event.AgentExit{Code: code, Signal: signal, Reason: a.stop.reason(signal), StderrTail: a.stderr.tail()}
	if a.stop.unasked() && a.cfg.folderGone() {
		exit.Reason = folderGone
	}
	if err := a.rec.finish(exit); err != nil {
		a.cfg.Logger.Error("agent's exit cannot be recorded", "err", err)
	}
	a.end()
}

// Done is closed once the last event, event.AgentExit, was recorded or refused: no
// event of this agent comes after it.
func (a *Agent) Done() <-chan struct{} { return a.done }

// PID returns the agent's process id, which is also its group's id.
func (a *Agent) PID() int { return a.proc.pid() }

// SessionID is the agent's own id of the session, for Config.Resume.
func (a *Agent) SessionID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Package acp runs one coding agent as a child process and speaks the Agent
// Client Protocol with it.
//
// Between the agent's stdout and the SDK stands a line tap: it reads every line in
// the order of the wire, turns it into a payload of package event and hands it to
// the Sink before anything else happens. The SDK only numbers requests and
// dispatches them. The hub reads no faster than it records, so an agent that
// outruns the disk waits in its own pipe.
//
// The process runs in a group of its own and carries a marker in its environment,
// by which everything it started is found and ended with it, by Stop or by the
// Sweep of a later run. A process that cleared its environment is found by its
// descent, as long as this process lives.
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
	"os/exec"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// Errors of the verbs, beside ErrGone.
var (
	// ErrBusy says that a turn is open.
	ErrBusy = errors.New("a turn is open")
	// ErrNotOpen says that no such permission request is open.
	ErrNotOpen = errors.New("no such permission request is open")
)

// Agent is one running agent with one session. Its methods may be called from
// any goroutine.
type Agent struct {
	// set at construction
	cfg         Config
	ctx         context.Context // lives until the last event was recorded
	end         context.CancelFunc
	proc        *process
	descendants *descendants
	in          *stdin
	out         *outPipe
	errs        *outPipe
	stderr      *stderrRing
	tap         *tap
	conn        *sdk.Connection
	calls       *calls
	inbound     *inbound
	rec         *recorder
	served      served

	// tasks are all goroutines but the one that ends the stream after them.
	tasks tasks
	quiet chan struct{} // closed once the agent's output was read to its end
	gone  chan struct{} // closed once the process and all it started are gone
	done  chan struct{} // closed once event.AgentExit was recorded
	stop  stopping

	mu      sync.Mutex
	turn    *turn  // guarded by mu: nil when idle
	session string // guarded by mu
	offers  offers // guarded by mu
	account string // guarded by mu: goes before the next prompt
}

// turn is a prompt the agent has not settled yet.
type turn struct {
	prompt string
	began  time.Time
	sent   bool
	cancel bool // asked for before the prompt was sent
	ended  chan struct{}
}

// Start runs the agent and returns once its session has begun: when it answered
// session/new, or the resume or load that Config.Resume asks for. By then
// event.AgentStarted was recorded. It gives up when ctx ends.
//
// If the process ran but its session did not begin, it is ended before Start
// returns, and the stream still ends in event.AgentExit. If the process never
// ran, nothing is recorded. An *AuthError says that a person has to log in.
func Start(ctx context.Context, cfg Config, sink Sink) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := launch(ctx, cfg, sink)
	if err != nil {
		return nil, err
	}
	if err := a.begin(ctx); err != nil {
		_ = a.rec.put(startFailure(err)) // its own failure ends the agent too
		a.shutdown("start_failed", true)
		<-a.done
		return nil, err // the caller names the agent
	}
	return a, nil
}

// launch starts the process and the goroutines around it.
func launch(ctx context.Context, cfg Config, sink Sink) (*Agent, error) {
	if err := becomeSubreaper(); err != nil {
		cfg.Logger.Warn("orphans of agents will not be reaped here", "err", err)
	}
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Dir = cfg.Workspace
	cmd.Env = cfg.environment(os.Environ())
	files, err := attach(cmd)
	if err != nil {
		return nil, err
	}
	proc, err := startProcess(cmd, cfg.Bounds.Terminated)
	if err != nil {
		files.close()
		return nil, notRunnable(cfg.Command[0], cfg.Workspace, err)
	}
	files.closeChild()

	a := &Agent{
		cfg: cfg, proc: proc, descendants: newDescendants(proc.pid()), calls: newCalls(), stderr: newStderrRing(cfg.secrets(os.Environ())),
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
		if err := a.in.run(); err != nil {
			a.cfg.Logger.Warn("agent stopped reading", "err", err)
			a.shutdown("stdin_stuck", true)
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
		// Most have exited; one that only closed its stdout is of no use.
		a.shutdown("exited", false)
	case errors.Is(err, errLineTooLong), errors.Is(err, errHeldTooMuch):
		a.cfg.Logger.Warn("agent broke the protocol", "err", err)
		_ = a.rec.put(a.brokeProtocol(err)) // its own failure ends the agent too
		a.shutdown("protocol", true)
	default:
		a.cfg.Logger.Error("agent's output cannot be recorded", "err", err)
		a.shutdown("not_recorded", true)
	}
	close(a.quiet)
	a.out.pipe.Close()
	a.tap.sdk.Close() // ends the SDK, and with it the handlers
}

// brokeProtocol says in words for a person why an agent is stopped.
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

// supervise waits for the process, ends the processes it left behind, and makes the
// last recording.
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
	if err := a.rec.finish(exit); err != nil {
		a.cfg.Logger.Error("agent's exit cannot be recorded", "err", err)
	}
	a.end()
}

// Done is closed once the last event, the event.AgentExit, was recorded or
// refused: nothing of this agent comes after it.
func (a *Agent) Done() <-chan struct{} { return a.done }

// PID is the agent's process id, which is also its group's.
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

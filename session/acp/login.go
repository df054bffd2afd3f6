package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// loginKept is how much of a login's output is kept.
	loginKept = 64 << 10
	// loginInput bounds one line of input.
	loginInput = 8 << 10
	// loginReads is how long a login may take to read a line.
	loginReads = 10 * time.Second
)

// ErrNoTerminal means that this system cannot give a login a terminal.
var ErrNoTerminal = errors.New("a login in a terminal is not possible here: run its command in a terminal of your own")

// ErrStuck means that a login does not read what is typed.
var ErrStuck = errors.New("the login does not read its input: end it and log in again")

// Login is an agent's login command that runs in a terminal of its own. Its methods are
// safe for concurrent use.
type Login struct {
	// set at construction
	cfg  Config
	proc *process
	pty  *os.File
	// typing is held while a line is written. Capacity 1. It is not a mutex, because a
	// command that does not read blocks the write.
	typing chan struct{}
	done   chan struct{} // closed once the command and all it started have ended

	mu      sync.Mutex
	kept    []byte        // guarded by mu: the end of the output
	size    int           // guarded by mu: of all output
	ended   bool          // guarded by mu
	changed chan struct{} // guarded by mu: closed and replaced at each change
}

// Methods starts an agent, asks for its ways to log in, and ends it.
func Methods(ctx context.Context, cfg Config) ([]AuthMethod, error) {
	var methods []AuthMethod
	_, err := visit(ctx, cfg, nobody{}, func(_ *Agent, o offers) error {
		methods = o.auth
		return nil
	})
	return methods, err
}

// StartLogin runs a login command of an agent. It ends with ctx.
func StartLogin(ctx context.Context, cfg Config, words []string) (*Login, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := becomeSubreaper(); err != nil {
		cfg.Logger.Warn("orphans of agents are not reaped on this system", "err", err)
	}
	// Full screens and colours would be unreadable as lines.
	env := append(cfg.environment(os.Environ()), "TERM=dumb", "NO_COLOR=1")
	cmd, err := command(words, env)
	if err != nil {
		return nil, notRunnable(words[0], cfg.Workspace, err)
	}
	cmd.Dir = cfg.Workspace
	pty, tty, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setctty: true}
	proc, err := startProcess(cmd, cfg.Bounds.Terminated)
	if err != nil {
		pty.Close()
		return nil, notRunnable(words[0], cfg.Workspace, err)
	}
	l := &Login{cfg: cfg, proc: proc, pty: pty, typing: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{})}
	go l.run(ctx) // closes done
	return l, nil
}

// run keeps the output until the command has ended, or ends it with ctx.
func (l *Login) run(ctx context.Context) {
	defer close(l.done)
	out := &outPipe{pipe: l.pty, idle: l.cfg.Bounds.Drain}
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = io.Copy(l, out) }) // the end of a terminal reads as an error
	select {
	case <-l.proc.exited:
	case <-ctx.Done():
		l.proc.kill()
		<-l.proc.exited
	}
	out.exit()
	wait.Wait()
	l.pty.Close()
	sweepLeft(l.cfg, l.proc.pid())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.changed)
}

// sweepLeft ends what an ended command of cfg with this process id left.
func sweepLeft(cfg Config, pid int) {
	reapGroup(pid)
	ctx, cancel := context.WithTimeout(context.Background(), cfg.Bounds.Killed)
	defer cancel()
	if _, err := sweep(ctx, func() []proc { return marked(cfg.marker()) }); err != nil {
		cfg.Logger.Error("processes outlive a command", "err", err)
	}
}

// Write implements io.Writer for the command's output; it never fails.
func (l *Login) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += len(p)
	l.kept = append(l.kept, p...)
	if len(l.kept) > 2*loginKept {
		l.kept = append(l.kept[:0], l.kept[len(l.kept)-loginKept:]...)
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

// Output waits until the output differs from that of size seen, or the command has ended,
// or ctx ends. It returns the end of the output, the size of all of it, and whether the
// command has ended.
func (l *Login) Output(ctx context.Context, seen int) (text string, size int, ended bool) {
	for {
		l.mu.Lock()
		kept, size, ended, changed := l.kept[max(0, len(l.kept)-loginKept):], l.size, l.ended, l.changed
		text := strings.ToValidUTF8(string(kept), "")
		l.mu.Unlock()
		if size != seen || ended || ctx.Err() != nil {
			return text, size, ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Type gives the command a line of input. It waits until the command has room for it, for
// ten seconds and until ctx ends.
func (l *Login) Type(ctx context.Context, line string) error {
	if len(line) > loginInput || strings.ContainsAny(line, "\r\n\x00") {
		return fmt.Errorf("an input is one line of at most %d bytes", loginInput)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginReads, ErrStuck)
	defer cancel()
	select {
	case l.typing <- struct{}{}:
		defer func() { <-l.typing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_ = l.pty.SetWriteDeadline(time.Time{}) // a closed one fails below
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		_ = l.pty.SetWriteDeadline(time.Unix(1, 0))
	})
	_, err := l.pty.WriteString(line + "\n")
	if !stop() {
		<-cut // so that the deadline is of this line only
		if err != nil {
			return context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("the login has ended: %w", ErrGone)
	}
	return nil
}

// Done is closed once the command and all that it started have ended.
func (l *Login) Done() <-chan struct{} { return l.done }

// Failed returns why an ended login failed, or nil.
func (l *Login) Failed() error {
	code, signal := l.proc.exit()
	switch {
	case signal != "":
		return fmt.Errorf("it was ended by %s", signal)
	case code != nil && *code != 0:
		return fmt.Errorf("it ended with exit code %d", *code)
	}
	return nil
}

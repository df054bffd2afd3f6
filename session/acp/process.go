package acp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one child in a session and process group of its own, without a
// terminal: a program that asks on /dev/tty fails at once, where it would be stopped
// by the kernel as a background job of the hub's terminal. It dies with the hub if
// the system supports that.
type process struct {
	// set at construction
	cmd    *exec.Cmd
	grace  time.Duration // how long the group may outlive its leader
	exited chan struct{} // closed once the leader was reaped and its group killed

	mu     sync.Mutex
	reaped bool // guarded by mu: the group's id may be reused by now
	state  *os.ProcessState
}

// startProcess starts cmd, whose files must all be *os.File: then only the process
// itself is waited for, and not other processes with its pipes.
func startProcess(cmd *exec.Cmd, grace time.Duration) (*process, error) {
	ownSession(cmd)
	p := &process{cmd: cmd, grace: grace, exited: make(chan struct{})}
	started := make(chan error, 1)
	// The system kills the child when the thread that forked it ends. So this
	// goroutine keeps the thread until the child was reaped.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := children.start(cmd)
		started <- err
		if err == nil {
			p.wait()
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		<-p.exited
		return nil, err
	}
	return p, nil
}

// wait reaps the leader. It ends the group while the leader is still a zombie:
// until then no other group can get its id.
func (p *process) wait() {
	waitUnreaped(p.cmd.Process.Pid)
	p.endGroup()
	children.wait(p.cmd)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped, p.state = true, p.cmd.ProcessState
}

// endGroup ends the leader's group with SIGTERM, and after the grace with SIGKILL.
func (p *process) endGroup() {
	if othersInGroup(p.pid()) {
		p.signal(syscall.SIGTERM)
		for deadline := time.Now().Add(p.grace); time.Now().Before(deadline) && othersInGroup(p.pid()); {
			time.Sleep(20 * time.Millisecond)
		}
	}
	p.signal(syscall.SIGKILL)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// signal sends sig to the whole group.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		signalGroup(p.pid(), sig)
	}
}

// kill ends the group without grace for processes that outlive the leader.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

// exit returns how the leader ended: its code, or the signal that ended it.
// Only valid once exited is closed.
func (p *process) exit() (code *int, signal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		return nil, ""
	}
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return nil, signalName(status.Signal())
	}
	c := p.state.ExitCode()
	return &c, ""
}

func signalName(sig syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM",
		syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGSYS: "SIGSYS",
	}
	if name, ok := names[sig]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
}

// pipes are the hub's ends of the three pipes of an agent.
type pipes struct {
	stdin, stdout, stderr *os.File
	child                 []*os.File
}

// attach creates the pipes and gives cmd its ends.
func attach(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make stdin pipe: %w", err)
	}
	p.stdin, p.child = inWrite, append(p.child, inRead)
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		p.close()
		return nil, fmt.Errorf("make stdout pipe: %w", err)
	}
	p.stdout, p.child = outRead, append(p.child, outWrite)
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		p.close()
		return nil, fmt.Errorf("make stderr pipe: %w", err)
	}
	p.stderr, p.child = errRead, append(p.child, errWrite)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, errWrite
	return p, nil
}

// closeChild closes the child's ends, which the child has inherited by now.
func (p *pipes) closeChild() {
	for _, f := range p.child {
		f.Close()
	}
	p.child = nil
}

func (p *pipes) close() {
	p.closeChild()
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// notRunnable describes a failed start for a person. path is the program's, if it was
// found.
func notRunnable(command, path string, err error) error {
	system := syscall.Errno(0)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("agent command %q: %w", command, err)
	case errors.Is(err, fs.ErrNotExist):
		// The system's error is the same if only the interpreter of a script is missing.
		if by := interpreter(path); by != "" {
			return &startError{fmt.Sprintf("agent command %q: its interpreter %s does not exist", command, by), err}
		}
		return &startError{fmt.Sprintf("agent command %q does not exist", command), err}
	case errors.As(err, &system):
		return &startError{fmt.Sprintf("agent command %q cannot be started: %s", command, system), err}
	}
	return fmt.Errorf("start agent command %q: %w", command, err)
}

// interpreter returns the program that a script names in its first line; empty if path
// is no script.
func interpreter(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	begin := make([]byte, 256)
	n, _ := io.ReadFull(file, begin) // most are longer or shorter
	line, _, _ := strings.Cut(string(begin[:n]), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return ""
	}
	return words[0]
}

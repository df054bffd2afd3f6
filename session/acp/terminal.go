package acp

import (
	"os"
	"os/exec"
	"sync"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// terminalKept is how much of a terminal's output is kept for the agent if it sets
// no limit. It is also the maximum limit.
const terminalKept = 1 << 20

// terminal is one command of the agent. Its output is recorded as it comes, and the
// end of it is kept for the agent.
type terminal struct {
	// set at construction
	id     string
	proc   *process
	out    *outPipe
	limit  int
	record func(...event.Payload) error
	done   chan struct{} // closed once its exit was recorded

	mu        sync.Mutex
	kept      []byte // guarded by mu
	truncated bool   // guarded by mu
}

func startTerminal(id string, cmd *exec.Cmd, limit *int, b Bounds, record func(...event.Payload) error) (*terminal, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = write, write
	proc, err := startProcess(cmd, b.Terminated)
	write.Close()
	if err != nil {
		read.Close()
		return nil, err
	}
	t := &terminal{
		id: id, proc: proc, out: &outPipe{pipe: read, idle: b.Drain}, limit: terminalKept, record: record, done: make(chan struct{}),
	}
	if limit != nil && *limit >= 0 && *limit < terminalKept {
		t.limit = *limit
	}
	go func() { // ends with run, below
		<-proc.exited
		t.out.exit()
	}()
	go t.run() // closes done
	return t, nil
}

// run records the output until it ends, then the exit.
func (t *terminal) run() {
	defer close(t.done)
	defer t.out.pipe.Close()
	buffer := make([]byte, 32<<10)
	held := 0 // bytes of an incomplete character
	for {
		n, err := t.out.Read(buffer[held:])
		whole := buffer[:held+n]
		if err == nil {
			whole = whole[:wholeRunes(whole)]
		}
		if len(whole) > 0 {
			t.keep(whole)
			if t.record(event.TerminalOutput{TerminalID: t.id, Data: event.Text(validText(whole))}) != nil {
				t.proc.kill()
				break
			}
		}
		if err != nil {
			break
		}
		held = copy(buffer, buffer[len(whole):held+n])
	}
	<-t.proc.exited
	code, signal := t.proc.exit()
	// An agent that is gone cannot be told.
	_ = t.record(event.TerminalOutput{TerminalID: t.id, Exit: &event.TerminalExit{Code: code, Signal: signal}})
}

func (t *terminal) keep(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data...)
	if over := len(t.kept) - t.limit; over > 0 {
		// The protocol truncates from the start, and never within a character.
		for over < len(t.kept) && !utf8.RuneStart(t.kept[over]) {
			over++
		}
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.truncated = true
	}
}

// output is the result of terminal/output.
func (t *terminal) output() map[string]any {
	t.mu.Lock()
	result := map[string]any{"output": validText(t.kept), "truncated": t.truncated}
	t.mu.Unlock()
	select {
	case <-t.done:
		result["exitStatus"] = t.exitStatus()
	default:
	}
	return result
}

// exitStatus is the result of terminal/wait_for_exit.
func (t *terminal) exitStatus() map[string]any {
	code, signal := t.proc.exit()
	status := map[string]any{"exitCode": nil, "signal": nil}
	if code != nil {
		status["exitCode"] = *code
	}
	if signal != "" {
		status["signal"] = signal
	}
	return status
}

// wholeRunes returns how much of data are complete characters.
func wholeRunes(data []byte) int {
	for back := 1; back <= min(utf8.UTFMax, len(data)); back++ {
		at := len(data) - back
		if utf8.RuneStart(data[at]) {
			if utf8.FullRune(data[at:]) {
				return len(data)
			}
			return at
		}
	}
	return len(data)
}

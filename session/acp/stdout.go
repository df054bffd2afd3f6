package acp

import (
	"io"
	"os"
	"sync"
	"time"
)

// drainLimit is how much is read after the agent exited. It is more than a pipe
// holds, so it covers all of the agent's output, and it limits the output of
// another process with the same pipe.
const drainLimit = 1 << 20

// outPipe is the read end of an agent's stdout or stderr. It ends at EOF, or after
// the agent exited and the pipe was read: a grandchild that keeps the other end
// open does not block the reader.
type outPipe struct {
	pipe *os.File
	idle time.Duration

	mu     sync.Mutex
	exited bool // guarded by mu
	after  int  // guarded by mu: bytes read since
}

// Read implements io.Reader for one goroutine.
func (o *outPipe) Read(p []byte) (int, error) {
	for {
		drained, done := o.arm()
		if done {
			return 0, io.EOF
		}
		n, err := o.pipe.Read(p)
		o.count(n)
		if !os.IsTimeout(err) {
			return n, err
		}
		if drained {
			return n, io.EOF
		}
		// exit interrupted the wait: read once more with a short wait.
	}
}

// arm sets the deadline of the next read. drained means that the agent has exited,
// so that a timeout is the end.
func (o *outPipe) arm() (drained, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.exited {
		return false, false
	}
	_ = o.pipe.SetReadDeadline(time.Now().Add(o.idle))
	return true, o.after > drainLimit
}

func (o *outPipe) count(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.exited {
		o.after += n
	}
}

// exit records that the agent has exited, and interrupts a waiting Read.
func (o *outPipe) exit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.exited = true
	_ = o.pipe.SetReadDeadline(time.Unix(1, 0))
}

package acp

import (
	"io"
	"os"
	"sync"
	"time"
)

// drainLimit is how much is read after the agent exited: more than a pipe holds, so
// all the agent wrote. It bounds the output of another process with the same pipe.
const drainLimit = 1 << 20

// outPipe is the read end of an agent's stdout or stderr. It ends at EOF, or after
// the agent exited and the pipe's contents were read: a grandchild that keeps the
// other end open does not keep the reader.
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
		// exit woke us: once more, now waiting only a moment.
	}
}

// arm sets the deadline of the next read. drained says that the agent had
// exited by then, so that a timeout means the end.
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

// exit says that the agent is gone; it wakes a waiting Read.
func (o *outPipe) exit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.exited = true
	_ = o.pipe.SetReadDeadline(time.Unix(1, 0))
}

package acp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// writePiece is how much is written at a time, so that the watchdog sees
// progress within a large message.
const writePiece = 64 << 10

var errStdinFull = errors.New("too much is waiting for the agent to read it")

// stdin writes to the agent in its own goroutine, so that an agent that stops
// reading blocks no writer. Writers only queue.
type stdin struct {
	// set at construction
	pipe  *os.File
	stuck time.Duration
	limit int
	// sent is called with every message before it can reach the agent.
	sent func(message []byte)

	mu      sync.Mutex
	wake    *sync.Cond
	queue   [][]byte // guarded by mu
	waiting int      // guarded by mu: bytes in queue and in flight
	closing bool     // guarded by mu: close once the queue is written
	dead    error    // guarded by mu: no more is written
}

func newStdin(pipe *os.File, stuck time.Duration, limit int, sent func([]byte)) *stdin {
	s := &stdin{pipe: pipe, stuck: stuck, limit: limit, sent: sent}
	s.wake = sync.NewCond(&s.mu)
	return s
}

// Write queues one whole message. It never blocks and does not retain p.
func (s *stdin) Write(p []byte) (int, error) {
	message := append([]byte(nil), p...)
	s.sent(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.dead != nil:
		return 0, s.dead
	case s.closing:
		return 0, ErrGone
	case s.waiting > 0 && s.waiting+len(message) > s.limit:
		return 0, errStdinFull
	}
	s.queue = append(s.queue, message)
	s.waiting += len(message)
	s.wake.Signal()
	return len(p), nil
}

// run writes until the pipe is closed, abandoned or fails. It returns an error if the agent closed
// its end, exited, or stopped reading: that is os.ErrDeadlineExceeded.
func (s *stdin) run() error {
	err := s.writeQueue()
	s.mu.Lock()
	abandoned := s.dead != nil
	s.dead, s.queue = ErrGone, nil
	s.mu.Unlock()
	s.pipe.Close()
	if abandoned {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no progress in %s: %w", s.stuck, err)
	}
	return err
}

func (s *stdin) writeQueue() error {
	for {
		message, ok := s.take()
		if !ok {
			return nil
		}
		for rest := message; len(rest) > 0; {
			n := min(len(rest), writePiece)
			if err := s.pipe.SetWriteDeadline(time.Now().Add(s.stuck)); err != nil {
				return err
			}
			if _, err := s.pipe.Write(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		s.mu.Lock()
		s.waiting -= len(message)
		s.mu.Unlock()
	}
}

func (s *stdin) take() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closing && s.dead == nil {
		s.wake.Wait()
	}
	if len(s.queue) == 0 || s.dead != nil {
		return nil, false
	}
	message := s.queue[0]
	s.queue = s.queue[1:]
	return message, true
}

// close closes the agent's stdin once the queue was written.
func (s *stdin) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.wake.Broadcast()
}

// abandon closes the agent's stdin at once.
func (s *stdin) abandon() {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = ErrGone
	}
	s.wake.Broadcast()
	s.mu.Unlock()
	// Unblock a write in flight; run closes the pipe.
	_ = s.pipe.SetWriteDeadline(time.Unix(1, 0))
}

var _ io.Writer = (*stdin)(nil)

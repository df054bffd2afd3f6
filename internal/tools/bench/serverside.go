package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// serving is a server in a process of its own.
type serving struct {
	greeting
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// serve starts one of the servers.
func (b *bench) serve(ctx context.Context, role string) (*serving, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, role+"-")
	if err != nil {
		return nil, err
	}
	s := &serving{cmd: exec.CommandContext(ctx, self)}
	s.cmd.Env = append(os.Environ(), roleName+"="+role, "ABIDE_BENCH_DIR="+filepath.Join(dir, "data"))
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.answer(&s.greeting); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *serving) answer(into any) error {
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the server said nothing: %w", err)
	}
	return json.Unmarshal(line, into)
}

// tell gives an order and waits until it is done.
func (s *serving) tell(o order) (usage, error) {
	var u usage
	line, err := json.Marshal(o)
	if err != nil {
		return u, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return u, err
	}
	if err := s.answer(&u); err != nil {
		return u, err
	}
	if u.Failed != "" {
		return u, errors.New(u.Failed)
	}
	return u, nil
}

// close ends the server. It holds nothing worth an orderly end but its profile.
func (s *serving) close() error {
	if os.Getenv(profiles) != "" {
		return errors.Join(s.in.Close(), s.cmd.Wait())
	}
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = s.cmd.Wait() // it was killed
	return nil
}

// crowd is a set of clients of one server.
type crowd struct {
	server  *serving
	readers []*reader
	wait    sync.WaitGroup
}

// gather connects n clients which have seen all there is, and reads until each
// has seen the event numbered last.
func gather(s *serving, n int, last int64, timed bool) (*crowd, error) {
	c := &crowd{server: s}
	for range n {
		r, err := connect(s.greeting, s.Last, timed)
		if err != nil {
			c.leave()
			return nil, err
		}
		c.readers = append(c.readers, r)
	}
	for _, r := range c.readers {
		c.wait.Go(func() { r.run(last) })
	}
	return c, nil
}

// done waits until every client is there, and returns the first failure.
func (c *crowd) done() error {
	c.wait.Wait()
	for _, r := range c.readers {
		if err := r.failed.Load(); err != nil {
			return *err
		}
	}
	return nil
}

func (c *crowd) leave() {
	for _, r := range c.readers {
		r.conn.Close()
	}
	c.wait.Wait()
}

// settle gives a server time to come to rest: connections that were closed are
// found out, timers of the start are over.
func settle() { time.Sleep(300 * time.Millisecond) }

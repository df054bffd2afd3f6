package main

import (
	"bufio"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAHubOutlivesTheReaderOfItsOutput starts a hub whose output goes to a pipe, and
// closes the pipe's other end. Starting an agent logs a line. SIGHUP ends it cleanly.
func TestAHubOutlivesTheReaderOfItsOutput(t *testing.T) {
	s := newShell(t)
	s.kill()
	out, in, err := os.Pipe()
	require.NoError(t, err)
	hub := s.command("serve", "--open=false", "--addr", "127.0.0.1:0")
	hub.Stdout, hub.Stderr = in, in
	// Under nohup a program's children ignore SIGHUP, too, unless it catches it.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	require.NoError(t, hub.Start())
	s.hub = hub
	in.Close()
	_, err = bufio.NewReader(out).ReadString('\n') // it listens
	require.NoError(t, err)
	out.Close()

	require.Contains(t, s.do("run", "/burst 3"), "2")
	require.Contains(t, s.do("ls"), "burst")
	require.NoError(t, hub.Process.Signal(syscall.SIGHUP))
	require.NoError(t, hub.Wait(), "it ends as by SIGTERM")
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fault 85 of the fault list.
func TestFault85AnAgentCannotReadTheHubsEnvironment(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("to be another user needs root")
	}
	const user = 65534
	as := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		return cmd
	}
	dir, err := os.MkdirTemp("", "abide-undumpable-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, user, user))
	program := filepath.Join(dir, "abide")
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, self, 0o755))

	hub := as(exec.CommandContext(t.Context(), program, "serve", "--addr", "127.0.0.1:0", "--open=false", "--data", filepath.Join(dir, "data")))
	hub.Dir = dir
	hub.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "A_SECRET=hunter2"}
	hub.Stderr = os.Stderr
	out, err := hub.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, hub.Start())
	t.Cleanup(func() { _ = hub.Wait() })
	t.Cleanup(func() { _ = hub.Process.Signal(syscall.SIGTERM) })
	first, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first, "listening on "), first)

	said, err := as(exec.Command("cat", fmt.Sprintf("/proc/%d/environ", hub.Process.Pid))).CombinedOutput()
	require.Error(t, err, "a process of the same user reads it")
	require.NotContains(t, string(said), "hunter2")
	require.Contains(t, string(said), "Permission denied")
}

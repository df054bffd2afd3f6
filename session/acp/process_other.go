//go:build unix && !linux

package acp

import (
	"os/exec"
	"syscall"
)

// ownSession gives the child its own session. On these systems a child does not die
// with this process: it must end when its stdin closes.
func ownSession(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
}

func becomeSubreaper() error { return nil }

func limitOf(string) uint64 { return 0 }

func startLimited(cmd *exec.Cmd, _ uint64) error { return cmd.Start() }

func waitUnreaped(int) {}

func signalGroup(pgid int, sig syscall.Signal) { _ = syscall.Kill(-pgid, sig) }

func othersInGroup(int) bool { return false }

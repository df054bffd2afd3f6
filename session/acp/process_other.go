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

func waitUnreaped(int) {}

func signalGroup(pgid int, sig syscall.Signal) { _ = syscall.Kill(-pgid, sig) }

func othersInGroup(int) bool { return false }

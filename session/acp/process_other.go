//go:build unix && !linux

package acp

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the child its own process group. On these systems a child does not
// die with this process: it must end when its stdin closes.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func becomeSubreaper() error { return nil }

func waitUnreaped(int) {}

func signalGroup(pgid int, sig syscall.Signal) { _ = syscall.Kill(-pgid, sig) }

func othersInGroup(int) bool { return false }

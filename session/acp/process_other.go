//go:build unix && !linux

package acp

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the child a group of its own. Nothing here ends it with this
// process: its closed stdin has to.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func becomeSubreaper() error { return nil }

func waitUnreaped(int) {}

func signalGroup(pgid int, sig syscall.Signal) { _ = syscall.Kill(-pgid, sig) }

func othersInGroup(int) bool { return false }

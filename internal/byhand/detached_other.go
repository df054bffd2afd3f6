//go:build unix && !linux

package byhand

import "syscall"

// detached gives a child its own session, without a terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

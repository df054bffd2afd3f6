//go:build unix && !linux

package gitstate

import "syscall"

// grouped gives a child its own process group.
func grouped() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

package gitstate

import "syscall"

// grouped gives a child its own process group, and lets it die with this process.
func grouped() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package byhand

import "syscall"

// detached gives a child its own session, without a terminal, and lets it die with this
// process.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

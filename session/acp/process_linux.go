package acp

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownSession gives the child its own session, and lets it die with this process.
func ownSession(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// becomeSubreaper makes orphans of the agents children of this process, so that
// they can be found and reaped here. It applies to the whole process; repeating it
// changes nothing.
func becomeSubreaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// waitUnreaped returns when the child has exited, and leaves it a zombie.
func waitUnreaped(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func signalGroup(pgid int, sig syscall.Signal) { _ = syscall.Kill(-pgid, sig) }

// othersInGroup reports whether another process than the leader lives in the group.
func othersInGroup(pgid int) bool {
	for _, p := range processes() {
		if p.group == pgid && p.pid != pgid && !p.zombie {
			return true
		}
	}
	return false
}

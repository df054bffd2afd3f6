package acp

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal and returns its two sides. Its lines are wide, so that
// an address of a login stays in one, and end as they are written.
func openTerminal() (pty, tty *os.File, err error) {
	pty, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%w)", ErrNoTerminal, err)
	}
	raw, err := pty.SyscallConn()
	if err != nil {
		pty.Close()
		return nil, nil, fmt.Errorf("%w (%w)", ErrNoTerminal, err)
	}
	var failed error
	number := 0
	// Not by Fd, which would make the file block its reader for ever.
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed != nil {
			return
		}
		if number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); failed != nil {
			return
		}
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 1000})
		if failed != nil {
			return
		}
		var settings *unix.Termios
		if settings, failed = unix.IoctlGetTermios(int(fd), unix.TCGETS); failed == nil {
			settings.Oflag &^= unix.ONLCR
			failed = unix.IoctlSetTermios(int(fd), unix.TCSETS, settings)
		}
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		pty.Close()
		return nil, nil, fmt.Errorf("%w (%w)", ErrNoTerminal, err)
	}
	return pty, tty, nil
}

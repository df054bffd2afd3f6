package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// firstHanded is the descriptor of the first socket that systemd hands over.
const firstHanded = 3

// handed returns the listening sockets that systemd gave this process (sd_listen_fds(3):
// LISTEN_PID is this process, LISTEN_FDS their number); none if it gave none. No other
// program can then have the port while the hub is down. They must be on loopback. The
// variables are removed, so that no child takes them for its own.
func handed() ([]net.Listener, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) || count == "" {
		return nil, nil
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > 16 {
		return nil, fmt.Errorf("LISTEN_FDS is %q: it is the number of sockets, 1 to 16", count)
	}
	var listeners []net.Listener
	for fd := firstHanded; fd < firstHanded+n; fd++ {
		l, err := handedOne(fd)
		if err != nil {
			for _, l := range listeners {
				err = errors.Join(err, l.Close())
			}
			return nil, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func handedOne(fd int) (net.Listener, error) {
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), fmt.Sprintf("socket %d", fd))
	defer file.Close() // the listener has a copy
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d of LISTEN_FDS is not a listening socket: %w", fd, err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("the socket %s is not on loopback: write ListenStream=127.0.0.1:22433", l.Addr()), l.Close())
	}
	return l, nil
}

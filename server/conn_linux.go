package server

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// boundUnsent makes writes wait while the connection holds that many bytes that
// were not sent yet.
func boundUnsent(conn *net.TCPConn, bytes int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("bounding unsent data: %w", err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("bounding unsent data: %w", err)
	}
	return nil
}

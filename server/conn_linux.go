package server

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// boundUnsent makes writes wait while the connection has that many unsent bytes.
func boundUnsent(conn tcpConn, bytes int) error {
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

// lastWords is how much the kernel may hold for a closed connection, including
// overhead: the unsent bytes, the rest of the largest page, and a close frame.
const lastWords = 512 << 10

// leaveBehind gives the kernel bytes to send after the connection is closed. It
// does not wait: bytes that do not fit are lost. It drops unread input first,
// because the kernel answers a close with unread input by a reset, which would lose
// the bytes.
func leaveBehind(conn tcpConn, bytes [][]byte) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	// An error means that the connection broke meanwhile.
	_ = raw.Control(func(handle uintptr) {
		fd := int(handle)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, math.MaxInt32)
		if room, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err == nil && room < lastWords {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, lastWords/2) // the kernel doubles it
		}
		_, _ = unix.SendmsgBuffers(fd, bytes, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		dropped := make([]byte, 16<<10)
		for range lastWords / len(dropped) {
			if n, _, err := unix.Recvfrom(fd, dropped, unix.MSG_DONTWAIT); n <= 0 || err != nil {
				return
			}
		}
	})
}

//go:build !linux

package server

import (
	"fmt"
	"net"
)

// boundUnsent bounds the send buffer, the nearest thing every system has. Bytes in
// flight are counted too.
func boundUnsent(conn *net.TCPConn, bytes int) error {
	if err := conn.SetWriteBuffer(4 * bytes); err != nil {
		return fmt.Errorf("bounding unsent data: %w", err)
	}
	return nil
}

// leaveBehind does nothing on systems where the buffer of a closed connection is
// not known: the other end sees the connection break.
func leaveBehind(*net.TCPConn, [][]byte) {}

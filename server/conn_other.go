//go:build !linux

package server

import "fmt"

// boundUnsent limits the send buffer, which all systems support. Bytes in flight
// count too.
func boundUnsent(conn tcpConn, bytes int) error {
	if err := conn.SetWriteBuffer(4 * bytes); err != nil {
		return fmt.Errorf("bounding unsent data: %w", err)
	}
	return nil
}

// leaveBehind does nothing: on these systems the send buffer of a closed connection
// is not known, so the other end sees the connection break.
func leaveBehind(tcpConn, [][]byte) {}

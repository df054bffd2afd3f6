package blackbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestManyUploadsAtOnceAreNotHeldInMemory pauses 64 uploads of 24 MiB in the
// middle, completes a few and aborts the others.
func TestManyUploadsAtOnceAreNotHeldInMemory(t *testing.T) {
	t.Parallel()
	const uploads, size, sent, whole = 64, 24 << 20, 6 << 20, 3
	h := newHub(t, settings{more: "limits: {session_attachments_mib: 2000, daily_attachments_mib: 2000}\n"})
	session, token := h.create("demo"), h.token()
	before := residentKiB(t, h.cmd.Process.Pid)
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	conns := make([]net.Conn, uploads)
	together(uploads, func(i int) {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		conns[i] = conn
		_, err = fmt.Fprintf(conn, "POST /api/sessions/%s/attachments?name=f%d HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%032d",
			session.SessionID, i, h.addr, token, size, i) // all differ
		require.NoError(t, err)
		for n := 32; n < sent; n += len(chunk) {
			_, err = conn.Write(chunk)
			require.NoError(t, err)
		}
	})
	blobs := filepath.Join(h.data, "sessions", session.SessionID, "blobs")
	require.Eventually(t, func() bool { return onDevice(t, blobs) >= uploads*(sent-len(chunk)) }, patience, 20*time.Millisecond, "received bytes are not written to disk")
	grown := residentKiB(t, h.cmd.Process.Pid) - before
	t.Logf("the hub grew by %d KiB while %d MiB were on their way", grown, uploads*sent>>20)
	require.Less(t, grown, 160<<10, "growth of the hub in KiB, with the race detector")

	for i, conn := range conns {
		if i >= whole {
			conn.Close()
			continue
		}
		rest := size - 32 - len(chunk)*((sent-32+len(chunk)-1)/len(chunk))
		for ; rest > 0; rest -= len(chunk) {
			_, err := conn.Write(chunk[:min(rest, len(chunk))])
			require.NoError(t, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		res.Body.Close()
		require.Equal(t, http.StatusCreated, res.StatusCode)
		conn.Close()
	}
	require.Eventually(t, func() bool {
		files, err := os.ReadDir(blobs)
		require.NoError(t, err)
		return len(files) == 2*whole // each has a description file
	}, patience, 20*time.Millisecond, "what was cut off leaves nothing behind")
}

// onDevice returns the bytes in a directory's files. Files may disappear meanwhile.
func onDevice(t *testing.T, dir string) int {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	total := 0
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			total += int(info.Size())
		}
	}
	return total
}

package server_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
)

// Fault 92. Exports that are read slowly take places of their own credential, and leave
// one to the owner.
func TestFault92SlowExportsLeaveAPlaceToTheOwner(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for range 80 {
		h.say(s, 200_000)
	}
	path := "/api/sessions/" + s.ID() + "/export"
	open := func(token string) (answered bool) {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, h.addr, token)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Second)))
		_, err = bufio.NewReaderSize(conn, 16).ReadString('\n')
		return err == nil
	}
	got := 0
	for range 2 {
		token := h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})
		for range 3 {
			if open(token) {
				got++
			}
		}
	}
	require.Equal(t, 3, got, "two of one credential, three of all")
	require.True(t, open(h.token), "the owner's place is free")
	require.Equal(t, 200, h.api("GET", "/api/search?q=word", nil).status, "a class of its own")
}

package server_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
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
	var reading sync.WaitGroup
	t.Cleanup(reading.Wait)
	open := func(token string, answered *atomic.Int64) {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, h.addr, token)
		reading.Go(func() {
			if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err == nil {
				answered.Add(1)
			}
		})
	}
	var first, second, owner atomic.Int64
	for _, answered := range []*atomic.Int64{&first, &second} {
		token := h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})
		for range 3 {
			open(token, answered)
		}
		require.Eventually(t, func() bool { return first.Load() == 2 && (answered == &first || second.Load() == 1) }, patience, time.Millisecond)
	}
	open(h.token, &owner)
	require.Eventually(t, func() bool { return owner.Load() == 1 }, patience, time.Millisecond, "the owner's place is free")
	require.EqualValues(t, 2, first.Load(), "two of one credential")
	require.EqualValues(t, 1, second.Load(), "three of all")
	require.Equal(t, 200, h.api("GET", "/api/search?q=word", nil).status, "a class of its own")
}

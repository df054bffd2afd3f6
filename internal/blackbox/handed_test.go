package blackbox_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAHubThatIsHandedItsSocketServesItAndLeavesThePortToNoOther(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer socket.Close()
	h := newHub(t, settings{})
	h.stop()

	h.socket, h.hub = socket, nil
	h.start() // --addr names another port, which is not used
	require.Equal(t, listener.Addr().String(), h.addr)
	s := h.create("demo")
	_, err = h.hub.Health(t.Context())
	require.NoError(t, err)
	h.kill()
	_, err = net.Listen("tcp", h.addr)
	require.Error(t, err, "another program got the port while the hub was down")

	answered := make(chan error, 1)
	go func() {
		_, err := h.hub.Health(t.Context())
		answered <- err
	}() // it waits in the socket until the hub is back
	h.start()
	require.NoError(t, <-answered)
	_, err = h.hub.Session(t.Context(), s.SessionID)
	require.NoError(t, err)
}

func TestAHandedSocketThatIsNotOnLoopbackIsRefused(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer socket.Close()
	h := newHub(t, settings{})
	h.stop()
	h.socket = socket
	require.False(t, h.tryStart())
	require.Contains(t, h.logged(), "is not on loopback: write ListenStream=127.0.0.1:22433")
	h.socket = nil
	h.start()
}

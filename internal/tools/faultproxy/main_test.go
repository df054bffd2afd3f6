package main

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time limit for something that should happen at once.
const patience = time.Minute

// rig is a proxy in front of an echo server.
type rig struct {
	t        *testing.T
	addr     string
	commands io.Writer
	answers  *bufio.Reader
}

func newRig(t *testing.T) *rig {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { echo.Close() })
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	}()
	commandsOut, commandsIn := io.Pipe()
	answersOut, answersIn := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context(), commandsOut, answersIn) }()
	t.Cleanup(func() {
		commandsIn.Close()
		require.NoError(t, <-ended)
	})
	r := &rig{t: t, commands: commandsIn, answers: bufio.NewReader(answersOut)}
	r.addr = r.line()
	r.tell("upstream "+echo.Addr().String(), "ok")
	return r
}

func (r *rig) line() string {
	line, err := r.answers.ReadString('\n')
	require.NoError(r.t, err)
	return line[:len(line)-1]
}

func (r *rig) tell(command, want string) {
	_, err := io.WriteString(r.commands, command+"\n")
	require.NoError(r.t, err)
	require.Equal(r.t, want, r.line())
}

func (r *rig) dial() net.Conn {
	conn, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

func echoed(t *testing.T, conn net.Conn, within time.Duration) error {
	_, err := conn.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(within)))
	_, err = io.ReadFull(conn, make([]byte, 5))
	return err
}

func TestAStallHoldsBytesBackSilentlyUntilItHeals(t *testing.T) {
	r := newRig(t)
	conn := r.dial()
	require.NoError(t, echoed(t, conn, patience))
	r.tell("stall", "ok")
	var timeout net.Error
	require.ErrorAs(t, echoed(t, conn, 200*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout(), "the connection must look alive")
	r.tell("heal", "ok")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadFull(conn, make([]byte, 5))
	require.NoError(t, err, "the delayed bytes must arrive")
}

func TestResetAndOrderlyEndAreToldApart(t *testing.T) {
	r := newRig(t)
	conn := r.dial()
	require.NoError(t, echoed(t, conn, patience))
	r.tell("fin", "ok")
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)

	conn = r.dial()
	require.NoError(t, echoed(t, conn, patience))
	r.tell("rst", "ok")
	_, err = conn.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
}

func TestABlackholeAcceptsAndNeverAnswers(t *testing.T) {
	r := newRig(t)
	r.tell("blackhole", "ok")
	require.Error(t, echoed(t, r.dial(), 200*time.Millisecond))
	r.tell("heal", "ok")
	require.NoError(t, echoed(t, r.dial(), patience))
}

func TestAStrandedConnectionStaysDeadWhileNewOnesWork(t *testing.T) {
	r := newRig(t)
	conn := r.dial()
	require.NoError(t, echoed(t, conn, patience))
	r.tell("strand", "ok")
	require.NoError(t, echoed(t, r.dial(), patience))
	r.tell("heal", "ok")
	var timeout net.Error
	require.ErrorAs(t, echoed(t, conn, 200*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout(), "the connection must look alive")
}

func TestAMutedConnectionCarriesOnlyWhatTheClientSays(t *testing.T) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer upstream.Close()
	r := newRig(t)
	r.tell("upstream "+upstream.Addr().String(), "ok")
	client := r.dial()
	server, err := upstream.Accept()
	require.NoError(t, err)
	defer server.Close()
	r.tell("mute", "ok")
	_, err = server.Write([]byte("lost"))
	require.NoError(t, err)
	_, err = client.Write([]byte("heard"))
	require.NoError(t, err)
	require.NoError(t, server.SetReadDeadline(time.Now().Add(patience)))
	_, err = io.ReadFull(server, make([]byte, len("heard")))
	require.NoError(t, err)
	require.NoError(t, client.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	_, err = client.Read(make([]byte, 1))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "the connection must look alive")
}

func TestUnknownCommandsAreRefused(t *testing.T) {
	r := newRig(t)
	r.tell("explode", `error: unknown command "explode"`)
	r.tell("count", "ok 0")
}

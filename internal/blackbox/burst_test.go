package blackbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestABurstOfTwentyThousandUpdatesReachesTenClientsWhole has ten clients on one
// session: eight fast ones, a slow one, and one that never reads. The last one must
// not slow the agent, the other nine or another session.
func TestABurstOfTwentyThousandUpdatesReachesTenClientsWhole(t *testing.T) {
	t.Parallel()
	const updates = 20_000
	h := newHub(t, settings{})
	session, other := h.create("demo"), h.create("demo")
	var screens []*screen
	for n := range 8 {
		screens = append(screens, h.screen(fmt.Sprintf("screen %d", n), session, 0))
	}
	screens = append(screens, h.screen("slow screen", session, 2*time.Millisecond))
	rawSocket(t, h, "/api/sessions/"+session.SessionID+"/ws?after_seq=0&epoch="+session.Epoch) // never read
	bystander := h.screen("bystander", other, 0)

	screens[0].prompt(session.SessionID, "p1", fmt.Sprintf("/burst %d", updates))
	bystander.prompt(other.SessionID, "p1", "/plan")
	require.Equal(t, event.StopEndTurn, bystander.untilTurnEnds("p1").StopReason)
	for _, c := range screens {
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)
	}
	log := onDisk(t, h, session.SessionID)
	n := 0
	for _, m := range payloads[event.AgentMessage](t, log) {
		n++
		require.Equal(t, fmt.Sprintf("%d\n", n), string(m.Text), "the agent's updates in order")
	}
	require.Equal(t, updates, n)
	for _, c := range screens {
		requireSame(t, log, c.seen(), c.name)
	}
}

// TestAClientThatNeverReadsIsClosedAndItsMemoryIsNotTheHubs leaves ten sockets
// unread while the agent floods the log. The hub closes them at its write deadline
// and buffers nothing for them.
func TestAClientThatNeverReadsIsClosedAndItsMemoryIsNotTheHubs(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/burst 2000")
	c.untilTurnEnds("p1")
	memory, open := residentKiB(t, h.cmd.Process.Pid), sockets(t, h.cmd.Process.Pid)
	path := "/api/sessions/" + session.SessionID + "/ws?after_seq=0&epoch=" + session.Epoch
	for range 10 {
		rawSocket(t, h, path)
	}
	c.prompt(session.SessionID, "p2", "/burst 60000")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
	grown := residentKiB(t, h.cmd.Process.Pid) - memory
	// The log is over 10 MiB by now: a copy for each of ten clients would be over
	// 100 MiB. The race detector adds to the growth.
	require.Less(t, grown, 100<<10, "the hub grew by %d KiB", grown)
	c.until("the stuck clients gone", func(_ []event.Event, s *wire.State) bool {
		return s != nil && len(s.Observers) == 1
	})
	require.Eventually(t, func() bool { return sockets(t, h.cmd.Process.Pid) <= open }, patience, 50*time.Millisecond,
		"the hub keeps the sockets of clients that were stuck")
}

// sockets counts the open sockets of a process.
func sockets(t *testing.T, pid int) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	require.NoError(t, err)
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(status), "VmRSS:")
	require.True(t, ok)
	var kib int
	_, err = fmt.Sscan(rest, &kib)
	require.NoError(t, err)
	return kib
}

// TestABurstIsWholeWhilePermissionsAreAnsweredAndTheModeIsSwitched floods a
// session. Meanwhile another client answers permission requests and switches the
// mode, and the test samples the hub's memory.
func TestABurstIsWholeWhilePermissionsAreAnsweredAndTheModeIsSwitched(t *testing.T) {
	t.Parallel()
	const updates = 20_000
	h := newHub(t, settings{})
	session := h.create("demo")
	desk, phone := h.screen("desk", session, 0), h.screen("phone", session, 0)
	desk.prompt(session.SessionID, "p0", "/plan")
	desk.untilTurnEnds("p0")
	before := residentKiB(t, h.cmd.Process.Pid)

	stop := answerAll(phone, session.SessionID)
	defer stop()
	desk.prompt(session.SessionID, "p1", fmt.Sprintf("/burst %d ask", updates))
	most := 0
	for n := 0; len(payloads[event.TurnEnd](t, desk.seen())) < 2; n++ {
		mode := []string{"auto", "ask"}[n%2]
		require.NoError(t, phone.socket().Send(t.Context(), &wire.SetMode{SessionID: session.SessionID, ModeID: mode}))
		most = max(most, residentKiB(t, h.cmd.Process.Pid))
		rest(t.Context(), 50*time.Millisecond)
	}
	require.Equal(t, event.StopEndTurn, desk.untilTurnEnds("p1").StopReason)
	stop()
	require.Less(t, most-before, 150<<10, "growth of the hub in KiB, with the race detector")
	requireTrueScreens(t, h, session.SessionID, desk, phone)
	got, answered, switched := 0, 0, 0
	for _, e := range desk.seen() {
		inside := got > 0 && got < updates
		switch p := payloadOf(t, e).(type) {
		case event.AgentMessage:
			if string(p.Text) == fmt.Sprintf("%d\n", got+1) {
				got++
			}
		case event.PermissionOutcome:
			require.Equal(t, event.OutcomeSelected, p.Outcome)
			if inside {
				answered++
			}
		case event.Mode:
			if inside {
				switched++
			}
		}
	}
	t.Logf("%d requests answered and %d switches in the middle of it, the hub grew by %d KiB", answered, switched, most-before)
	require.Equal(t, updates, got, "the agent's updates in order")
	require.Positive(t, answered, "requests answered in the middle of the burst")
	require.Positive(t, switched, "switches in the middle of the burst")
	require.Len(t, payloads[event.PermissionOutcome](t, desk.seen()), len(payloads[event.PermissionRequest](t, desk.seen())))
}

func payloadOf(t *testing.T, e event.Event) event.Payload {
	p, err := e.Payload()
	require.NoError(t, err)
	return p
}

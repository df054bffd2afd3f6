package machines

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/state"
)

// Home and the machine speak different versions: both say which, and what to do.
func TestAnotherVersionOnEitherSideIsSaidOnBoth(t *testing.T) {
	for _, theirs := range []int{protocol - 1, protocol + 1} {
		p := newPairWith(t, HomeOptions{Logger: discard(), Version: "1.0"}, MemberOptions{Version: "2.0", Most: 50 * time.Millisecond})
		p.member.protocol = theirs
		code, _, err := p.home.NewLink()
		require.NoError(t, err)
		require.NoError(t, p.member.Join(t.Context(), Link(p.server.URL, code), "laptop", AllowAct, ""))
		want := fmt.Sprintf("home is abide 1.0 and speaks version %d of the protocol between machines, this machine is abide 2.0 and speaks version %d: update the older one", protocol, theirs)
		m := p.until(func(m Machine) bool { return m.Problem != "" })
		require.Equal(t, want, m.Problem)
		require.False(t, m.Connected)
		require.Eventually(t, func() bool {
			s, _ := p.member.Status()
			return s.Problem == want && !s.Connected
		}, patience, time.Millisecond)
	}
}

// Clocks ten minutes apart are said at home. The link, the list, copies and calls do not depend
// on them.
func TestClocksTenMinutesApartAreSaid(t *testing.T) {
	for by, words := range map[time.Duration]string{10 * time.Minute: "ahead of", -10 * time.Minute: "behind"} {
		p := newPairWith(t, HomeOptions{Logger: discard()}, MemberOptions{Now: func() time.Time { return time.Now().Add(by) }})
		p.join(AllowAct)
		m := p.until(func(m Machine) bool { return m.Problem != "" })
		require.True(t, m.Connected)
		require.Regexp(t, `^its clock is (10m0s|9m59s|10m1s) `+words+` this one's$`, m.Problem)
		id, log := p.newLog(t.TempDir())
		line := lineOf(id)
		p.hub.set([]state.Info{line})
		p.linesUntil(id)
		p.upTo(id, p.write(log, "copied"))
	}
}

// A machine dies after home accepted it and before it kept its secret: it joins again. Once it
// was connected, another of its id does not.
func TestAMachineWhoseSecretWasLostOnTheWayJoinsAgain(t *testing.T) {
	p := newPair(t)
	code, _, err := p.home.NewLink()
	require.NoError(t, err)
	_, _, err = p.home.Join(code, Joining{ID: machineID, Name: "laptop", Allow: AllowAct})
	require.NoError(t, err)
	p.join(AllowAct)
	code, _, err = p.home.NewLink()
	require.NoError(t, err)
	_, _, err = p.home.Join(code, Joining{ID: machineID, Name: "copy", Allow: AllowAct})
	require.ErrorIs(t, err, ErrTwice)
}

package machines

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answerBy answers home's address by a handler; nil is no answer at all.
func (p *pair) answerBy(handler http.Handler) {
	p.t.Helper()
	address := p.server.Listener.Addr().String()
	p.server.Close()
	p.home.mu.Lock()
	l := p.home.links[machineID]
	p.home.mu.Unlock()
	if l != nil {
		l.end()
		<-l.over
	}
	if handler == nil {
		return
	}
	listener, err := net.Listen("tcp", address)
	require.NoError(p.t, err)
	p.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	p.server.Start()
	p.t.Cleanup(p.server.Close)
}

// While home cannot be reached, a machine tries at least each 2 s, however long that lasts. The
// pauses grow only while home answers and refuses.
func TestAMachineIsBackSoonAfterHomeCanBeReached(t *testing.T) {
	asked, over := make(chan time.Duration), make(chan struct{})
	now := make(chan time.Time)
	close(now)
	p := newPairWith(t, HomeOptions{Logger: discard()}, MemberOptions{After: func(d time.Duration) <-chan time.Time {
		select {
		case asked <- d:
		case <-over:
		}
		return now
	}})
	t.Cleanup(func() { close(over) })
	p.join(AllowRead)
	pauses := func(n int) (all []time.Duration) {
		for range n {
			all = append(all, <-asked)
		}
		return all
	}
	soon := func(n int) {
		t.Helper()
		for i, d := range pauses(n) {
			require.LessOrEqual(t, d, 2*time.Second, "try %d", i)
		}
	}
	p.answerBy(nil)
	soon(40)
	p.answerBy(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	soon(20) // a proxy whose home is away
	p.answerBy(http.HandlerFunc(p.serveHome))
	for back := false; !back; {
		changed := p.home.Changed()
		m, err := p.home.Machine(machineID)
		require.NoError(t, err)
		if back = m.Connected; back {
			break
		}
		select {
		case d := <-asked:
			require.LessOrEqual(t, d, 2*time.Second)
		case <-changed:
		case <-time.After(patience):
			require.Fail(t, "the machine is not back")
		}
	}
	require.NoError(t, p.home.Forget(machineID))
	require.Less(t, <-asked, time.Second, "it was connected")
	refused := pauses(12)
	require.GreaterOrEqual(t, refused[11], mostRefusal/2)
	require.LessOrEqual(t, refused[11], mostRefusal)
	p.answerBy(nil)
	pauses(1) // the answer of the try before
	soon(5)
}

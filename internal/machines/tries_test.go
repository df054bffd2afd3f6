package machines

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answerBy has home's address answered by a handler; nil is home. Its port stays open all the
// time: another program could take it.
func (p *pair) answerBy(handler http.HandlerFunc) {
	if handler == nil {
		p.answer.Store(nil)
		return
	}
	answer := http.Handler(handler)
	p.answer.Store(&answer)
	p.home.mu.Lock()
	l := p.home.links[machineID]
	p.home.mu.Unlock()
	if l != nil {
		l.end()
		<-l.over
	}
}

// unreached answers nothing.
func unreached(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

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
	p.answerBy(unreached)
	soon(40)
	p.answerBy(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	soon(20) // a proxy whose home is away
	p.answerBy(nil)
	limit := time.After(patience)
	for back := false; !back; {
		select {
		case d := <-asked:
			require.LessOrEqual(t, d, 2*time.Second)
		case <-time.After(time.Millisecond):
			s, _ := p.member.Status()
			back = s.Connected
		case <-limit:
			require.Fail(t, "the machine is not back")
		}
	}
	require.NoError(t, p.home.Forget(machineID))
	require.LessOrEqual(t, <-asked, 2*time.Second, "it was connected")
	refused := pauses(12)
	require.GreaterOrEqual(t, refused[11], mostRefusal/2)
	require.LessOrEqual(t, refused[11], mostRefusal)
	p.answerBy(unreached)
	pauses(1) // the answer of the try before
	soon(5)
}

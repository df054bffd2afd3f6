package machines

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/state"
)

// scissors cut a connection at one of its messages, of either side.
type scissors struct {
	mu     sync.Mutex
	at     int  // the message to cut at, counted from 1; 0 is none
	behind bool // that message arrives
	cut    bool
}

func (s *scissors) set(at int, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.behind, s.cut = at, behind, false
}

func (s *scissors) did() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// pass counts a message. It reports whether the message arrives, and whether the connection
// ends with it.
func (s *scissors) pass() (arrives, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == 0 {
		return true, false
	}
	if s.at--; s.at > 0 {
		return true, false
	}
	s.cut = true
	return s.behind, true
}

type cutConn struct {
	net.Conn
	*scissors
}

func (c cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		return n, err
	}
	arrives, ends := c.pass()
	if ends {
		c.Conn.Close()
	}
	if !arrives {
		return 0, net.ErrClosed
	}
	return n, nil
}

func (c cutConn) Write(p []byte) (int, error) {
	arrives, ends := c.pass()
	if !arrives {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Write(p)
	if ends {
		c.Conn.Close()
	}
	return n, err
}

// The connection is cut at its first message, at its second, and so on, before and behind each,
// while the machine says hello, sends its list, is read from and called. The copy has no gap and
// nothing twice, the list is the machine's, a call whose answer came ran once, and one that did
// not reach the machine never.
func TestNothingIsLostAtWhicheverMessageTheConnectionIsCut(t *testing.T) {
	p := newPair(t)
	cuts := &scissors{}
	p.through = func(c net.Conn) net.Conn { return cutConn{c, cuts} }
	var ran sync.Map // by call
	p.hub.serve = func(w http.ResponseWriter, r *http.Request, _ Caller, _ Allow) {
		n, _ := ran.LoadOrStore(r.URL.Path, new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
		fmt.Fprint(w, r.URL.Path)
	}
	runs := func(path string) int32 {
		n, any := ran.Load(path)
		if !any {
			return 0
		}
		return n.(*atomic.Int32).Load()
	}
	dir := t.TempDir()
	id, log := p.newLog(dir)
	line := lineOf(id)
	p.hub.set([]state.Info{line})
	p.join(AllowAct)
	p.linesUntil(id)
	p.upTo(id, 1)
	most, outcomes := 0, map[string]int{}
	for _, behind := range []bool{false, true} {
		for at, whole := 1, 0; whole < soak.Rounds(1, 20); at++ {
			cuts.set(at, behind)
			p.home.mu.Lock()
			l := p.home.links[machineID]
			p.home.mu.Unlock()
			if l != nil {
				l.end()
				<-l.over
			}
			// The scenario ends with an answer: until then the call is made again and again.
			line.Name = fmt.Sprint(behind, at)
			p.hub.set([]state.Info{line})
			for try := 0; ; try++ {
				last := p.write(log, fmt.Sprint("event ", behind, at, try))
				path := fmt.Sprintf("/%v/%d/%d", behind, at, try)
				w := httptest.NewRecorder()
				err := p.home.Call(w, httptest.NewRequest("POST", path, nil), machineID, Caller{})
				if err == nil {
					outcomes["answered"]++
					require.Equal(t, path, w.Body.String())
					require.EqualValues(t, 1, runs(path))
					p.upTo(id, last)
					break
				}
				require.ErrorIs(t, err, state.ErrUnavailable)
				if errors.Is(err, ErrAway) {
					outcomes["away"]++
					changed := p.home.Changed()
					if p.home.met(machineID) == nil {
						select {
						case <-changed:
						case <-time.After(patience):
							require.Fail(t, "the machine is not back", "cut at %d", at)
						}
					}
					require.Zero(t, runs(path), "it did not reach the machine")
					continue
				}
				outcomes["lost"]++
				require.LessOrEqual(t, runs(path), int32(1))
			}
			require.Eventually(t, func() bool { return p.lines()[0].Name == line.Name }, patience, time.Millisecond)
			if most = max(most, at); !cuts.did() {
				whole++
			}
		}
	}
	require.Greater(t, most, 8, "it was cut at each of several messages")
	require.Equal(t, filesOf(t, filepath.Join(dir, "sessions", id)), filesOf(t, filepath.Join(p.dir, "copies", machineID, id)))
	require.Zero(t, p.until(func(Machine) bool { return true }).Refused)
	t.Logf("cut at each of %d messages; calls: %v", most, outcomes)
}

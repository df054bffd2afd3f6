package machines

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// lying is home's connection to the machine, to say there what home does not.
func (p *pair) lying() *link {
	p.home.mu.Lock()
	defer p.home.mu.Unlock()
	return p.home.links[machineID]
}

// What a machine's handlers see of a request is what home may send, whatever it sends.
func TestAMachineTakesNoHeadersOfHomeThatAreNotAboutTheRequest(t *testing.T) {
	p := newPair(t)
	seen, by := make(chan *http.Request, 1), make(chan Caller, 1)
	p.hub.serve = func(w http.ResponseWriter, r *http.Request, c Caller, a Allow) { seen <- r; by <- c }
	p.join(AllowRead)
	smuggled := http.Header{"Accept": {"a"}}
	for _, name := range []string{"Authorization", "Cookie", "Host", "Origin", "Referer", "Connection", "Upgrade", "Sec-WebSocket-Key", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-Ip", "authorization", "Abide-Run"} {
		smuggled[name] = []string{"smuggled"}
	}
	head := callHead{Method: "GET", Target: "/api/sessions/x", Header: smuggled, Caller: Caller{Name: "ann\x1b[31m\n" + strings.Repeat("n", 1000), ID: "id\r\n"}}
	require.NoError(t, p.lying().conn.Publish(below(machineID, "call.7.begin"), message(head, nil)))
	r, c := <-seen, <-by
	require.Equal(t, http.Header{"Accept": {"a"}}, r.Header)
	require.Equal(t, "home", r.Host)
	require.Equal(t, "home", r.RemoteAddr)
	require.Equal(t, "id", c.ID)
	require.Less(t, len(c.Name), 300)
	require.NotContains(t, c.Name, "\x1b")
}

func TestAMachineAnswersNoTargetThatIsNoPath(t *testing.T) {
	p := newPair(t)
	p.hub.serve = func(w http.ResponseWriter, r *http.Request, c Caller, a Allow) {
		if r.URL.Host != "home" || !strings.HasPrefix(r.URL.Path, "/") {
			t.Error("it is served:", r.URL)
		}
	}
	p.join(AllowManage)
	calls := &p.lying().calls
	calls.mu.Lock()
	calls.next = 1000 // it asked
	calls.mu.Unlock()
	for i, target := range []string{"", "api/sessions", "@elsewhere/api", ".elsewhere/", ":99/api", "http://elsewhere/", "/%zz", "/a b\r\nX: y", "?x", "#x"} {
		answered := make(chan []byte, 1)
		sub, err := p.lying().conn.SubscribeSync(below(machineID, fmt.Sprint("answer.", 900+i)))
		require.NoError(t, err)
		require.NoError(t, p.lying().conn.Publish(below(machineID, fmt.Sprintf("call.%d.begin", 900+i)), message(callHead{Method: "GET", Target: target}, nil)))
		m, err := sub.NextMsg(patience)
		require.NoError(t, err)
		answered <- m.Data
		require.Contains(t, string(<-answered), `"status":400`, target)
	}
}

// Home sends parts of a body without waiting: the call ends, and the machine holds one of them.
func TestPartsOfABodyThatDoNotWaitEndTheCall(t *testing.T) {
	p := newPair(t)
	begun, read := make(chan struct{}), make(chan error, 1)
	p.hub.serve = func(w http.ResponseWriter, r *http.Request, c Caller, a Allow) {
		close(begun)
		<-r.Context().Done()
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	}
	p.join(AllowManage)
	conn := p.lying().conn
	require.NoError(t, conn.Publish(below(machineID, "call.7.begin"), message(callHead{Method: "POST", Target: "/", More: true, Length: -1}, nil)))
	<-begun
	for range 100 {
		require.NoError(t, conn.Publish(below(machineID, "call.7.body"), message(partHead{More: true}, make([]byte, 1000))))
	}
	require.Error(t, <-read)
}

// The socket of a machine that is forgotten is cut: home asks for no answer to its end, which
// the machine may never give.
func TestForgettingWaitsForNoMachine(t *testing.T) {
	p := newPair(t)
	l := p.newLiar(t, 1)
	d, err := dialerTo(p.server.URL, "", dialBound)
	require.NoError(t, err)
	header := http.Header{"Authorization": {"Bearer " + l.secret}, RunHeader: {"r"}}
	socket, _, err := websocket.Dial(t.Context(), p.server.URL+connectPath, &websocket.DialOptions{HTTPClient: d.client, HTTPHeader: header, Subprotocols: []string{Subprotocol}})
	require.NoError(t, err)
	defer socket.CloseNow() // nothing is read or written
	require.NoError(t, p.home.Forget(l.id))
	_, _, err = socket.Read(t.Context())
	for err == nil { // what the engine said before
		_, _, err = socket.Read(t.Context())
	}
	require.EqualValues(t, -1, websocket.CloseStatus(err), "it is asked to answer")
}

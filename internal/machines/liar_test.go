package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/store/logfile"
)

// liar is a machine that joined and says what it likes: it speaks the engine's protocol itself,
// over the socket that machines use.
type liar struct {
	*pair
	t          *testing.T
	id, secret string
	session    string   // the id of its session
	lines      [][]byte // of its session's log
	conn       *nats.Conn
	socket     *connection
	closed     chan struct{}
	times      int

	mu    sync.Mutex
	reads func(q readHead) (linesHead, []byte) // nil: it does not answer
}

func (p *pair) newLiar(t *testing.T, number int) *liar {
	l := &liar{pair: p, t: t, id: fmt.Sprintf("c%015d", number)}
	code, _, err := p.home.NewLink()
	require.NoError(t, err)
	l.secret, _, err = p.home.Join(code, Joining{ID: l.id, Name: t.Name()[max(0, len(t.Name())-mostName):], Allow: AllowManage})
	require.NoError(t, err)
	s, err := store.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	l.session, err = s.Journal().Create(t.Context(), event.SessionStart{Agent: "fake"})
	require.NoError(t, err)
	lease, err := s.Journal().Lease(t.Context(), l.session)
	require.NoError(t, err)
	log, err := lease.Log(t.Context())
	require.NoError(t, err)
	for i := range 4 {
		p.write(log, fmt.Sprint("line ", i))
	}
	for after := event.Seq(0); ; {
		one, err := log.ReadLines(t.Context(), after, 1)
		require.NoError(t, err)
		if len(one.Lines) == 0 {
			break
		}
		after, l.lines = one.Last, append(l.lines, one.Lines)
	}
	return l
}

// connected connects it, unless it is, or home cut it off: home may read again, and refuse,
// what it said before.
func (l *liar) connected() *liar {
	if l.conn != nil && !l.conn.IsClosed() {
		return l
	}
	l.await(func(m Machine) bool { return !m.Connected })
	if l.seen() >= mostRefused {
		return l
	}
	l.open()
	got, err := l.conn.RequestWithContext(l.bound(), l.below("hello"), message(hello{Protocol: protocol, Version: "v1", Allow: AllowManage, Time: time.Now()}, nil))
	require.NoError(l.t, err)
	var answer welcome
	require.NoError(l.t, json.Unmarshal(got.Data, &answer))
	require.Empty(l.t, answer.Refused)
	return l
}

func (l *liar) bound() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	l.t.Cleanup(cancel)
	return ctx
}

// open connects it to the engine. It says nothing yet.
func (l *liar) open() {
	d, err := dialerTo(l.server.URL, "", dialBound)
	require.NoError(l.t, err)
	socket, err := d.connect(l.bound(), l.id, "r", l.secret)
	require.NoError(l.t, err)
	closed := make(chan struct{})
	l.socket, l.closed = socket, closed
	l.conn, err = nats.Connect("nats://home", nats.SetCustomDialer(socket), nats.UserInfo(l.id, socket.ticket), nats.NoReconnect(), nats.Timeout(patience), nats.ClosedHandler(func(*nats.Conn) { close(closed) }), nats.CustomInboxPrefix(l.below("machine")), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(l.t, err)
	l.t.Cleanup(l.conn.Close)
	_, err = l.conn.Subscribe(l.below("read"), func(m *nats.Msg) {
		var q readHead
		_, err := parse(m.Data, &q)
		l.mu.Lock()
		reads := l.reads
		l.mu.Unlock()
		if err == nil && reads != nil {
			head, lines := reads(q)
			_ = m.Respond(message(head, lines))
		}
	})
	require.NoError(l.t, err)
}

func (l *liar) below(name string) string { return below(l.id, name) }

func (l *liar) publish(subject string, data []byte) {
	if err := l.conn.Publish(subject, data); l.seen() < mostRefused {
		require.NoError(l.t, err)
	}
}

// list says that it has sessions.
func (l *liar) list(rows ...string) {
	l.publish(l.below("rows"), []byte(`{"first":true,"rows":[`+strings.Join(rows, ",")+"]}\n"))
}

func rowText(id, more string) string { return fmt.Sprintf(`{"session_id":%q%s}`, id, more) }

// await waits until home sees it so.
func (l *liar) await(is func(Machine) bool) Machine {
	l.t.Helper()
	limit := time.After(patience)
	for {
		changed := l.home.Changed()
		m, err := l.home.Machine(l.id)
		require.NoError(l.t, err)
		if is(m) {
			return m
		}
		select {
		case <-changed:
		case <-limit:
			require.Fail(l.t, "home does not see it so", "%+v", m)
		}
	}
}

// watched has home follow its session, which is answered by reads.
func (l *liar) watched(reads func(q readHead) (linesHead, []byte)) {
	l.mu.Lock()
	l.reads = reads
	l.mu.Unlock()
	l.list(rowText(l.session, ""))
	limit := time.After(patience)
	for {
		changed := l.home.LinesChanged()
		if of, _, known := l.home.Of(l.session); known {
			require.Equal(l.t, l.id, of.ID)
			_, err := l.home.Watch(l.session)
			require.NoError(l.t, err)
			return
		}
		select {
		case <-changed:
		case <-limit:
			require.Fail(l.t, "its session is not listed")
		}
	}
}

// says has it answer each read with the lines that change makes of its log's, as one stretch.
func (l *liar) says(change func(lines [][]byte) [][]byte) {
	l.watched(func(q readHead) (linesHead, []byte) {
		lines := change(append([][]byte{}, l.lines...))
		return linesHead{File: 1, Last: event.Seq(len(lines)), Epoch: "0123456789abcdef"}, bytes.Join(lines, nil)
	})
}

// called has home call it, and answers with say.
func (l *liar) called(say func(m *nats.Msg, answer string)) error {
	return l.calledBy(httptest.NewRecorder(), say)
}

// calledBy is called with the writer of home's answer.
func (l *liar) calledBy(w http.ResponseWriter, say func(m *nats.Msg, answer string)) error {
	asked := make(chan *nats.Msg, 1)
	sub, err := l.conn.Subscribe(l.below("call.*.begin"), func(m *nats.Msg) { asked <- m })
	require.NoError(l.t, err)
	defer sub.Unsubscribe()
	require.NoError(l.t, l.conn.FlushWithContext(l.bound()))
	done := make(chan error, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- http.ErrAbortHandler
			}
		}()
		done <- l.home.Call(w, httptest.NewRequest("GET", "/api/sessions/"+l.session, nil), l.id, Caller{Name: "ann"})
	}()
	m := <-asked
	say(m, l.below("answer."+strings.Split(m.Subject, ".")[3]))
	return <-done
}

func stored(body string) []byte { return logfile.AppendStored(nil, []byte(body)) }

const noteAt = `"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{}`

// A machine that lies is refused, counted with words, and cut off at the third time. Home's
// other machine goes on.
func TestALyingMachineIsRefusedCountedAndCutOff(t *testing.T) {
	p := newPair(t)
	dir := t.TempDir()
	id, log := p.newLog(dir)
	p.hub.set([]state.Info{lineOf(id)})
	p.join(AllowRead)
	p.upToListed(id)
	own := "20261129-000000-000000ff"
	p.home.has = func(id string) bool { return id == own }
	other := below(machineID, "")
	for number, row := range []struct {
		name string
		why  string
		lie  func(l *liar)
	}{
		{"a gap in seqs", "seq 5, after 3", func(l *liar) {
			l.says(func(lines [][]byte) [][]byte { return [][]byte{lines[0], lines[1], lines[2], lines[4]} })
		}},
		{"seq 0", "not as a log stores it", func(l *liar) {
			l.says(func(lines [][]byte) [][]byte { return [][]byte{lines[0], stored(`{"seq":0,` + noteAt + `}`)} })
		}},
		{"a wrong checksum", "not as a log stores it", func(l *liar) {
			l.says(func(lines [][]byte) [][]byte {
				wrong := bytes.Clone(lines[1])
				wrong[len(wrong)/2] ^= 1
				return [][]byte{lines[0], wrong}
			})
		}},
		{"an epoch that is none", "epoch that is none", func(l *liar) {
			l.watched(func(readHead) (linesHead, []byte) { return linesHead{Epoch: "../../../../evil"}, nil })
		}},
		{"a log of another epoch in the middle", "after 5", func(l *liar) {
			l.says(func(lines [][]byte) [][]byte { return append(lines, lines[0]) })
		}},
		{"lines of another session", "it is of session", func(l *liar) {
			l.says(func(lines [][]byte) [][]byte {
				at := bytes.LastIndex(lines[0], []byte(`,"crc":"`))
				return [][]byte{stored(strings.ReplaceAll(string(lines[0][:at]), l.session, own) + "}")}
			})
		}},
		{"a line without an end", "it does not end", func(l *liar) {
			l.says(func(lines [][]byte) [][]byte { return [][]byte{bytes.TrimSpace(lines[0])} })
		}},
		{"more lines than were asked for", "more than was asked for", func(l *liar) {
			l.watched(func(readHead) (linesHead, []byte) { return linesHead{File: 1}, make([]byte, 2<<20) })
		}},
		{"a state that is no JSON", "wrong answer of a read", func(l *liar) {
			l.conn.Subscribe(l.below("read"), func(m *nats.Msg) { m.Respond([]byte("{\"state\":\n")) })
			l.watched(nil)
		}},
		{"../ as id", "wrong id", func(l *liar) { l.list(rowText("../../../../etc/x", "")) }},
		{"a row of another machine", "a row of another machine", func(l *liar) { l.list(rowText(l.session, `,"machine":{"id":"`+machineID+`"}`)) }},
		{"a negative count", "wrong number", func(l *liar) { l.list(rowText(l.session, `,"event_count":-1`)) }},
		{"a seq beyond what screens count", "wrong number", func(l *liar) { l.list(rowText(l.session, `,"max_seq":9007199254740993`)) }},
		{"a row with no epoch for one", "wrong epoch", func(l *liar) { l.list(rowText(l.session, `,"epoch":"x"`)) }},
		{"a time that is none in UTC", "wrong time", func(l *liar) { l.list(rowText(l.session, `,"updated_at":"9999-12-31T23:59:59-23:59"`)) }},
		{"a time before there were computers", "wrong time", func(l *liar) { l.list(rowText(l.session, `,"created_at":"0001-01-01T00:00:00+01:00"`)) }},
		{"a row that is too long", "too long", func(l *liar) { l.list(rowText(l.session, `,"name":"`+strings.Repeat("n", mostRowBytes)+`"`)) }},
		{"a row that is long in memory", "too long", func(l *liar) {
			l.list(rowText(l.session, `,"forks":[{}`+strings.Repeat(",{}", mostRowBytes/10)+`]`))
		}},
		{"rows that are no JSON", "without its line", func(l *liar) { l.publish(l.below("rows"), []byte("rows")) }},
		{"a message of 2 MiB", "too large", func(l *liar) { l.list(rowText(l.session, `,"name":"`+strings.Repeat("n", 2<<20)+`"`)) }},
		{"a message that the engine does not take", "too large", func(l *liar) {
			require.NoError(l.t, l.conn.FlushWithContext(l.bound()))
			_, err := fmt.Fprintf(l.socket, "PUB %s %d\r\n", l.below("rows"), mostMessage+1)
			require.NoError(l.t, err)
			<-l.closed
		}},
		{"another hello", "wrong hello", func(l *liar) {
			l.publish(l.below("hello"), message(hello{Protocol: protocol, Allow: AllowManage}, nil))
		}},
		{"publishing as another machine", "not its own", func(l *liar) { l.publish(other+"rows", []byte(`{"first":true}`+"\n")) }},
		{"publishing a call", "not its own", func(l *liar) { l.publish(other+"call.1.begin", []byte("{}\n")) }},
		{"a system subject", "not its own", func(l *liar) { l.publish("$SYS.REQ.SERVER.PING", nil) }},
		{"hearing another machine", "not its own", func(l *liar) { l.hear(other + ">") }},
		{"hearing all", "not its own", func(l *liar) { l.hear(">") }},
		{"hearing every machine", "not its own", func(l *liar) { l.hear("m.*.call.>") }},
		{"hearing the system", "not its own", func(l *liar) { l.hear("$SYS.>") }},
		{"home's answer for another machine", "answered elsewhere", func(l *liar) {
			require.NoError(l.t, l.conn.PublishRequest(l.below("rows"), other+"rows", []byte("{}\n")))
		}},
		{"home's answer into home's own inbox", "answered elsewhere", func(l *liar) {
			require.NoError(l.t, l.conn.PublishRequest(l.below("hello"), l.below("rows"), []byte("{}\n")))
		}},
		{"an answer nobody asked for", "nobody asked for", func(l *liar) { l.publish(l.below("answer.99"), []byte(`{"status":200}`+"\n")) }},
		{"an answer to no number", "nobody asked for", func(l *liar) { l.publish(l.below("answer.x"), []byte(`{"status":200}`+"\n")) }},
		{"an answer that begins in its middle", "in no order", func(l *liar) {
			require.ErrorIs(l.t, l.called(func(_ *nats.Msg, answer string) { l.publish(answer, []byte(`{"more":true}`+"\n")) }), ErrOpen)
		}},
		{"an answer that begins twice", "in no order", func(l *liar) {
			require.ErrorIs(l.t, l.called(func(_ *nats.Msg, answer string) {
				_, _ = l.conn.RequestWithContext(l.bound(), answer, []byte(`{"status":200,"more":true}`+"\n"))
				l.publish(answer, []byte(`{"status":201}`+"\n"))
			}), http.ErrAbortHandler)
		}},
		{"an answer that switches protocols", "in no order", func(l *liar) {
			require.ErrorIs(l.t, l.called(func(_ *nats.Msg, answer string) { l.publish(answer, []byte(`{"status":101}`+"\n")) }), ErrOpen)
		}},
		{"an answer that does not wait", "do not wait", func(l *liar) {
			require.ErrorIs(l.t, l.called(func(_ *nats.Msg, answer string) { l.publish(answer, []byte(`{"status":200,"more":true}`+"\n")) }), ErrOpen)
		}},
		{"an answer that asks for the next before it is read", "do not wait", func(l *liar) {
			reader := slowReader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
			require.ErrorIs(l.t, l.calledBy(reader, func(_ *nats.Msg, answer string) {
				for n := range 3 {
					require.NoError(l.t, l.conn.PublishRequest(answer, l.below("machine.x"), []byte(`{"status":200,"more":true}`+"\n")))
					if n == 0 {
						<-reader.begun
					}
				}
				l.await(func(m Machine) bool { return m.Refused > l.times })
				close(reader.reads)
			}), http.ErrAbortHandler)
		}},
		{"an answer in parts that are too large", "too large", func(l *liar) {
			require.Error(l.t, l.called(func(_ *nats.Msg, answer string) {
				l.publish(answer, append([]byte(`{"status":200,"more":true}`+"\n"), make([]byte, 2<<20)...))
			}))
		}},
		{"another log, again and again", "another log, again", func(l *liar) {
			good := true
			l.watched(func(q readHead) (linesHead, []byte) {
				if good = !good; q.Sum == "" && q.After == 0 {
					return linesHead{File: 1, Last: 5}, bytes.Join(l.lines, nil)
				}
				return linesHead{Other: true}, nil
			})
			for { // whoever looks again
				changed := l.home.Changed()
				if l.seen() > l.times {
					break
				}
				c, err := l.home.Watch(l.session)
				require.NoError(l.t, err)
				select {
				case <-c.Done():
				case <-changed:
				}
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := p.newLiar(t, number)
			for l.times = 0; l.times < mostRefused; l.times = l.seen() {
				l.connected()
				row.lie(l)
				l.await(func(m Machine) bool { return m.Refused > l.times })
			}
			m := l.await(func(m Machine) bool { return !m.Connected })
			require.Contains(t, m.Problem, row.why)
			d, err := dialerTo(p.server.URL, "", dialBound)
			require.NoError(t, err)
			_, err = d.connect(t.Context(), l.id, "r", l.secret)
			require.ErrorContains(t, err, row.why, "it is told why")
			require.NoDirExists(t, filepath.Join(p.dir, "copies", l.id, "..", "..", "etc"))
			p.upTo(id, p.write(log, row.name))
		})
	}
	t.Cleanup(func() {
		require.Equal(t, filesOf(t, filepath.Join(dir, "sessions", id)), filesOf(t, filepath.Join(p.dir, "copies", machineID, id)))
		m := p.until(func(m Machine) bool { return m.Connected })
		require.Zero(t, m.Refused)
		require.Empty(t, m.Problem)
	})
}

// slowReader takes an answer when it is let.
type slowReader struct {
	*httptest.ResponseRecorder
	begun, reads chan struct{}
}

func (s slowReader) WriteHeader(status int) {
	close(s.begun)
	<-s.reads
	s.ResponseRecorder.WriteHeader(status)
}

// seen is how often home refused what it said.
func (l *liar) seen() int {
	m, err := l.home.Machine(l.id)
	require.NoError(l.t, err)
	return m.Refused
}

func (l *liar) hear(subject string) {
	_, err := l.conn.Subscribe(subject, func(*nats.Msg) { l.t.Error("it hears what is not its own") })
	require.NoError(l.t, err)
}

// upToListed waits until home lists a session.
func (p *pair) upToListed(id string) {
	p.t.Helper()
	limit := time.After(patience)
	for {
		changed := p.home.LinesChanged()
		if _, _, known := p.home.Of(id); known {
			return
		}
		select {
		case <-changed:
		case <-limit:
			require.Fail(p.t, "it is not listed")
		}
	}
}

// The sessions of home and of its other machines stay theirs.
func TestASessionOfAnotherStaysTheirsWhateverAMachineLists(t *testing.T) {
	p := newPair(t)
	own := "20261129-000000-000000ff"
	p.home.has = func(id string) bool { return id == own }
	p.hub.set([]state.Info{lineOf(idA)})
	p.join(AllowRead)
	p.upToListed(idA)
	l := p.newLiar(t, 0).connected()
	l.list(rowText(idA, `,"name":"mine"`), rowText(own, `,"name":"mine"`), rowText(l.session, ""))
	p.upToListed(l.session)
	of, line, _ := p.home.Of(idA)
	require.Equal(t, machineID, of.ID)
	require.Empty(t, line.Name)
	_, _, known := p.home.Of(own)
	require.False(t, known)
	require.Len(t, p.lines(), 2)
	require.Contains(t, l.await(func(m Machine) bool { return m.Problem != "" }).Problem, "1 of its sessions")
	l.publish(l.below("rows"), []byte(fmt.Sprintf(`{"gone":[%q,%q,"../../x"]}`+"\n", idA, own)))
	l.list()
	limit := time.After(patience)
	for len(p.lines()) > 1 {
		select {
		case <-p.home.LinesChanged():
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			require.Fail(t, "its session stays")
		}
	}
	p.upToListed(idA)
}

// A million rows are refused at the limit, and take bounded memory.
func TestAMillionRowsAreRefusedAtTheLimit(t *testing.T) {
	t.Parallel()
	r := newRows()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	refused := 0
	for i := range 1000 {
		m := rowsMessage{First: i == 0, More: true}
		for j := range 1000 {
			m.Rows = append(m.Rows, state.Info{SessionID: fmt.Sprintf("20261129-000000-%08x", i*1000+j)})
		}
		if _, err := r.take("x", m); err != nil {
			require.ErrorIs(t, err, errManyRows)
			refused++
		}
		if refused >= mostRefused { // it is cut off
			break
		}
	}
	require.Equal(t, mostRefused, refused)
	require.Len(t, r.all, mostRows)
	_, err := r.take("x", rowsMessage{Rows: []state.Info{{SessionID: "20261129-000000-00000000", Name: "changed"}}})
	require.NoError(t, err, "what is listed changes all the same")
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(150<<20))
	require.Equal(t, mostRows, r.counts["x"])

	r = newRows()
	r.bytes["y"] = mostRowsBytes - 4<<20
	for i := 0; ; i++ {
		_, err = r.take("y", rowsMessage{Rows: []state.Info{{SessionID: fmt.Sprintf("20261129-000000-%08x", i), Name: strings.Repeat("n", mostRowBytes/2)}}})
		if err != nil {
			break
		}
		require.Less(t, i, 2*(4<<20)/mostRowBytes+1)
	}
	require.ErrorIs(t, err, errManyRows)
	r.forget("y")
	require.Zero(t, r.bytes["y"])
}

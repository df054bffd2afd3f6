package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// same compares a client's events with the log, without printing both.
func same(t *testing.T, want, got []event.Event) {
	t.Helper()
	require.Equal(t, seqs(want), seqs(got))
	for i := range want {
		require.Equal(t, want[i].Seq, got[i].Seq)
		require.Equal(t, want[i].Type, got[i].Type)
		require.JSONEq(t, string(want[i].Data), string(got[i].Data))
	}
}

func TestABurstOf20000ReachesTenClientsWholeAndInOrder(t *testing.T) {
	h, writes := hubWithLateWrites(t, hubOptions{})
	s := h.session()
	const burst = 20_000
	path := "/api/sessions/" + s.ID() + "/ws?after_seq=0"
	never := h.dial(path) // it does not read
	stuck := writes.newest()
	var wait sync.WaitGroup
	seen := make([][]byte, 9)
	for i := range seen {
		p := h.dial(path)
		wait.Go(func() {
			ended := false
			for cursor := event.Seq(0); !ended; {
				if i == 0 && cursor < burst/2 {
					time.Sleep(time.Millisecond) // the slow client
				}
				head, events := p.rawEvents()
				if head.FirstSeq != cursor+1 {
					t.Errorf("client %d: %d after %d", i, head.FirstSeq, cursor)
					return
				}
				cursor = head.LastSeq
				ended = bytes.Contains(events, []byte(`"type":"turn_end"`))
				seen[i] = append(append(seen[i], events...), ',')
			}
		})
	}
	start := time.Now()
	h.prompt(s, "p1", fmt.Sprintf("say %d", burst))
	recorded := time.Since(start)
	wait.Wait()
	t.Logf("recorded in %v, shown in %v", recorded, time.Since(start))
	require.Greater(t, len(h.events(s)), burst)
	log := wireForm(t, h, s.ID())
	for i := range seen {
		require.True(t, bytes.Equal(log, seen[i]), "client %d: %d bytes for %d", i, len(seen[i]), len(log))
	}
	// The client that does not read has not slowed the others, and the hub
	// disconnects it.
	require.Eventually(t, func() bool {
		stuck.lapseIfStuck()
		return strings.Contains(h.api("GET", "/api/health", nil).body, `"clients":9`)
	}, patience, 20*time.Millisecond)
	never.conn.CloseNow()
}

// rawEvents returns the head of the next events frame, and its events as sent.
func (p *peer) rawEvents() (head wire.Events, events []byte) {
	p.t.Helper()
	for {
		_, data, err := p.conn.Read(p.ctx)
		require.NoError(p.t, err)
		before, after, ok := bytes.Cut(data, []byte(`,"events":[`))
		if !ok || !bytes.HasPrefix(data, []byte(`{"type":"events",`)) {
			continue
		}
		require.NoError(p.t, json.Unmarshal(append(before, '}'), &head))
		return head, bytes.TrimSuffix(after, []byte("]}"))
	}
}

// wireForm returns the log as clients receive it: lines without checksums, each
// followed by a comma.
func wireForm(t *testing.T, h *hub, id string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "sessions", id, "events.jsonl"))
	require.NoError(t, err)
	return regexp.MustCompile(`,"crc":"[0-9a-f]{8}"}\n`).ReplaceAll(data, []byte("},"))
}

func TestFault28ReconnectDuringAnAppendStormIsContiguous(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	const storm = 5_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.prompt(s, "p1", fmt.Sprintf("say %d", storm))
	}()
	var wait sync.WaitGroup
	for client := range 4 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(client), 1))
			var all []event.Event
			rounds := 0
			for len(all) == 0 || all[len(all)-1].Type != event.TypeTurnEnd {
				rounds++
				cursor := event.Seq(len(all))
				p := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=%d&epoch=%s", s.ID(), cursor, s.Log().Epoch()))
				loaded := find[*wire.EventsLoaded](p, nil) // frames of the session list may come first
				if loaded.Verdict != wire.VerdictOK {
					t.Errorf("verdict %s %s at %d", loaded.Verdict, loaded.Reason, cursor)
					return
				}
				for range 1 + random.IntN(20) {
					m := find[*wire.Events](p, nil)
					if m.FirstSeq != cursor+1 {
						t.Errorf("client %d: %d after %d", client, m.FirstSeq, cursor)
						return
					}
					all = append(all, m.Events...)
					cursor = m.LastSeq
					if all[len(all)-1].Type == event.TypeTurnEnd {
						break
					}
				}
				p.conn.CloseNow()
			}
			same(t, h.events(s), all)
			t.Logf("client %d: %d connections", client, rounds)
		})
	}
	wait.Wait()
	<-done
}

// TestFault29AStoppedClientIsLetGoAndDelaysNobody stops one client from reading.
// The hub closes its socket within the write deadline, and the others are not
// delayed.
func TestFault29AStoppedClientIsLetGoAndDelaysNobody(t *testing.T) {
	h, writes := hubWithLateWrites(t, hubOptions{})
	s := h.session()
	stopped := h.dial("/api/sessions/" + s.ID() + "/ws")
	stuck := writes.newest()
	healthy := h.dial("/api/sessions/" + s.ID() + "/ws?after_seq=0")
	received := make(chan event.Seq, 1)
	go func() {
		defer close(received)
		for {
			m := find[*wire.Events](healthy, nil)
			if m.Events[len(m.Events)-1].Type == event.TypeTurnEnd {
				received <- m.LastSeq
				return
			}
		}
	}()
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p1", Text: "say 20000"})
	require.NoError(t, err)
	require.Equal(t, h.await(s, 0, event.TypeTurnEnd).Seq, <-received, "while the other is stuck")
	require.Eventually(t, func() bool {
		stuck.lapseIfStuck()
		return strings.Contains(h.api("GET", "/api/health", nil).body, `"clients":1`)
	}, patience, 10*time.Millisecond)
	require.NotEqual(t, websocket.StatusNormalClosure, stopped.closed())
}

// TestFault30AHalfOpenConnectionIsFreed has a peer that disappeared without a
// close. The hub's ping detects it.
func TestFault30AHalfOpenConnectionIsFreed(t *testing.T) {
	t.Parallel() // it waits for a pong deadline that a slow machine can meet
	h := startHub(t, hubOptions{timing: server.Timing{Ping: 50 * time.Millisecond, Write: 3 * time.Second}})
	alive := h.dial("/api/ws")
	var wait sync.WaitGroup
	wait.Go(func() { // the library answers pings while it reads
		for {
			if _, _, err := alive.conn.Read(alive.ctx); err != nil {
				return
			}
		}
	})
	// This client sends nothing after the handshake, also no pong.
	conn, r, _ := rawSocket(t, h, "")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.Copy(io.Discard, r)
	require.NoError(t, err, "the hub did not close the silent connection")
	// Meanwhile the other client has answered many pings.
	require.Eventually(t, func() bool { return strings.Contains(h.api("GET", "/api/health", nil).body, `"clients":1`) }, patience, 5*time.Millisecond)
	alive.conn.CloseNow()
	wait.Wait()
}

func TestAFrameSaysHowFarTheLogIsNow(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p0", "say 3000")
	stuck(t, h, s) // so that frames are cached for others
	before := s.Log().Marks().Visible
	h.prompt(s, "p1", "hi")
	path := fmt.Sprintf("/api/sessions/%s/ws?after_seq=%d&epoch=%s", s.ID(), before, s.Log().Epoch())
	first := find[*wire.Events](h.dial(path), nil)
	// Fewer frames than the cache holds, so that the first one is still in it.
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p2", Text: "hold"})
	require.NoError(t, err)
	h.await(s, first.LastSeq, event.TypeTurnStart)
	now := s.Log().Marks().Visible
	require.Greater(t, now, first.MaxSeq)
	require.Equal(t, now, find[*wire.Events](h.dial(path), nil).MaxSeq)
}

func TestASharedFrameNeverTellsAClientLessThanItHasHeard(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	path := "/api/sessions/" + s.ID() + "/ws?after_seq=0&epoch=" + s.Log().Epoch()
	// First events for full frames, then few enough to leave those frames in the
	// cache for the next client.
	for n, text := range []string{"say 3000", "hi"} {
		h.prompt(s, fmt.Sprintf("p%d", n), text)
		if n == 0 {
			stuck(t, h, s) // so that frames are cached for others
		}
		client := h.dial(path)
		heard := find[*wire.EventsLoaded](client, nil).MaxSeq
		require.Equal(t, s.Log().Marks().Visible, heard)
		for last := event.Seq(0); last < heard; {
			frame := find[*wire.Events](client, nil)
			require.Equal(t, last+1, frame.FirstSeq)
			require.GreaterOrEqual(t, frame.MaxSeq, heard)
			heard, last = frame.MaxSeq, frame.LastSeq
		}
	}
}

func TestASlowLinkGetsThroughABacklog(t *testing.T) {
	t.Parallel() // it waits for the slow link
	// A full frame takes this link most of the write deadline.
	h := startHub(t, hubOptions{timing: server.Timing{Write: 2 * time.Second}})
	s := h.session()
	h.prompt(s, "p1", "say 1500")
	slow := &slowConn{rate: 40 << 10}
	client := &http.Client{Transport: &http.Transport{DialContext: slow.dial}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	var all []event.Event
	for rounds := 0; len(all) == 0 || all[len(all)-1].Type != event.TypeTurnEnd; rounds++ {
		require.Less(t, rounds, 10, "too many connections: each must make progress")
		conn, _, err := websocket.Dial(ctx, fmt.Sprintf("ws://%s/api/sessions/%s/ws?after_seq=%d&epoch=%s", h.addr, s.ID(), len(all), s.Log().Epoch()),
			&websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Authorization": {"Bearer " + h.token}}})
		require.NoError(t, err)
		conn.SetReadLimit(-1)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				break
			}
			m, err := wire.DecodeServer(data)
			require.NoError(t, err)
			if events, ok := m.(*wire.Events); ok {
				require.Equal(t, event.Seq(len(all)+1), events.FirstSeq)
				all = append(all, events.Events...)
				if all[len(all)-1].Type == event.TypeTurnEnd {
					break
				}
			}
		}
		conn.CloseNow()
	}
	same(t, h.events(s), all)
}

// slowConn is a connection with a small window that is read at a limited rate.
type slowConn struct {
	net.Conn
	rate int
	next time.Time // when the simulated link has delivered the bytes read
}

func (s *slowConn) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return nil, err
	}
	return &slowConn{Conn: conn, rate: s.rate}, nil
}

func (s *slowConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p[:min(len(p), 2<<10)])
	if now := time.Now(); s.next.Before(now.Add(-time.Second)) {
		s.next = now // do not catch up after an idle time
	}
	s.next = s.next.Add(time.Duration(n) * time.Second / time.Duration(s.rate))
	time.Sleep(time.Until(s.next))
	return n, err
}

func TestASocketFollowsAtMost64Sessions(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	for i := range 65 {
		id := h.session().ID()
		p.send(&wire.Observe{RequestID: "r", SessionID: id})
		if i < 64 {
			find(p, func(m *wire.EventsLoaded) bool { return m.SessionID == id })
			continue
		}
		require.Equal(t, wire.CodeBusy, find[*wire.Error](p, nil).Code)
	}
}

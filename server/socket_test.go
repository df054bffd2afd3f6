package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	sessionstate "github.com/abidehub/abide/session/state"
)

func TestObserveAnswersVerdictThenStateThenEvents(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 10")
	log := h.events(s)
	last := log[len(log)-1].Seq

	p := h.dial("/api/ws")
	p.send(&wire.Observe{RequestID: "r1", SessionID: s.ID(), AfterSeq: ptr(event.Seq(3)), Epoch: s.Log().Epoch()})
	loaded := expect[*wire.EventsLoaded](p)
	require.Equal(t, wire.EventsLoaded{
		RequestID: "r1", SessionID: s.ID(), Verdict: wire.VerdictOK, Epoch: s.Log().Epoch(),
		FirstSeq: 4, LastSeq: 3, MinSeq: 1, MaxSeq: last, HasMore: true, Events: []event.Event{},
	}, *loaded)
	state := expect[*wire.State](p)
	require.Equal(t, sessionstate.TurnIdle, state.Turn.State)
	require.NotNil(t, state.Queue)
	require.NotNil(t, state.PendingPermissions)
	require.Equal(t, log[3:], p.collect(3, last))
}

func TestObserveWithTailAnswersTheNewestPage(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 100")
	log := h.events(s)
	last := log[len(log)-1].Seq
	p := h.dial("/api/ws")
	for _, c := range []struct {
		tail *int
		want int
	}{{nil, 50}, {ptr(7), 7}, {ptr(500), len(log)}, {ptr(0), 0}} {
		p.send(&wire.Observe{RequestID: "r", SessionID: s.ID(), Tail: c.tail})
		loaded := find[*wire.EventsLoaded](p, nil)
		require.Equal(t, wire.VerdictOK, loaded.Verdict)
		require.Equal(t, seqs(log[len(log)-c.want:]), seqs(loaded.Events))
		require.Equal(t, last, loaded.LastSeq)
		require.Equal(t, c.want < len(log), loaded.HasMore)
	}
	h.prompt(s, "p2", "hi")
	require.Equal(t, h.events(s)[len(log):], p.collect(last, last+event.Seq(len(h.events(s))-len(log))))
}

// Fault 27, and the other cursors that a server must not guess about.
func TestABadCursorIsResetOrRefused(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 100")
	epoch := s.Log().Epoch()
	log := h.events(s)
	last := log[len(log)-1].Seq
	head := `{"request_id":"r","session_id":"` + s.ID() + `",`
	observe, load := head+`"type":"observe",`, head+`"type":"load_events",`
	for _, c := range []struct{ name, frame, want string }{
		{"beyond the log", observe + fmt.Sprintf(`"after_seq":%d,"epoch":"%s"}`, last+1, epoch), "ahead"},
		{"huge", observe + `"after_seq":9007199254740991,"epoch":"` + epoch + `"}`, "ahead"},
		{"another epoch", observe + `"after_seq":3,"epoch":"0000000000000000"}`, "epoch"},
		{"negative", observe + `"after_seq":-1,"epoch":"` + epoch + `"}`, "invalid"},
		{"float", observe + `"after_seq":1.5,"epoch":"` + epoch + `"}`, "invalid"},
		{"text", observe + `"after_seq":"1","epoch":"` + epoch + `"}`, "invalid"},
		{"above 64 bits", observe + `"after_seq":99999999999999999999,"epoch":"` + epoch + `"}`, "invalid"},
		{"no epoch", observe + `"after_seq":3}`, "invalid"},
		{"from the beginning, no epoch", observe + `"after_seq":0}`, "ok"},
		{"null is missing", observe + `"after_seq":null}`, "ok"},
		{"both", observe + `"after_seq":3,"tail":5,"epoch":"` + epoch + `"}`, "invalid"},
		{"negative tail", observe + `"tail":-1}`, "invalid"},
		{"huge tail", observe + `"tail":501}`, "invalid"},

		{"load beyond the log", load + fmt.Sprintf(`"after_seq":%d}`, last+1), "ahead"},
		{"load before what is beyond the log", load + fmt.Sprintf(`"before_seq":%d}`, last+2), "ahead"},
		{"load of another epoch", load + `"before_seq":9,"epoch":"0000000000000000"}`, "epoch"},
		{"load both", load + `"after_seq":3,"before_seq":9}`, "invalid"},
		{"load neither", load + `"limit":5}`, "invalid"},
		{"load negative", load + `"after_seq":-1}`, "invalid"},
		{"load before nothing", load + `"before_seq":0}`, "invalid"},
		{"load too many", load + `"after_seq":0,"limit":501}`, "invalid"},
		{"load a negative number", load + `"after_seq":0,"limit":-1}`, "invalid"},
		{"load at the end", load + fmt.Sprintf(`"after_seq":%d}`, last), "ok"},
		{"load before the first", load + `"before_seq":1}`, "ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := h.dial("/api/ws")
			p.sendRaw(c.frame)
			switch m := p.next().(type) {
			case *wire.Error:
				require.Equal(t, c.want, string(m.Code), m.Message)
				require.Equal(t, "r", m.RequestID)
			case *wire.EventsLoaded:
				if c.want == "ok" {
					require.Equal(t, wire.VerdictOK, m.Verdict)
					break
				}
				require.Equal(t, wire.VerdictReset, m.Verdict)
				require.Equal(t, c.want, string(m.Reason))
				require.Equal(t, seqs(log[len(log)-50:]), seqs(m.Events), "a reset brings the newest page")
				require.Equal(t, epoch, m.Epoch)
				require.False(t, m.Prepend)
			default:
				t.Fatalf("answered with %s", m.MessageType())
			}
			p.send(&wire.Ping{Nonce: "alive"})
			require.Equal(t, "alive", find[*wire.Pong](p, nil).Nonce, "the socket was closed")
		})
	}
}

func TestAfterAResetTheSocketFollowsOn(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 10")
	p := h.dial("/api/sessions/" + s.ID() + "/ws?after_seq=3&epoch=ffffffffffffffff")
	loaded := expect[*wire.EventsLoaded](p)
	require.Equal(t, wire.VerdictReset, loaded.Verdict)
	require.Empty(t, loaded.RequestID)
	h.prompt(s, "p2", "say 10")
	log := h.events(s)
	require.Equal(t, log[loaded.LastSeq:], p.collect(loaded.LastSeq, log[len(log)-1].Seq))
}

func TestABadMessageIsAnsweredAndTheSocketLives(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	id := s.ID()
	for _, c := range []struct{ name, frame, want string }{
		{"not JSON", `hello`, "invalid"},
		{"not an object", `[1,2]`, "invalid"},
		{"no type", `{"session_id":"` + id + `"}`, "invalid"},
		{"type of a wrong type", `{"type":7}`, "invalid"},
		{"field of a wrong type", `{"type":"cancel","session_id":7}`, "invalid"},
		{"unknown session", `{"type":"observe","request_id":"r","session_id":"20260101-000000-00000000"}`, "gone"},
		{"unknown session, prompt", `{"type":"prompt","request_id":"r","session_id":"20260101-000000-00000000","prompt_id":"p","text":"x"}`, "gone"},
		{"unknown session, load", `{"type":"load_events","request_id":"r","session_id":"20260101-000000-00000000","after_seq":0}`, "gone"},
		{"bad id", `{"type":"observe","request_id":"r","session_id":"../../etc"}`, "invalid"},
		{"empty id", `{"type":"prompt","request_id":"r","session_id":"","prompt_id":"p","text":"x"}`, "invalid"},
		{"id with a NUL", `{"type":"observe","session_id":"aaaaaaaa\u0000"}`, "invalid"},
		{"prompt without an id", `{"type":"prompt","session_id":"` + id + `","text":"x"}`, "invalid"},
		{"prompt without text", `{"type":"prompt","session_id":"` + id + `","prompt_id":"p"}`, "invalid"},
		{"unknown when", `{"type":"prompt","session_id":"` + id + `","prompt_id":"p","text":"x","when":"later"}`, "invalid"},
		{"unknown permission", `{"type":"permission_answer","session_id":"` + id + `","permission_id":"nope","option_id":"yes"}`, "not_found"},
		{"unknown prompt in the queue", `{"type":"queue_remove","session_id":"` + id + `","prompt_id":"nope"}`, "not_found"},
		{"negative position", `{"type":"queue_move","session_id":"` + id + `","prompt_id":"nope","position":-1}`, "invalid"},
		{"unknown activity", `{"type":"presence","session_id":"` + id + `","activity":"dancing"}`, "invalid"},
		{"option of a wrong type", `{"type":"set_config_option","session_id":"` + id + `","config_id":"m","value":{"a":1}}`, "invalid"},
		{"deep", `{"type":"set_config_option","session_id":"` + id + `","value":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := h.dial("/api/ws")
			p.sendRaw(c.frame)
			got := ""
			switch m := p.next().(type) {
			case *wire.Error:
				got = string(m.Code)
				require.NotEmpty(t, m.Message)
			case *wire.SessionGone:
				got = "gone"
				require.Equal(t, "r", m.RequestID)
			}
			require.Equal(t, c.want, got)
			p.send(&wire.Ping{Nonce: "alive"})
			require.Equal(t, "alive", expect[*wire.Pong](p).Nonce)
		})
	}
	require.Len(t, h.events(s), 1, "none of it reached the log")
}

func TestUnknownMessagesAreIgnoredAndCounted(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	p.sendRaw(`{"type":"from_the_future","session_id":7}`)
	p.sendRaw(`{"type":"ping","nonce":"n","from_the_future":true}`)
	require.Equal(t, "n", expect[*wire.Pong](p).Nonce)
	require.Contains(t, h.api("GET", "/api/health", nil).body, `"ignored_messages":1`)
}

func TestAFrameOverTheLimitClosesWith1009(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	require.NoError(t, p.conn.Write(p.ctx, websocket.MessageText, make([]byte, wire.MaxClientFrame+1)))
	require.Equal(t, websocket.StatusMessageTooBig, p.closed())
}

func TestAFrameAtTheLimitIsRead(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	frame := `{"type":"ping","nonce":"n","pad":"`
	p.sendRaw(frame + strings.Repeat("x", wire.MaxClientFrame-len(frame)-2) + `"}`)
	require.Equal(t, "n", expect[*wire.Pong](p).Nonce)
}

func TestABinaryFrameClosesWith4009(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	require.NoError(t, p.conn.Write(p.ctx, websocket.MessageBinary, []byte(`{"type":"ping","nonce":"n"}`)))
	require.EqualValues(t, wire.CloseProtocol, p.closed())
}

func TestAnUpgradeThatCannotBeIsRefusedBefore(t *testing.T) {
	h := startHub(t, hubOptions{})
	id := h.session().ID()
	auth := http.Header{"Authorization": {"Bearer " + h.token}}
	for path, want := range map[string]int{
		"/api/sessions/20260101-000000-00000000/ws":              404,
		"/api/sessions/short/ws":                                 400,
		"/api/sessions/" + id + "/ws?after_seq=-1&epoch=x":       400,
		"/api/sessions/" + id + "/ws?after_seq=1.5&epoch=x":      400,
		"/api/sessions/" + id + "/ws?after_seq=&epoch=x":         400,
		"/api/sessions/" + id + "/ws?after_seq=1":                400,
		"/api/sessions/" + id + "/ws?after_seq=1&epoch=x&tail=5": 400,
		"/api/sessions/" + id + "/ws?tail=x":                     400,
		"/api/sessions/" + id + "/ws?merge=perhaps":              400,
	} {
		_, status, err := h.tryDial(path, auth)
		require.Error(t, err)
		require.Equal(t, want, status, path)
	}
	res := h.api("GET", "/api/ws", nil)
	require.Equal(t, http.StatusUpgradeRequired, res.status)
	_, res2, err := websocket.Dial(context.Background(), "ws://"+h.addr+"/api/ws", &websocket.DialOptions{HTTPHeader: auth, Subprotocols: []string{"other.v9"}})
	require.Error(t, err)
	require.Equal(t, 400, res2.StatusCode)
}

func TestObserveAgainStartsOver(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 50")
	log := h.events(s)
	last := log[len(log)-1].Seq
	p := h.dial("/api/sessions/" + s.ID() + "/ws?after_seq=0")
	require.Equal(t, log, p.collect(0, last))
	for range 5 {
		p.send(&wire.Observe{RequestID: "again", SessionID: s.ID(), AfterSeq: ptr(event.Seq(5)), Epoch: s.Log().Epoch()})
		find(p, func(m *wire.EventsLoaded) bool { return m.RequestID == "again" })
		require.Equal(t, log[5:], p.collect(5, last))
	}
	p.send(&wire.Unobserve{SessionID: s.ID()})
	p.send(&wire.Ping{Nonce: "n"})
	require.Empty(t, find[*wire.Pong](p, nil).MaxSeq, "no session is followed")
	h.prompt(s, "p2", "hi")
	p.send(&wire.Ping{Nonce: "m"})
	for {
		switch m := p.next().(type) {
		case *wire.Pong:
			return
		case *wire.Events, *wire.State:
			t.Fatalf("%s after unobserve", m.MessageType())
		}
	}
}

func TestLoadEventsPagesBothWaysAndMovesNoCursor(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 95")
	log := h.events(s)
	last := log[len(log)-1].Seq
	p := h.dial("/api/sessions/" + s.ID() + "/ws?tail=0")
	require.Equal(t, last, expect[*wire.EventsLoaded](p).LastSeq)

	var back []event.Event
	for before := last + 1; ; {
		p.send(&wire.LoadEvents{RequestID: "b", SessionID: s.ID(), BeforeSeq: &before, Limit: 30, Epoch: s.Log().Epoch()})
		page := find[*wire.EventsLoaded](p, nil)
		require.True(t, page.Prepend)
		back = append(append([]event.Event{}, page.Events...), back...)
		before = page.FirstSeq
		if !page.HasMore {
			break
		}
		require.Len(t, page.Events, 30)
	}
	require.Equal(t, log, back)

	var forth []event.Event
	for after := event.Seq(0); ; {
		p.send(&wire.LoadEvents{RequestID: "a", SessionID: s.ID(), AfterSeq: &after, Limit: 30})
		page := find[*wire.EventsLoaded](p, nil)
		require.False(t, page.Prepend)
		forth = append(forth, page.Events...)
		after = page.LastSeq
		if !page.HasMore {
			break
		}
		require.Len(t, page.Events, 30)
	}
	require.Equal(t, log, forth)

	h.prompt(s, "p2", "hi")
	require.Equal(t, h.events(s)[last:], p.collect(last, last+event.Seq(len(h.events(s)))-last))
}

func TestABacklogComesInFramesOfBoundedSize(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3000")
	h.prompt(s, "p2", "big 200")
	h.prompt(s, "p3", "say 3000")
	log := h.events(s)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := h.dial("/api/sessions/" + s.ID() + "/ws?after_seq=0")
	var got []event.Event
	for frames := 0; len(got) < len(log); frames++ {
		_, data, err := p.conn.Read(ctx)
		require.NoError(t, err)
		m, err := wire.DecodeServer(data)
		require.NoError(t, err)
		if events, ok := m.(*wire.Events); ok {
			require.LessOrEqual(t, len(data), wire.MaxBacklogFrame)
			got = append(got, events.Events...)
		}
	}
	require.Equal(t, log, got)
}

func TestMergedBacklogCoversEverySeqAndLosesNoText(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3000")
	h.prompt(s, "p2", "say 10")
	log := h.events(s)
	last := log[len(log)-1].Seq
	texts := func(events []event.Event) map[string]string {
		m := map[string]string{}
		for _, e := range events {
			payload, err := e.Payload()
			require.NoError(t, err)
			if message, ok := payload.(event.AgentMessage); ok {
				m[message.MessageID] += string(message.Text)
			}
		}
		return m
	}
	// The cursor is in the middle of a message. No merge may cross it.
	const cursor = 500
	p := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=%d&epoch=%s&merge=true", s.ID(), cursor, s.Log().Epoch()))
	got := p.collect(cursor, last)
	require.Less(t, len(got), 30)
	require.Equal(t, texts(log[cursor:]), texts(got))

	p.send(&wire.LoadEvents{RequestID: "b", SessionID: s.ID(), BeforeSeq: ptr(event.Seq(cursor + 1)), Limit: 100, Merge: true})
	page := find[*wire.EventsLoaded](p, nil)
	require.Len(t, page.Events, 1)
	require.Equal(t, event.Seq(cursor-99), page.Events[0].FirstSeq)
	require.Equal(t, event.Seq(cursor), page.Events[0].Seq)
	require.Equal(t, texts(log[cursor-100:cursor]), texts(page.Events))

	h.prompt(s, "p3", "alternate 40")
	mixed := h.events(s)[last:]
	other := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=%d&epoch=%s&merge=true", s.ID(), last, s.Log().Epoch()))
	runs := other.collect(last, mixed[len(mixed)-1].Seq)
	require.Equal(t, texts(mixed), texts(runs))
	require.Len(t, runs, len(mixed)-20)

	for _, e := range p.collect(last, last+1) {
		require.Zero(t, e.FirstSeq, "a live event was merged")
	}
}

func TestASilentSocketHasAHeartbeat(t *testing.T) {
	const beats = 20 // at a hub's usual interval they would take minutes
	h := startHub(t, hubOptions{timing: server.Timing{Heartbeat: 50 * time.Millisecond}})
	s := h.session()
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	expect[*wire.EventsLoaded](p)
	expect[*wire.State](p)
	start := time.Now()
	for range beats {
		beat := find[*wire.Heartbeat](p, nil)
		require.Equal(t, map[string]event.Seq{s.ID(): 1}, beat.MaxSeq)
	}
	require.Less(t, time.Since(start), patience)
}

func TestThePongNamesEveryFollowedSession(t *testing.T) {
	h := startHub(t, hubOptions{})
	a, b := h.session(), h.session()
	p := h.dial("/api/sessions/" + a.ID() + "/ws")
	p.send(&wire.Observe{RequestID: "r", SessionID: b.ID()})
	find(p, func(m *wire.EventsLoaded) bool { return m.SessionID == b.ID() })
	h.prompt(b, "p1", "say 5")
	p.send(&wire.Ping{Nonce: "n1"})
	pong := find[*wire.Pong](p, nil)
	require.Equal(t, "n1", pong.Nonce)
	require.Equal(t, map[string]event.Seq{a.ID(): 1, b.ID(): event.Seq(len(h.events(b)))}, pong.MaxSeq)
}

func TestTheSessionListsNewsReachEverySocket(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	p.send(&wire.Ping{Nonce: "settled"})
	find[*wire.Pong](p, nil)
	s := h.session()
	info := find(p, func(m *wire.Session) bool { return m.Session.SessionID == s.ID() }).Session
	require.Equal(t, sessionstate.StatusIdle, info.Status)
	require.Equal(t, s.Log().Epoch(), info.Epoch)
	res := h.api("PATCH", "/api/sessions/"+s.ID(), map[string]any{"name": "Renamed", "pinned": true, "tags": []string{"release"}})
	require.Equal(t, 200, res.status, res.body)
	find(p, func(m *wire.Session) bool {
		return m.Session.Name == "Renamed" && m.Session.Pinned && slices.Equal(m.Session.Tags, []string{"release"})
	})
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+s.ID(), nil).status)
	find(p, func(m *wire.SessionGone) bool { return m.SessionID == s.ID() })
}

func TestADeletedSessionClosesItsOwnSocketWith4004(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	own := h.dial("/api/sessions/" + s.ID() + "/ws")
	tab := h.dial("/api/ws")
	tab.send(&wire.Observe{RequestID: "r", SessionID: s.ID()})
	find[*wire.State](tab, nil)
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+s.ID(), nil).status)
	find(own, func(m *wire.SessionGone) bool { return m.SessionID == s.ID() })
	require.EqualValues(t, wire.CloseSessionGone, own.closed())
	find(tab, func(m *wire.SessionGone) bool { return m.SessionID == s.ID() })
	tab.send(&wire.Ping{Nonce: "n"})
	require.Equal(t, "n", find[*wire.Pong](tab, nil).Nonce, "another session's socket lives")
}

func TestAPlannedEndSaysGoodbye(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.dial("/api/ws")
	go h.stop() // the test's clean-up waits for it
	bye := find[*wire.Goodbye](p, nil)
	require.Positive(t, bye.RetryAfterMS)
	require.Equal(t, websocket.StatusGoingAway, p.closed())
}

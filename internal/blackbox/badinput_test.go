package blackbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// wireTap is a raw WebSocket: the test writes the frames itself.
type wireTap struct {
	size int // of the last frame in bytes
	t    *testing.T
	conn *websocket.Conn
}

func (h *hub) raw(path string) *wireTap {
	h.t.Helper()
	conn, err := h.dial(path)
	require.NoError(h.t, err)
	h.t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(64 << 20)
	w := &wireTap{t: h.t, conn: conn}
	w.next("connected")
	return w
}

func (h *hub) dial(path string) (*websocket.Conn, error) {
	token := h.token()
	header := http.Header{"Authorization": {"Bearer " + token}}
	conn, res, err := websocket.Dial(h.t.Context(), "http://"+h.addr+path, &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
	if err != nil && res != nil {
		return nil, &client.RefusedError{Status: res.StatusCode}
	}
	return conn, err
}

func (w *wireTap) write(frame string) {
	w.t.Helper()
	require.NoError(w.t, w.conn.Write(w.t.Context(), websocket.MessageText, []byte(frame)))
}

// next reads until a frame of the type arrives.
func (w *wireTap) next(kind string) wire.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		_, frame, err := w.conn.Read(ctx)
		require.NoError(w.t, err, "waiting for %s", kind)
		m, err := wire.DecodeServer(frame)
		if errors.Is(err, wire.ErrUnknownType) {
			continue
		}
		require.NoError(w.t, err)
		if m.MessageType() == kind {
			w.size = len(frame)
			return m
		}
	}
}

func (w *wireTap) closed() websocket.StatusCode {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		if _, _, err := w.conn.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestEveryBadMessageGetsItsErrorAndTheSocketLives(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	w := h.raw("/api/ws")
	for name, c := range map[string]struct {
		frame string
		code  wire.Code
	}{
		"both of after and before": {`{"type":"load_events","request_id":"r","session_id":"%s","after_seq":1,"before_seq":2}`, wire.CodeInvalid},
		"neither":                  {`{"type":"load_events","request_id":"r","session_id":"%s"}`, wire.CodeInvalid},
		"a negative cursor":        {`{"type":"load_events","request_id":"r","session_id":"%s","after_seq":-1}`, wire.CodeInvalid},
		"a limit beyond the page":  {`{"type":"load_events","request_id":"r","session_id":"%s","after_seq":0,"limit":100000}`, wire.CodeInvalid},
		"a cursor of a fraction":   {`{"type":"load_events","request_id":"r","session_id":"%s","after_seq":1.5}`, wire.CodeInvalid},
		"a cursor beyond int64":    {`{"type":"load_events","request_id":"r","session_id":"%s","after_seq":99999999999999999999}`, wire.CodeInvalid},
		"an id that is a path":     {`{"type":"observe","request_id":"r","session_id":"../../etc/%s"}`, wire.CodeInvalid},
		"an empty prompt":          {`{"type":"prompt","request_id":"r","session_id":"%s","prompt_id":"p","text":""}`, wire.CodeInvalid},
		"a prompt without an id":   {`{"type":"prompt","request_id":"r","session_id":"%s","text":"hi"}`, wire.CodeInvalid},
		"nobody's permission":      {`{"type":"permission_answer","request_id":"r","session_id":"%s","permission_id":"x","option_id":"y"}`, wire.CodeNotFound},
		"not JSON":                 {`{"type":"ping"%s`, wire.CodeInvalid},
		"no type":                  {`{"request_id":"r","session_id":"%s"}`, wire.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			w.write(strings.Replace(c.frame, "%s", session.SessionID, 1))
			refused := w.next("error").(*wire.Error)
			require.Equal(t, c.code, refused.Code, refused.Message)
			w.write(`{"type":"ping","nonce":"alive"}`)
			w.next("pong")
		})
	}
	t.Run("an unknown session", func(t *testing.T) {
		w.write(`{"type":"observe","request_id":"r","session_id":"20260101-000000-00000000"}`)
		require.Equal(t, "20260101-000000-00000000", w.next("session_gone").(*wire.SessionGone).SessionID)
	})
	t.Run("a type of the future", func(t *testing.T) {
		w.write(`{"type":"from_the_future","request_id":"r"}`)
		w.write(`{"type":"ping","nonce":"alive"}`)
		w.next("pong")
	})
}

func TestABadCursorGetsAResetWithTheNewestPage(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/burst 100")
	c.untilTurnEnds("p1")
	newest := event.Seq(len(onDisk(t, h, session.SessionID)))
	for name, place := range map[string]struct {
		query  string
		reason wire.ResetReason
	}{
		"beyond the log": {"after_seq=1000000&epoch=" + session.Epoch, wire.ResetAhead},
		"another epoch":  {"after_seq=5&epoch=ffffffffffffffff", wire.ResetEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.in(t).raw("/api/sessions/" + session.SessionID + "/ws?" + place.query)
			loaded := w.next("events_loaded").(*wire.EventsLoaded)
			require.Equal(t, wire.VerdictReset, loaded.Verdict)
			require.Equal(t, place.reason, loaded.Reason)
			require.Equal(t, session.Epoch, loaded.Epoch)
			require.GreaterOrEqual(t, loaded.LastSeq, newest, "a workspace event may follow the turn")
			require.Len(t, loaded.Events, wire.DefaultPage)
			require.Equal(t, loaded.LastSeq, loaded.Events[len(loaded.Events)-1].Seq)
			w.write(fmt.Sprintf(`{"type":"load_events","request_id":"r","session_id":%q,"after_seq":0,"limit":500}`, session.SessionID))
			require.Equal(t, wire.VerdictOK, w.next("events_loaded").(*wire.EventsLoaded).Verdict)
		})
	}
}

func TestAWrongSocketAddressIsRefusedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	base := "/api/sessions/" + session.SessionID + "/ws"
	for query, status := range map[string]int{
		base + "?after_seq=-1":                          http.StatusBadRequest,
		base + "?after_seq=1.5":                         http.StatusBadRequest,
		base + "?after_seq=99999999999999999999":        http.StatusBadRequest,
		base + "?after_seq=x":                           http.StatusBadRequest,
		"/api/sessions/20260101-000000-00000000/ws":     http.StatusNotFound,
		"/api/sessions/..%2f..%2fetc/ws":                http.StatusBadRequest,
		"/api/sessions/UPPER-CASE-IS-NOT-AN-ID-0000/ws": http.StatusBadRequest,
	} {
		_, err := h.dial(query)
		refused := (*client.RefusedError)(nil)
		require.ErrorAs(t, err, &refused, query)
		require.Contains(t, []int{status, http.StatusNotFound}, refused.Status, query)
	}
}

func TestAFrameOverTheLimitClosesOnlyItsSocket(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	w := h.raw("/api/ws")
	frame := bytes.Repeat([]byte("x"), wire.MaxClientFrame+1)
	_ = w.conn.Write(t.Context(), websocket.MessageText, frame) // the hub may close the socket before all is written
	require.Contains(t, []websocket.StatusCode{websocket.StatusMessageTooBig, -1}, w.closed())
	binary := h.raw("/api/ws")
	require.NoError(t, binary.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping","nonce":"n"}`)))
	require.Equal(t, websocket.StatusCode(wire.CloseProtocol), binary.closed())
	c.prompt(session.SessionID, "p1", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)
	require.Equal(t, 1, c.connections())
}

// TestAnAgentThatCannotBeStartedSaysSoAndAPromptEndsItsTurn uses a missing agent
// program and one that exits at once.
func TestAnAgentThatCannotBeStartedSaysSoAndAPromptEndsItsTurn(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{agents: map[string]agent{
		"missing": {Command: []string{"/nonexistent/agent"}},
		"quits":   {Command: []string{"sh", "-c", "echo broken >&2; exit 7"}},
		"demo":    demo(),
	}})
	for _, name := range []string{"missing", "quits"} {
		session := h.create(name)
		c := h.screen(name, session, 0)
		_, err := c.socket().Prompt(t.Context(), wire.Prompt{SessionID: session.SessionID, PromptID: "p1", Text: "hi"})
		if err == nil {
			end := c.untilTurnEnds("p1")
			require.NotEqual(t, event.StopEndTurn, end.StopReason)
		}
		c.until("why the agent failed", func(events []event.Event, s *wire.State) bool {
			told := s != nil && s.Agent.Status == state.AgentFailed && s.Agent.Message != ""
			return told || len(payloads[event.Error](t, events))+len(payloads[event.AgentExit](t, events)) > 0
		})
	}
	session := h.create("demo")
	c := h.screen("demo", session, 0)
	c.prompt(session.SessionID, "p1", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)
}

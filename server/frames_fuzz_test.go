package server_test

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
)

// TestAnyFrameIsAnsweredOrIgnored sends the seeds of FuzzClientFrames.
func TestAnyFrameIsAnsweredOrIgnored(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for _, frame := range oddFrames(s.ID()) {
		requireSocketLives(t, h, frame)
	}
}

// FuzzClientFrames sends frames over a socket to a session that another socket
// uses. There must be no panic, the sender gets an error or is ignored, and a ping
// after the frame is answered.
func FuzzClientFrames(f *testing.F) {
	for _, frame := range oddFrames("20260101-000000-00000000") {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame string) {
		h := startHub(t, hubOptions{})
		s := h.session()
		// Replace the fixed id in the corpus with the session's id.
		requireSocketLives(t, h, strings.ReplaceAll(frame, "20260101-000000-00000000", s.ID()))
		_, err := s.Log().ReadAfter(t.Context(), 0, 1<<20)
		require.NoError(t, err, "the session no longer works")
	})
}

// requireSocketLives sends a frame and then a ping. A frame that is not valid UTF-8
// may end its own socket. The hub must work in any case.
func requireSocketLives(t *testing.T, h *hub, frame string) {
	t.Helper()
	p := h.dial("/api/ws")
	defer p.conn.CloseNow()
	if err := p.conn.Write(p.ctx, websocket.MessageText, []byte(frame)); err == nil {
		p.send(&wire.Ping{Nonce: "behind it"})
		find(p, func(m *wire.Pong) bool { return m.Nonce == "behind it" })
	}
	other := h.dial("/api/ws")
	defer other.conn.CloseNow()
	other.send(&wire.Ping{Nonce: "another"})
	find(other, func(m *wire.Pong) bool { return m.Nonce == "another" })
}

// oddFrames are valid and invalid frames of every type for one session.
func oddFrames(id string) []string {
	return []string{
		``, `null`, `[]`, `{}`, `{"type":null}`, `{"type":"ping","nonce":"n"}`, "{\"type\":\"ping\"}\x00",
		`{"type":"observe","request_id":"r","session_id":"` + id + `","after_seq":0}`,
		`{"type":"observe","session_id":"` + id + `","after_seq":-1}`,
		`{"type":"observe","session_id":"` + id + `","after_seq":9223372036854775808}`,
		`{"type":"observe","session_id":"` + id + `","after_seq":1.5,"tail":-3}`,
		`{"type":"load_events","request_id":"r","session_id":"` + id + `","before_seq":0,"limit":-1}`,
		`{"type":"load_events","request_id":"r","session_id":"` + id + `","after_seq":0,"limit":99999999999}`,
		`{"type":"prompt","session_id":"` + id + `","prompt_id":"p","text":"\ud800"}`,
		`{"type":"permission_answer","session_id":"` + id + `","permission_id":"x","option_id":""}`,
		`{"type":"queue_edit","session_id":"` + id + `","prompt_id":"p","text":""}`,
		`{"type":"ack","session_id":"` + id + `","seq":18446744073709551616}`,
		`{"type":"ack","session_id":"` + id + `","seq":4611686018427387904}`,
		`{"type":"cancel","session_id":"` + id + `","type":"ping"}`,
		`{"type":"presence","session_id":"` + id + `","visible":"yes"}`,
		`{"type":"set_mode","session_id":"` + id + `","mode_id":"` + strings.Repeat("m", 70_000) + `"}`,
		strings.Repeat(`{"a":`, 5_000),
	}
}

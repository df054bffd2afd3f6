package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// stuck follows a session from its start and does not read. It gets stuck in the
// middle of a backlog of a few hundred KiB, so the hub caches frames for it.
func stuck(t *testing.T, h *hub, s *session.BackgroundSession) (leave func()) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: (&slowConn{rate: 64 << 10}).dial}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, fmt.Sprintf("ws://%s/api/sessions/%s/ws?after_seq=0", h.addr, s.ID()),
		&websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Authorization": {"Bearer " + h.token}}})
	require.NoError(t, err)
	leave = func() { conn.CloseNow() }
	t.Cleanup(leave)
	return leave
}

// grow appends events of about the given size.
func grow(t *testing.T, s *session.BackgroundSession, events, size int) {
	t.Helper()
	data, err := json.Marshal(map[string]string{"message_id": "m", "text": strings.Repeat("x", size)})
	require.NoError(t, err)
	for range events {
		_, _, err := s.Log().Append(context.Background(), 0, event.Draft{Type: event.TypeAgentMessage, Turn: 1, Data: data})
		require.NoError(t, err)
	}
}

// heap returns the bytes in use after a garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC() // twice: the first one only retires the contents of pools
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFramesKeptForLaggardsAreBoundedAndLetGoOnceAllHaveCaughtUp(t *testing.T) {
	const mib = 1 << 20
	for _, size := range []int{300, 200_000} {
		t.Run(fmt.Sprintf("events of %d bytes", size), func(t *testing.T) {
			h := startHub(t, hubOptions{timing: server.Timing{Write: time.Minute}})
			s := h.session()
			grow(t, s, 24*mib/size, size)
			last := s.Log().Marks().Visible
			before := heap()
			leave := stuck(t, h, s)
			reader := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=0", s.ID()))
			for cursor := event.Seq(0); cursor < last; {
				head, _ := reader.rawEvents()
				require.Equal(t, cursor+1, head.FirstSeq)
				cursor = head.LastSeq
			}
			// The stuck client holds one frame outside the cache.
			slow := heap()
			require.Less(t, slow-before, int64(6*mib), "the cache exceeds its limit")

			leave()
			require.Eventually(t, func() bool { return heap()-before < mib }, patience, 20*time.Millisecond,
				"what was kept for laggards stayed when nobody lagged")
			// Not against before: it may hold what earlier tests have yet to let go.
			require.Greater(t, slow-heap(), int64(2*mib), "no frame was cached for the slow client")
			reader.send(&wire.Ping{Nonce: "1"}) // it still follows
			find[*wire.Pong](reader, nil)
		})
	}
}

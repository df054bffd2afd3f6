package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// Each waiting goroutine takes 4 KiB, for thousands of clients.
func TestAnIdleClientHasTwoGoroutinesAndMissesNothing(t *testing.T) {
	const clients = 20
	h := startHub(t, hubOptions{timing: server.Timing{Heartbeat: 2 * time.Second}})
	s := h.session()
	var peers []*peer
	for range clients {
		p := h.dial("/api/sessions/" + s.ID() + "/ws?after_seq=0")
		find[*wire.State](p, nil)
		peers = append(peers, p)
	}
	stacks := make([]byte, 4<<20)
	idle := func() bool {
		of := 0
		for _, goroutine := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(goroutine, "SessionWSClient") {
				of++
			}
		}
		return of == 2*clients // one reads it, one follows the session
	}
	for turn := range 3 {
		require.Eventually(t, idle, patience, 10*time.Millisecond, "idle clients have more than two goroutines each")
		h.prompt(s, fmt.Sprintf("p%d", turn), "hi")
		last := s.Log().Marks().Visible
		for _, p := range peers {
			for seen := event.Seq(0); seen < last; {
				seen = find[*wire.Events](p, nil).LastSeq
			}
		}
	}
	// Idle clients still get news of other sessions, and heartbeats.
	other := h.session()
	for _, p := range peers {
		find(p, func(m *wire.Session) bool { return m.Session.SessionID == other.ID() })
		find[*wire.Heartbeat](p, nil)
	}
}

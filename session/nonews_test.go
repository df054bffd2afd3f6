package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// line is a session's line in the list.
func (h *hub) line(id string) session.Info {
	h.t.Helper()
	line, err := h.manager.Info(ctxOf(h.t), id)
	require.NoError(h.t, err)
	return line
}

func TestAnAgentThatFallsAsleepIsNewsToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.AgentIdle = time.Minute })
		h.agents.resumable = true
		b, a := h.busy()
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		synctest.Wait()
		read := h.line(b.ID())
		h.manager.Reads().Move("ann", read.SessionID, read.Epoch, read.MaxSeq)
		h.manager.Reads().Move("bob", read.SessionID, read.Epoch, read.MaxSeq-1)
		<-a.over
		synctest.Wait()
		now := h.line(b.ID())
		require.Greater(t, now.MaxSeq, read.MaxSeq)
		require.Equal(t, now.MaxSeq, h.manager.Reads().Of("ann", now))
		require.Equal(t, read.MaxSeq-1, h.manager.Reads().Of("bob", now), "who had not read all has not")
		require.Zero(t, h.manager.Reads().Of("eve", now))
		require.Equal(t, read.UpdatedAt, now.UpdatedAt, "its place in the list")
		h.close()
		h.open()
		require.Equal(t, read.UpdatedAt, h.line(b.ID()).UpdatedAt, "behind a restart")
		h.close()
	})
}

func TestAHubThatEndsMakesNothingUnread(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	read := h.line(b.ID())
	h.manager.Reads().Move("ann", read.SessionID, read.Epoch, read.MaxSeq)
	h.close()
	h.open()
	now := h.line(b.ID())
	require.Greater(t, now.MaxSeq, read.MaxSeq)
	require.Equal(t, now.MaxSeq, h.manager.Reads().Of("ann", now))
	require.Equal(t, read.UpdatedAt, now.UpdatedAt)
}

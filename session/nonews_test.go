package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/store"
)

// line returns a session's line in the list.
func (h *hub) line(id string) list.Info {
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
		of := func(person string) event.Seq { seq, _ := h.manager.Reads().Of(person, now); return seq }
		require.Equal(t, now.MaxSeq, of("ann"))
		require.Equal(t, read.MaxSeq-1, of("bob"), "an unread session became read")
		require.Zero(t, of("eve"))
		require.Equal(t, read.UpdatedAt, now.UpdatedAt, "the session moved in the list")
		h.close()
		h.open()
		require.Equal(t, read.UpdatedAt, h.line(b.ID()).UpdatedAt, "the session moved after a restart")
		h.close()
	})
}

func TestAForgottenReadMarkMakesNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		h.manager.Reads().Came("ann")
		time.Sleep(time.Second)
		b, a := h.busy()
		require.NoError(t, a.say(message("Here.")))
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		synctest.Wait()
		line := h.line(b.ID())
		_, known := h.manager.Reads().Of("ann", line)
		require.True(t, known, "a session newer than the person must have a mark")
		h.manager.Reads().Move("ann", line.SessionID, line.Epoch, line.MaxSeq)
		time.Sleep(time.Minute)
		for i := range 2048 {
			h.manager.Reads().Move("ann", fmt.Sprintf("20260221-140307-%08x", i), line.Epoch, 1)
		}
		_, known = h.manager.Reads().Of("ann", line)
		require.False(t, known, "the removed session must have no mark")
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
	seq, _ := h.manager.Reads().Of("ann", now)
	require.Equal(t, now.MaxSeq, seq)
	require.Equal(t, read.UpdatedAt, now.UpdatedAt)
}

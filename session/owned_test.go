package session_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// beside starts another hub on the same device.
func (h *hub) beside(options ...hubOption) *hub {
	h.t.Helper()
	return (&hub{t: h.t, device: h.device}).begin(options...)
}

func attach(t *testing.T, b *session.BackgroundSession, text string) event.Attachment {
	t.Helper()
	a, err := b.Attach(ctxOf(t), person("ann"), "note.txt", "text/plain", strings.NewReader(text))
	require.NoError(t, err)
	return a
}

// Two hubs on one device: neither wakes, sweeps, opens or deletes a session of the
// other.
func TestAHubCaresOnlyForTheSessionsItOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, func(o *session.Options, _ *store.Options) { o.SweepEvery = 1000 * time.Hour })
		b, a := h.busy()
		require.Equal(t, queue.Queued, prompt(t, b, "waits").Outcome) // one that is not owned would be woken for it
		theirs := attach(t, b, "theirs")

		other := h.beside()
		own := other.create()
		mine := attach(t, own, "mine")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.False(t, own.Log().Uploaded(mine.SHA256), "the other hub does not sweep")
		require.True(t, b.Log().Uploaded(theirs.SHA256), "an upload of a session that is not owned was removed")
		require.Empty(t, other.manager.Problems(), "it tried to open a session that it does not own")
		require.Equal(t, journal.HealthOK, b.Log().Health().State, "the lease was taken")

		_, err := other.manager.Session(ctxOf(t), b.ID())
		require.ErrorIs(t, err, state.ErrUnavailable)
		require.ErrorContains(t, err, "another hub has the session; use it there")
		problems := other.manager.Problems()
		require.Len(t, problems, 1)
		require.Equal(t, b.ID(), problems[0].SessionID)
		require.Equal(t, problem.Unreadable, problems[0].Kind)
		require.ErrorIs(t, other.manager.Delete(ctxOf(t), b.ID()), state.ErrUnavailable)

		require.NoError(t, a.say(message("still here")))
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		require.Equal(t, "waits", receive(t, a.prompts, "not taken").PromptID)
		h.close()
		require.Empty(t, payloads[event.AgentMessage](t, other.session(b.ID()))[1:])
		require.Empty(t, other.manager.Problems())
		other.close()
	})
}

package blackbox_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// resumeRounds is the number of rounds: 200 in make soak. Package session runs 20
// rounds without processes.
func resumeRounds() int {
	if soak.On() {
		return 200
	}
	return 2
}

// TestAResumePressedThreeTimesAcrossAKillIsOneTurn presses Resume on two sockets
// and over HTTP at once, and kills the hub meanwhile.
func TestAResumePressedThreeTimesAcrossAKillIsOneTurn(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	session := h.create("demo")
	screens := []*screen{h.screen("tab", session, 0), h.screen("phone", session, 0)}
	tab := screens[0]
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	began := map[string]string{} // interruption id -> interrupted prompt
	for round := range resumeRounds() {
		cut := fmt.Sprint("p", round)
		tab.prompt(session.SessionID, cut, "/fail provider")
		tab.untilTurnEnds(cut)
		open, err := h.hub.Interruption(t.Context(), session.SessionID)
		require.NoError(t, err)
		began[open.InterruptionID] = cut
		press := wire.Resume{InterruptionID: open.InterruptionID, Prompt: fmt.Sprintf("/plan (%d)", round)}
		sockets := []*client.Socket{tab.socket(), screens[1].socket()}
		pressed := make(chan struct{})
		go func() {
			defer close(pressed)
			together(3, func(i int) {
				if i < 2 { // fails if the hub is killed first
					_ = sockets[i].Send(t.Context(), &wire.ResumeTurn{SessionID: session.SessionID, Resume: press})
					return
				}
				_, _ = h.hub.Resume(t.Context(), session.SessionID, press)
			})
		}()
		time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment
		h.kill()
		<-pressed
		h.start()
		_, err = h.hub.Resume(t.Context(), session.SessionID, press)
		var refused *client.RefusedError
		require.True(t, err == nil || errors.As(err, &refused), "%v", err)
		h.settle(session, "resume-"+open.InterruptionID, tab)
	}
	given := readRecord(t, record)
	require.Empty(t, given.rivals)
	require.Equal(t, resumeRounds(), given.prompts["/fail provider"])
	for text, times := range given.prompts {
		if text != "/fail provider" {
			require.Equal(t, 1, times, text)
		}
	}
	for _, c := range screens {
		requireTrueScreens(t, h, session.SessionID, c)
	}
	turns := map[string]int{}
	for _, p := range payloads[event.UserPrompt](t, tab.seen()) {
		turns[p.PromptID]++
	}
	for id, prompt := range began {
		require.Equal(t, 1, turns["resume-"+id], "of %s", prompt)
	}
	for id, n := range turns {
		require.Equal(t, 1, n, id)
	}
	require.Len(t, turns, 2*len(began), "each turn is one that failed or one that resumes it")
}

// settle waits for the end of a resumed turn. If it was interrupted, settle
// dismisses the interruption.
func (h *hub) settle(session wire.SessionInfo, promptID string, c *screen) {
	h.t.Helper()
	if end := c.untilTurnEnds(promptID); end.StopReason == event.StopEndTurn {
		return
	}
	open, err := h.hub.Interruption(h.t.Context(), session.SessionID)
	require.NoError(h.t, err)
	require.NoError(h.t, h.hub.Dismiss(h.t.Context(), session.SessionID, open.InterruptionID))
}

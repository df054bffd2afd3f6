package blackbox_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// The numbers of interruptions and resumes are those of the logs: they outlive a kill of
// the hub and the loss of every file that was computed from the logs.
func TestTheNumbersOfInterruptionsAreThoseOfTheLogs(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	numbers := func() wire.ResumeCounts {
		answer, err := h.hub.Health(t.Context())
		require.NoError(t, err)
		require.NotNil(t, answer.Interruptions)
		return *answer.Interruptions
	}
	resume := func(s wire.SessionInfo, prompt string) string {
		open, err := h.hub.Interruption(t.Context(), s.SessionID)
		require.NoError(t, err)
		resumed, err := h.hub.Resume(t.Context(), s.SessionID, wire.Resume{InterruptionID: open.InterruptionID, Prompt: prompt})
		require.NoError(t, err)
		return resumed.PromptID
	}
	s := h.create("demo")
	c := h.screen("ann", s, 0)
	c.prompt(s.SessionID, "p1", "/hang")
	c.until("the turn", hasType(event.TypeTurnStart))
	h.kill()
	h.start()
	c.untilTurnEnds("p1")
	c.untilTurnEnds(resume(s, "/error")) // a resume that is interrupted again
	c.untilTurnEnds(resume(s, "/plan"))  // and one that works
	var others []wire.SessionInfo
	for _, settle := range []func(wire.SessionInfo, *screen){
		func(s wire.SessionInfo, d *screen) { d.prompt(s.SessionID, "p2", "/plan") },
		func(s wire.SessionInfo, _ *screen) {
			open, err := h.hub.Interruption(t.Context(), s.SessionID)
			require.NoError(t, err)
			require.NoError(t, h.hub.Dismiss(t.Context(), s.SessionID, open.InterruptionID))
		},
	} {
		other := h.create("demo")
		others = append(others, other)
		d := h.screen("bob", other, 0)
		d.prompt(other.SessionID, "p1", "/error")
		d.untilTurnEnds("p1")
		settle(other, d)
		d.until("the outcome", hasType(event.TypeInterruptionSettled))
	}

	var want wire.ResumeCounts
	require.Eventually(t, func() bool { // the list follows the log
		want = numbers()
		return want.Dismissed+want.Superseded+want.Succeeded+want.Failed == 4
	}, patience, time.Millisecond)
	require.Equal(t, 4, total(want.Interrupted))
	resumed := 0
	for _, ways := range want.Resumed { // the phase depends on how far the agent was
		resumed += total(ways)
	}
	require.Equal(t, []int{2, 1, 1, 1, 1}, []int{resumed, want.Succeeded, want.Failed, want.Superseded, want.Dismissed})
	require.Positive(t, want.MedianMS)
	requireTold := func() {
		out, errs, code := h.run("health")
		require.Zero(t, code, errs)
		require.Contains(t, out, "4 turns: 2 resumed, 1 dismissed, 1 followed by another prompt\n")
		require.Contains(t, out, "50 %: 1 of 2 resumed turns finished, 1 interrupted again\n")
		median := time.Duration(want.MedianMS) * time.Millisecond
		if median >= time.Second { // of a slow machine; it is told in whole seconds
			median = median.Round(time.Second)
		}
		require.Contains(t, out, median.String()+" (median)\n")
	}
	requireTold()

	// The hub reads the logs again that it had open.
	again := func() bool { return assert.ObjectsAreEqual(want, numbers()) }
	h.kill()
	h.start()
	require.Eventually(t, again, patience, time.Millisecond)
	h.kill()
	for _, s := range append(others, s) {
		dir := filepath.Join(h.data, "sessions", s.SessionID)
		require.NoError(t, os.Remove(filepath.Join(dir, "metadata.json")))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "derived")))
	}
	h.start()
	require.Eventually(t, again, patience, time.Millisecond)
	requireTold()
}

func total[K comparable](counts map[K]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

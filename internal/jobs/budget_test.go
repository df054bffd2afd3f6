package jobs_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// A job that a budget stops waits in the line, says why, and starts on the next day or when the
// budget is raised. One that runs goes on, and a schedule makes none.
func TestAJobWaitsForABudget(t *testing.T) {
	var ahead atomic.Int64
	now := time.Now().UTC()
	zone := time.FixedZone("here", int((12*time.Hour - now.Sub(now.Truncate(24*time.Hour))).Seconds())) // it is noon there
	o := options{budget: &settings.Budget{Cost: 1, WarnAt: 0.8, Stop: true}, clock: func() time.Time { return time.Now().In(zone).Add(time.Duration(ahead.Load())) }}
	h := start(t, o)
	first := h.job(event.Job{Task: "pay 2\nsay done"})
	require.Equal(t, event.JobCompleted, h.ended(first).Status)
	waits := h.job(event.Job{Task: "say later"})
	words := ""
	require.Eventually(t, func() bool {
		info, err := h.runner.Info(t.Context(), waits)
		require.NoError(t, err)
		words = info.Waits
		return words != ""
	}, patience, time.Millisecond)
	require.Contains(t, words, "200 % of today's budget of "+h.folder+" is used: 2.00 of 1 in cost. New work goes on at midnight")
	require.Equal(t, words, h.runner.Told(t.Context(), h.line(waits)).Waits)
	_, err := h.runner.MakeOnce(t.Context(), wire.NewJob{Agent: "player", Workspace: h.folder, Task: "say x"}, event.Actor{Name: "ann", ID: "1"}, "key", "daily")
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "today's budget")
	require.Equal(t, event.JobQueued, h.line(waits).Job.Status)

	raised := *h.manager.Settings()
	raised.Budgets = map[string]settings.Budget{h.folder: {Cost: 5, WarnAt: 0.8, Stop: true}}
	require.NoError(t, h.manager.Configure(raised))
	h.runner.Configure(o.Settings)
	require.Equal(t, event.JobCompleted, h.ended(waits).Status)
	info, err := h.runner.Info(t.Context(), waits)
	require.NoError(t, err)
	require.Empty(t, info.Waits)

	raised.Budgets = map[string]settings.Budget{h.folder: {Cost: 1, WarnAt: 0.8, Stop: true}}
	require.NoError(t, h.manager.Configure(raised))
	next := h.job(event.Job{Task: "say tomorrow"})
	require.Contains(t, h.runner.Told(t.Context(), h.line(next)).Waits, "2.00 of 1 in cost")
	ahead.Store(int64(24 * time.Hour))
	h.runner.Configure(o.Settings) // it looks at the clock
	require.Equal(t, event.JobCompleted, h.ended(next).Status)
	_, err = h.runner.MakeOnce(t.Context(), wire.NewJob{Agent: "player", Workspace: h.folder, Task: "say x"}, event.Actor{Name: "ann", ID: "1"}, "key", "daily")
	require.NoError(t, err)
}

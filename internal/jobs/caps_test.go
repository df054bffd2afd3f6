package jobs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestTheCapsOfAProjectAreTheDefaultAndTheMost(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	near := filepath.Join(folder, "near")
	require.NoError(t, os.Mkdir(near, 0o755))
	most := event.JobCaps{WallS: 60, RoundS: 10, Rounds: 3, Tokens: 1000, Cost: 1.5, Events: 500, OutputBytes: 9000}
	h := start(t, options{idle: true, folder: folder, caps: map[string]event.JobCaps{folder: most, near: {Rounds: 7}}})
	by := event.Actor{Name: "ann", ID: "1"}
	caps := func(id string) event.JobCaps {
		info, err := h.runner.Info(t.Context(), id)
		require.NoError(t, err)
		return info.Input.Caps
	}
	in := func(folder string, asked event.JobCaps) wire.NewJob {
		return wire.NewJob{Agent: "player", Workspace: folder, Task: "say x", Caps: asked}
	}
	order := func(in wire.NewJob) string {
		info, _, err := h.runner.Create(t.Context(), jobs.OrderOf(in, by, ""))
		require.NoError(t, err)
		return info.SessionID
	}
	require.Equal(t, most, caps(order(in(folder, event.JobCaps{}))))
	less := event.JobCaps{WallS: 1, RoundS: 1, Rounds: 1, Tokens: 1, Cost: 0.5, Events: 1, OutputBytes: 1}
	require.Equal(t, less, caps(order(in(folder, less))))
	require.Equal(t, event.JobCaps{Rounds: 7, Tokens: 5000}, caps(order(in(near, event.JobCaps{Tokens: 5000}))), "the nearest folder applies")

	for field, asked := range map[string]event.JobCaps{
		"wall_s": {WallS: 61}, "round_s": {RoundS: 11}, "rounds": {Rounds: 4}, "tokens": {Tokens: 1001}, "cost": {Cost: 1.6}, "events": {Events: 501}, "output_bytes": {OutputBytes: 9001},
	} {
		_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(in(folder, asked), by, ""))
		require.ErrorIs(t, err, state.ErrInvalid, field)
		require.Equal(t, "caps."+field, state.FieldOf(err))
		require.ErrorContains(t, err, field+" is at most ")
	}

	before := h.job(event.Job{Task: "say x", Caps: event.JobCaps{Rounds: 50, Tokens: 10}}) // before the project had caps
	require.NoError(t, h.runner.Cancel(t.Context(), before, by))
	again, _, err := h.runner.Retry(t.Context(), before, "", by)
	require.NoError(t, err)
	got := caps(again.SessionID)
	require.Equal(t, 3, got.Rounds, "a retry has no more than the project allows now")
	require.EqualValues(t, 10, got.Tokens)
}

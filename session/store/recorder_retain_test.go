package store_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// recordedBeside is a session that a recorder writes in small files and a hub
// follows; nothing of it stays in memory.
func recordedBeside(t *testing.T, logger *slog.Logger) (recorded, followed *store.Log) {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	r, err := store.OpenRecorder(dir, store.Options{SegmentBytes: 4 << 10})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	recorded, err = r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	hub := open(t, dir, store.Options{TailBytes: 1, Logger: logger})
	followed, err = hub.Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, followed.ReadOnly())
	return recorded, followed
}

func TestAHubThatFollowsIsToldWhatTheRecorderRemoved(t *testing.T) {
	ctx := context.Background()
	recorded, followed := recordedBeside(t, nil)
	appendN(t, recorded, 300)
	last := recorded.Marks().Visible
	require.Eventually(t, func() bool { return followed.Marks().Visible == last }, patience, time.Millisecond)
	news := followed.Changed()
	first, err := recorded.Retain(ctx, 10<<10)
	require.NoError(t, err)
	require.Greater(t, first, event.Seq(100))
	_, err = followed.ReadAfter(ctx, 0, 1<<20)
	require.ErrorIs(t, err, store.ErrRemoved, "also before the follower has looked")
	require.Equal(t, first, followed.Marks().Min, "who is told finds the first that is left")
	<-news
	page, err := followed.ReadAfter(ctx, first-1, 1<<20)
	require.NoError(t, err)
	require.Equal(t, first, page.First)
	requireStillFollows(t, recorded, followed)
}

// requireStillFollows requires that what is recorded next is followed.
func requireStillFollows(t *testing.T, recorded, followed *store.Log) {
	t.Helper()
	after := recorded.Marks().Visible
	appendN(t, recorded, 100) // over several files
	sink := &collector{cursor: after, until: after + 100}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.ErrorIs(t, observer.New(followed, sink, after, 2<<10).Run(ctx), errDone)
	require.Equal(t, store.HealthOK, followed.Health().State)
	require.Equal(t, recorded.Marks().Min, followed.Marks().Min)
}

func TestAHubFollowsOnWhereARecorderRemovesMoreThanItHasRead(t *testing.T) {
	ctx := context.Background()
	words, err := os.Create(filepath.Join(t.TempDir(), "words"))
	require.NoError(t, err)
	recorded, followed := recordedBeside(t, slog.New(slog.NewTextHandler(words, nil)))
	for range 40 { // faster than anybody looks
		appendN(t, recorded, 40)
		_, err := recorded.Retain(ctx, 1)
		require.NoError(t, err)
	}
	last := recorded.Marks().Visible
	require.Eventually(t, func() bool { return followed.Marks().Visible == last }, patience, time.Millisecond)
	requireStillFollows(t, recorded, followed)
	said, err := os.ReadFile(words.Name())
	require.NoError(t, err)
	require.NotContains(t, string(said), "cannot be followed", "a file that is just being renamed is nothing to tell")
}

package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func TestARemovedLockFileLetsNoSecondHubIn(t *testing.T) {
	dir := t.TempDir()
	first, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "LOCK")))
	_, err = store.Open(dir, store.Options{})
	var locked *store.LockedError
	require.ErrorAs(t, err, &locked)
	require.NoError(t, first.Close())
	require.NoError(t, open(t, dir, store.Options{}).Close())
}

func TestARecorderHoldsTheDirectoryAsAHubDoes(t *testing.T) {
	dir := t.TempDir()
	r, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	l, err := r.Create(context.Background(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	for range 5 {
		_, _, err := l.Append(context.Background(), 0, message("recorded"))
		require.NoError(t, err)
	}
	var locked *store.LockedError
	_, err = store.Open(dir, store.Options{})
	require.ErrorAs(t, err, &locked)
	require.NoError(t, r.Close())

	hub := open(t, dir, store.Options{})
	_, err = store.OpenRecorder(dir, store.Options{})
	require.ErrorAs(t, err, &locked)
	again, err := hub.Log(context.Background(), l.ID())
	require.NoError(t, err)
	require.Len(t, readAll(t, again), 6)
	requireAppends(t, again)
	require.NoError(t, hub.Close())
	requireSound(t, dir)
}

package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

func TestManySessionsHaveTheEventsTogetherAndAreSound(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"--data", dir, "--sessions", "3", "--events", "300"}, &bytes.Buffer{}))
	s, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	events := int64(0)
	for _, md := range s.List() {
		events += md.EventCount
		require.NotEmpty(t, md.Name)
	}
	require.Len(t, s.List(), 3)
	require.InDelta(t, 300, events, 15)
	report, err := s.Check(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}

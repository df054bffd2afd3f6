package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsGivenBackOnceACrowdHasComeAndIsQuiet(t *testing.T) {
	var g arrivalGarbage
	now := time.Now()
	at := func(after time.Duration) time.Time { now = now.Add(after); return now }
	require.False(t, g.due(crowd-1, at(time.Second)), "too few")
	require.False(t, g.due(crowd-1, at(time.Hour)), "too few")
	require.False(t, g.due(crowd, at(0)), "the last one arrived just now")
	require.True(t, g.due(crowd, at(crowdQuiet)))
	require.False(t, g.due(crowd, at(time.Hour)), "nothing arrived since")
	require.False(t, g.due(2*crowd, at(0)))
	require.True(t, g.due(2*crowd, at(crowdQuiet)))
	require.False(t, g.due(3*crowd, at(0)))
	require.False(t, g.due(3*crowd, at(crowdQuiet)), "memory was returned just now")
	require.True(t, g.due(3*crowd, at(crowdPause)))
}

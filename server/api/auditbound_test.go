package api

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailedSignInsDoNotFillTheAuditTrail(t *testing.T) {
	var b refusalBound
	now := time.Unix(1e9, 0)
	recorded := 0
	for range 5000 {
		if _, ok := b.take(now); ok {
			recorded++
		}
	}
	require.Equal(t, refusalsAtOnce, recorded)
	skipped, ok := b.take(now.Add(refusalEvery))
	require.True(t, ok)
	require.Equal(t, 5000-refusalsAtOnce, skipped)
	_, ok = b.take(now.Add(refusalEvery))
	require.False(t, ok)
}

package turns

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneWorksAtATime(t *testing.T) {
	var s Turns
	var wait sync.WaitGroup
	count := map[string]*int{"a": new(int), "b": new(int)} // the race detector watches
	for range 100 {
		for name, n := range count {
			wait.Go(func() {
				done, err := s.Take(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				*n++
				done()
			})
		}
	}
	wait.Wait()
	require.Equal(t, []int{100, 100}, []int{*count["a"], *count["b"]})
	require.Empty(t, s.open)
}

func TestWhoEndsNoLongerWaits(t *testing.T) {
	var s Turns
	done, err := s.Take(t.Context(), "a")
	require.NoError(t, err)
	other, err := s.Take(t.Context(), "b") // another name does not wait
	require.NoError(t, err)
	other()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Take(ended, "a")
	require.ErrorIs(t, err, context.Canceled)
	done()
	require.Empty(t, s.open)
	done, err = s.Take(t.Context(), "a")
	require.NoError(t, err)
	done()
}

package session_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
)

func TestASessionIsMadeOnceHoweverOftenItsRequestIsSent(t *testing.T) {
	h := newHub(t)
	request := session.CreateRequest{Actor: "ann", Key: "k1"}
	ids := make([]string, 8)
	var group sync.WaitGroup
	for n := range ids {
		group.Go(func() {
			b, err := h.manager.Create(ctxOf(t), request)
			if err == nil {
				ids[n] = b.ID()
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		require.NotEmpty(t, id)
		require.Equal(t, ids[0], id)
	}

	h.close()
	h.open()
	again, err := h.manager.Create(ctxOf(t), request)
	require.NoError(t, err)
	require.Equal(t, ids[0], again.ID(), "a restart made the request new")

	for _, other := range []session.CreateRequest{{Actor: "bob", Key: "k1"}, {Actor: "ann", Key: "k2"}, {Actor: "ann"}, {Actor: "ann"}} {
		b, err := h.manager.Create(ctxOf(t), other)
		require.NoError(t, err)
		require.NotContains(t, ids, b.ID())
		ids = append(ids, b.ID())
	}
	_, err = h.manager.Create(context.Background(), session.CreateRequest{Key: "a\x00"})
	require.ErrorIs(t, err, session.ErrInvalid)
}

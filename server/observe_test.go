package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/store"
)

// gate is a file system that opens no log until the test lets it.
type gate struct {
	store.FS
	let chan struct{}
}

func (g gate) OpenRW(name string) (store.File, error) {
	if strings.HasSuffix(name, "events.jsonl") {
		<-g.let
	}
	return g.FS.OpenRW(name)
}

func TestAnObserveThatAnotherReplacesIsAnswered(t *testing.T) {
	h := startHub(t, hubOptions{})
	id := h.session().ID()
	h.stop()
	g := gate{store.OS(), make(chan struct{})}
	h = startHub(t, hubOptions{dir: h.dir, fs: g})
	let := sync.OnceFunc(func() { close(g.let) })
	t.Cleanup(let) // or the hub cannot stop
	p := h.dial("/api/ws")
	p.send(&wire.Observe{RequestID: "first", SessionID: id})
	p.send(&wire.Observe{RequestID: "second", SessionID: id})
	answer := find[*wire.Error](p, nil)
	require.Equal(t, "first", answer.RequestID)
	require.Equal(t, wire.CodeConflict, answer.Code, answer.Message)
	p.send(&wire.Unobserve{SessionID: id})
	answer = find[*wire.Error](p, nil)
	require.Equal(t, "second", answer.RequestID)
	require.Equal(t, wire.CodeConflict, answer.Code, answer.Message)
	p.send(&wire.Observe{RequestID: "third", SessionID: id})
	let()
	require.Equal(t, "third", find[*wire.EventsLoaded](p, nil).RequestID)
}

func TestEachOfManyObservesInARowIsAnsweredOnce(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 50")
	p := h.dial("/api/ws")
	const asked = 300
	go func() { // while the test reads responses
		for i := range asked {
			p.send(&wire.Observe{RequestID: fmt.Sprint(i), SessionID: s.ID()})
		}
	}()
	answers := map[string]int{}
	for len(answers) < asked {
		switch m := p.next().(type) {
		case *wire.EventsLoaded:
			answers[m.RequestID]++
		case *wire.Error:
			require.Equal(t, wire.CodeConflict, m.Code, m.Message)
			answers[m.RequestID]++
		}
	}
	for id, n := range answers {
		require.Equal(t, 1, n, "request %s", id)
	}
}

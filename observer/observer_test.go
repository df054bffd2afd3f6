package observer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a log in memory. perBatch limits the events of a read.
type memory struct {
	perBatch int

	mu      sync.Mutex
	last    event.Seq
	changed chan struct{}
	skip    event.Seq // leaves this seq out, like a damaged log
}

func newMemory(perBatch int) *memory {
	return &memory{perBatch: perBatch, changed: make(chan struct{})}
}

func (m *memory) append(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last += event.Seq(n)
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *memory) ReadAfter(_ context.Context, after event.Seq, _ int) (event.Batch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := after + 1
	if first == m.skip {
		first++
	}
	if first > m.last {
		return event.Batch{}, nil
	}
	last := min(m.last, first+event.Seq(m.perBatch)-1)
	var lines []string
	for seq := first; seq <= last; seq++ {
		lines = append(lines, fmt.Sprintf(`{"seq":%d,"type":"note","data":{}}`, seq))
	}
	return event.Batch{First: first, Last: last, Count: len(lines), JSON: []byte(strings.Join(lines, ","))}, nil
}

// seen collects events and signals when it has until.
type seen struct {
	seqs  []event.Seq
	until event.Seq
	done  chan struct{}
	fail  error
}

func (s *seen) Deliver(_ context.Context, b event.Batch) error {
	if s.fail != nil {
		return s.fail
	}
	events, err := b.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		s.seqs = append(s.seqs, e.Seq)
		if e.Seq == s.until {
			close(s.done)
		}
	}
	return nil
}

func TestAFollowerDeliversEverythingAfterItsCursorOnceInOrderWhileTheLogGrows(t *testing.T) {
	log := newMemory(7)
	log.append(100)
	ctx, cancel := context.WithCancel(t.Context())
	const followers = 8
	sinks := make([]*seen, followers)
	var wg sync.WaitGroup
	for i := range sinks {
		sinks[i] = &seen{until: 2100, done: make(chan struct{})}
		follower := observer.New(log, sinks[i], event.Seq(i*10), 1<<16)
		wg.Go(func() { require.ErrorIs(t, follower.Run(ctx), context.Canceled) })
	}
	for range 200 {
		log.append(10)
	}
	for _, s := range sinks {
		<-s.done
	}
	cancel()
	wg.Wait()
	for i, s := range sinks {
		require.Len(t, s.seqs, 2100-i*10)
		for j, seq := range s.seqs {
			require.Equal(t, event.Seq(i*10+j+1), seq)
		}
	}
}

func TestAFollowerStopsAtAGapRatherThanShowAHole(t *testing.T) {
	log := newMemory(10)
	log.append(5)
	log.skip = 3
	sink := &seen{until: 99, done: make(chan struct{})}
	follower := observer.New(log, sink, 2, 1<<16)
	require.ErrorIs(t, follower.Run(t.Context()), observer.ErrGap)
	require.Empty(t, sink.seqs)
	require.Equal(t, event.Seq(2), follower.Cursor())
}

func TestACursorDoesNotMoveWhenDeliveryFails(t *testing.T) {
	log := newMemory(10)
	log.append(5)
	broken := errors.New("socket closed")
	follower := observer.New(log, &seen{fail: broken}, 1, 1<<16)
	require.ErrorIs(t, follower.Run(t.Context()), broken)
	require.Equal(t, event.Seq(1), follower.Cursor())
}

func TestCatchUpDeliversWhatThereIsAndDoesNotWait(t *testing.T) {
	log := newMemory(3)
	log.append(4)
	sink := &seen{done: make(chan struct{})}
	follower := observer.New(log, sink, 0, 1<<16)
	require.NoError(t, follower.CatchUp(t.Context()))
	require.Equal(t, []event.Seq{1, 2, 3, 4}, sink.seqs)
	require.Equal(t, event.Seq(4), follower.Cursor())
}

// attending is a sink that counts its Attend calls. Attend returns the next Wake of
// the script and, after the script, Last.
type attending struct {
	seen
	calls  int
	script []func() observer.Wake
}

func (a *attending) Attend(context.Context) (observer.Wake, error) {
	a.calls++
	if a.calls > len(a.script) {
		return observer.Wake{Last: true}, nil
	}
	return a.script[a.calls-1](), nil
}

func TestAnAttendantIsWokenByItsBellsAndByTimeWithoutAnEvent(t *testing.T) {
	rung := make(chan struct{})
	close(rung)
	var script []func() observer.Wake
	for i := range 3 {
		script = append(script, func() observer.Wake {
			var w observer.Wake
			w.Bells[i] = rung
			return w
		})
	}
	script = append(script, func() observer.Wake { return observer.Wake{At: time.Now()} })
	sink := &attending{script: script}
	require.ErrorIs(t, observer.New(newMemory(1), sink, 0, 1<<16).Run(t.Context()), observer.ErrEnded)
	require.Equal(t, len(script)+1, sink.calls)
}

func TestTheLastEventsAreDeliveredBeforeAFollowerEnds(t *testing.T) {
	log := newMemory(2)
	log.append(5)
	sink := &attending{seen: seen{done: make(chan struct{})}}
	require.ErrorIs(t, observer.New(log, sink, 0, 1<<16).Run(t.Context()), observer.ErrEnded)
	require.Equal(t, []event.Seq{1, 2, 3, 4, 5}, sink.seqs)
}

func TestAFollowerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := observer.New(newMemory(1), &seen{}, 0, 1).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestABoundedSourceEndsAtItsBoundAlsoWithinABatch(t *testing.T) {
	for _, perBatch := range []int{1, 3, 5, 10} {
		log := newMemory(perBatch)
		log.append(10)
		for bound := event.Seq(0); bound <= 11; bound++ {
			sink := &seen{done: make(chan struct{})}
			follower := observer.New(observer.UpTo(log, bound), sink, 0, 1<<16)
			require.NoError(t, follower.CatchUp(t.Context()))
			require.Equal(t, min(bound, 10), follower.Cursor())
			require.Len(t, sink.seqs, int(min(bound, 10)))
		}
	}
}

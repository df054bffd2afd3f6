package journaltest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

func appends(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	require.Equal(t, event.TypeSessionStart, all(t, l)[0].Type)
	before := l.Marks().Visible
	for _, bad := range []event.Draft{
		{Type: "note", Data: nil},
		{Type: "note", Data: []byte(`[]`)},
		{Type: "note", Data: []byte("{\"a\":\n1}")},
		{Type: "", Data: []byte(`{}`)},
		{Type: "note", Turn: -1, Data: []byte(`{}`)},
		{Type: "note", Data: []byte(`{}`), Time: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, _, err := l.Append(ctx, 0, message("good"), bad)
		require.ErrorIs(t, err, journal.ErrInvalid)
	}
	_, _, err := l.Append(ctx, 0)
	require.ErrorIs(t, err, journal.ErrInvalid)
	require.Equal(t, before, l.Marks().Visible, "a part of a refused append was written")
	first, last := put(t, l, message("one"), message("two"), prompt("three"))
	require.Equal(t, before+1, first)
	require.Equal(t, before+3, last)
	require.Equal(t, last, l.Marks().Visible, "a durable event is visible when Append returns")
	first, last = put(t, l, event.Draft{Type: `odd "type"`, Data: []byte(`{}`)})
	require.Equal(t, before+4, first)
	require.Equal(t, before+4, last)
	require.Equal(t, dataOf(message("one"), message("two"), prompt("three")), texts(t, l))
	require.NoError(t, h.Close())
}

func expects(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	next := l.Marks().Written + 1
	first, last, err := l.Append(ctx, next, prompt("one"))
	require.NoError(t, err)
	require.LessOrEqual(t, next, first)
	for _, wrong := range []event.Seq{next, last + 2, last + 100} {
		_, _, err = l.Append(ctx, wrong, prompt("two"))
		require.ErrorIs(t, err, journal.ErrMoved)
	}
	_, _, err = l.Append(ctx, last+1, prompt("three"))
	require.NoError(t, err)
	require.Equal(t, dataOf(prompt("one"), prompt("three")), texts(t, l))
	require.NoError(t, h.Close())
}

func races(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	for range 20 {
		next := l.Marks().Written + 1
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { _, _, errs[i] = l.Append(ctx, next, prompt("mine")) })
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				require.ErrorIs(t, err, journal.ErrMoved)
			}
		}
		require.Equal(t, 1, won, "appends at one next seq that were written")
	}
	require.NoError(t, h.Close())
}

func fences(t T, s Subject) {
	ctx := context.Background()
	h, old := fresh(t, s)
	put(t, old, prompt("before"))
	require.NoError(t, old.Label(func(m *journal.Metadata) { m.Pinned = true }))
	require.Equal(t, journal.HealthOK, old.Health().State)
	owner := open(t, h, old.ID())
	for _, next := range []event.Seq{0, owner.Marks().Written + 1, 1} {
		_, _, err := old.Append(ctx, next, prompt("fenced"))
		require.ErrorIs(t, err, journal.ErrFenced)
	}
	require.ErrorIs(t, old.Label(func(m *journal.Metadata) { m.Pinned = false }), journal.ErrFenced)
	require.ErrorIs(t, old.FlushMetadata(ctx), journal.ErrFenced)
	require.ErrorIs(t, old.Reopen(ctx), journal.ErrFenced)
	require.ErrorIs(t, old.Files().Replace("queue.json", words("{}")), journal.ErrFenced)
	old.UpdateMetadata(func(m *journal.Metadata) { m.Status = "fenced" })
	require.Equal(t, journal.HealthLost, old.Health().State)
	require.Equal(t, journal.HealthOK, owner.Health().State)
	require.NotEqual(t, "fenced", owner.Metadata().Status)
	require.True(t, owner.Metadata().Pinned)
	put(t, owner, prompt("after"))
	want := dataOf(prompt("before"), prompt("after"))
	require.Equal(t, want, texts(t, owner))
	require.Equal(t, want, texts(t, old), "a log is readable without a lease")
	require.NoError(t, h.Close())
}

func refusesLease(t T, s Subject) {
	if s.Second == nil {
		return
	}
	ctx := context.Background()
	h, l := fresh(t, s)
	other := create(t, h)
	second := s.Second(t)
	_, err := second.Lease(ctx, l.ID())
	require.ErrorIs(t, err, journal.ErrHeld)
	require.ErrorIs(t, second.Delete(ctx, l.ID()), journal.ErrHeld)
	require.Equal(t, []string{other}, idsOf(second.Owned()), "sessions that no other hub holds")
	require.Len(t, second.List(), 2)
	lease, err := h.Lease(ctx, other)
	require.NoError(t, err)
	_, err = second.Lease(ctx, other)
	require.ErrorIs(t, err, journal.ErrHeld)
	lease.Release()
	lease.Release()
	put(t, open(t, second, other), prompt("mine"))
	h.Kill()
	put(t, open(t, second, l.ID()), prompt("mine now"))
	require.NoError(t, second.Close())
}

func writesFirst(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	put(t, l, prompt("before"))
	last, changed := l.Marks().Visible, l.Changed()
	s.Fill(Lines)
	for _, d := range []event.Draft{message("stream"), prompt("durable")} {
		_, _, err := l.Append(ctx, 0, d)
		require.ErrorIs(t, err, journal.ErrBlocked)
		require.Equal(t, last, l.Marks().Visible, "an event that was not written is visible")
		b, err := l.ReadAfter(ctx, last, 1<<20)
		require.NoError(t, err)
		require.True(t, b.Empty(), "an event that was not written is read")
	}
	require.Equal(t, journal.HealthBlocked, l.Health().State)
	select {
	case <-changed:
		require.Fail(t, "the bell rang for an event that was not written")
	default:
	}
	s.Fill()
	first, _ := put(t, l, prompt("after"))
	require.Equal(t, last+1, first, "a failed append used a seq")
	require.Equal(t, journal.HealthOK, l.Health().State)
	require.Equal(t, dataOf(prompt("before"), prompt("after")), texts(t, l))
	require.NoError(t, h.Close())
}

func outlives(t T, s Subject) {
	h, l := fresh(t, s)
	type identity struct {
		epoch string
		seq   event.Seq
	}
	seen := map[identity]string{}
	look := func() {
		for _, e := range all(t, l) {
			id := identity{l.Epoch(), e.Seq}
			before, known := seen[id]
			require.True(t, !known || before == string(e.Data), "epoch %s and seq %d identify two events", id.epoch, id.seq)
			seen[id] = string(e.Data)
		}
	}
	var want []string
	for round := range 5 {
		for _, d := range []event.Draft{message("stream"), prompt(string(rune('a' + round)))} {
			put(t, l, d)
			want = append(want, string(d.Data))
		}
		look()
		h, l = killed(t, s, h, l.ID())
		require.Equal(t, want, texts(t, l))
		look()
	}
	epoch, marks := l.Epoch(), l.Marks()
	require.NoError(t, h.Close())
	h = s.Open(t)
	l = open(t, h, l.ID())
	require.Equal(t, epoch, l.Epoch(), "a clean end changes no epoch")
	require.Equal(t, marks.Visible, l.Marks().Visible)
	require.NoError(t, h.Close())
}

// walks compares a log with a slice under random appends, reads, pages and kills.
func walks(t T, s Subject) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		h, l := fresh(t, s)
		w := walk{t: t, s: s, h: h, l: l, random: random}
		for range 60 {
			w.step()
		}
		w.read()
		require.NoError(t, w.h.Close())
	}
}

type walk struct {
	t      T
	s      Subject
	h      Hub
	l      journal.Log
	random *rand.Rand
	data   []string
}

func (w *walk) step() {
	t, ctx := w.t, context.Background()
	switch n := w.random.IntN(12); {
	case n < 5:
		var drafts []event.Draft
		for range 1 + w.random.IntN(4) {
			text := []string{"plain", "é", `"\<`, "\u2028", ""}[w.random.IntN(5)]
			d := message(text)
			if w.random.IntN(5) == 0 {
				d = prompt(text)
			}
			drafts = append(drafts, d)
		}
		next := event.Seq(0)
		if w.random.IntN(2) == 0 {
			next = w.l.Marks().Written + 1
		}
		first, last, err := w.l.Append(ctx, next, drafts...)
		require.NoError(t, err)
		require.Equal(t, len(drafts)-1, int(last-first))
		w.data = append(w.data, dataOf(drafts...)...)
	case n < 7:
		w.read()
	case n < 10:
		w.page()
	case n < 11:
		require.NoError(t, w.h.Close())
		w.h = w.s.Open(t)
		w.l = open(t, w.h, w.l.ID())
	default:
		w.h, w.l = killed(t, w.s, w.h, w.l.ID())
	}
}

func (w *walk) read() {
	require.Equal(w.t, len(w.data), len(texts(w.t, w.l)))
	for i, text := range texts(w.t, w.l) {
		require.Equal(w.t, w.data[i], text)
	}
}

func (w *walk) page() {
	t, m := w.t, w.l.Marks()
	before, limit := event.Seq(w.random.Int64N(int64(m.Visible)+3)), 1+w.random.IntN(20)
	b, err := w.l.ReadBefore(context.Background(), before, limit)
	require.NoError(t, err)
	end := m.Visible
	if before > 0 {
		end = min(end, before-1)
	}
	if end < m.Min {
		require.True(t, b.Empty())
		return
	}
	require.Equal(t, end, b.Last)
	require.Equal(t, max(m.Min, end-event.Seq(limit)+1), b.First)
}

func ids(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	for _, id := range []string{"", "short", "../../../etc/passwd", "UPPERCASE1", "dots..dots", "with/slash", "nul\x00nul0"} {
		require.False(t, journal.ValidID(id))
		_, err := h.Lease(ctx, id)
		require.ErrorIs(t, err, journal.ErrInvalidID)
		require.ErrorIs(t, h.Delete(ctx, id), journal.ErrInvalidID)
	}
	require.Regexp(t, `^\d{8}-\d{6}-[0-9a-f]{8}$`, l.ID())
	require.True(t, journal.ValidID(l.ID()))
	_, err := h.Lease(ctx, "20260101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, listed := h.Listed("20260101-000000-00000000")
	require.False(t, listed)
	require.NoError(t, h.Close())
	_, err = h.Lease(ctx, l.ID())
	require.ErrorIs(t, err, journal.ErrClosed)
	_, err = l.ReadAfter(ctx, 0, 1)
	require.True(t, errors.Is(err, journal.ErrClosed))
}

package journaltest

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

func unmarshal(data []byte, to any) error { return json.Unmarshal(data, to) }

func labelsFirst(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	l.UpdateMetadata(func(m *journal.Metadata) { m.Name, m.LastLine = "by the hub", "flushed" })
	require.NoError(t, l.FlushMetadata(ctx))
	require.NoError(t, l.Label(func(m *journal.Metadata) {
		m.Name, m.Named, m.Pinned, m.Tags = "by a person", true, true, []string{"a", "b"}
	}))
	check := func() {
		listed, _ := h.Listed(l.ID())
		for _, m := range []journal.Metadata{l.Metadata(), listed} {
			require.Equal(t, "by a person", m.Name)
			require.True(t, m.Named && m.Pinned && !m.Archived && len(m.Tags) == 2)
			require.Equal(t, "flushed", m.LastLine)
		}
	}
	check()
	h, l = killed(t, s, h, l.ID())
	check()
	require.NoError(t, l.FlushMetadata(ctx))
	s.Fill(Labels)
	require.ErrorIs(t, l.Label(func(m *journal.Metadata) { m.Name, m.Archived = "lost", true }), journal.ErrBlocked)
	check()
	s.Fill()
	h, l = killed(t, s, h, l.ID())
	check()
	require.NoError(t, l.Label(func(m *journal.Metadata) { m.Pinned = false }))
	h, l = killed(t, s, h, l.ID())
	require.False(t, l.Metadata().Pinned)
	require.NoError(t, h.Close())
}

func flushes(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	put(t, l, message("stream"))
	l.UpdateMetadata(func(m *journal.Metadata) { m.Status, m.LastLine, m.Mode = "idle", "said", "ask" })
	require.NoError(t, l.FlushMetadata(ctx))
	m := l.Metadata()
	require.Equal(t, m.MaxSeq, m.SyncedSeq, "the log is durable before its metadata")
	require.Equal(t, m.SyncedSeq, l.Marks().Synced)
	h.Kill()
	h = s.Open(t)
	listed, _ := h.Listed(l.ID())
	require.Equal(t, []string{"idle", "said", "ask"}, []string{listed.Status, listed.LastLine, listed.Mode})
	l = open(t, h, l.ID())
	require.Equal(t, "said", l.Metadata().LastLine)
	require.NoError(t, h.Close())
}

func numbers(t T, s Subject) {
	h, l := fresh(t, s)
	put(t, l, prompt("one"))
	before := l.Metadata()
	require.Equal(t, l.Marks().Visible, before.MaxSeq)
	require.Equal(t, l.Epoch(), before.Epoch)
	require.EqualValues(t, before.MaxSeq-before.MinSeq+1, before.EventCount)
	l.UpdateMetadata(func(m *journal.Metadata) {
		m.Name, m.Status, m.Pinned = "a name", "idle", true
		m.MaxSeq, m.Epoch, m.SyncedSeq, m.SessionID, m.EventCount = 99, "x", 99, "y", 99
	})
	m := l.Metadata()
	require.Equal(t, "a name", m.Name)
	require.Equal(t, []any{before.MaxSeq, before.Epoch, before.SyncedSeq, before.SessionID, before.EventCount},
		[]any{m.MaxSeq, m.Epoch, m.SyncedSeq, m.SessionID, m.EventCount})
	m.Name = "the caller's copy"
	require.Equal(t, "a name", l.Metadata().Name)
	at := before.UpdatedAt.Add(-1000)
	l.TakeBackUpdated(at)
	require.WithinDuration(t, at, l.Metadata().UpdatedAt, 1000)
	require.NoError(t, h.Close())
}

func deletes(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	stays := create(t, h)
	require.NoError(t, h.Delete(ctx, l.ID()))
	check := func() {
		require.Equal(t, []string{stays}, idsOf(h.Newest(journal.Place{})))
		_, err := h.Lease(ctx, l.ID())
		require.ErrorIs(t, err, journal.ErrNotFound)
		require.ErrorIs(t, h.Delete(ctx, l.ID()), journal.ErrNotFound)
	}
	check()
	_, err := l.ReadAfter(ctx, 0, 1)
	require.ErrorIs(t, err, journal.ErrClosed)
	_, _, err = l.Append(ctx, 0, prompt("late"))
	require.Error(t, err)
	h.Kill()
	h = s.Open(t)
	check()
	require.NoError(t, h.Close())
}

func sizes(t T, s Subject) {
	h, l := fresh(t, s)
	before, err := h.Sizes(l.ID())
	require.NoError(t, err)
	require.Positive(t, before.Log)
	put(t, l, prompt("one"), large("b"))
	require.NoError(t, l.Derived().Write("made", []byte("12345")))
	require.NoError(t, l.Files().Replace("beside.json", func(w io.Writer) error {
		_, err := io.WriteString(w, "{}")
		return err
	}))
	after, err := h.Sizes(l.ID())
	require.NoError(t, err)
	require.Greater(t, after.Log, before.Log)
	require.Greater(t, after.Blobs, before.Blobs)
	require.Equal(t, before.Derived+5, after.Derived)
	require.GreaterOrEqual(t, after.Other, before.Other+2)
	require.Equal(t, after.Log+after.Blobs+after.Derived+after.Other, after.Total())
	_, err = h.Sizes("20260221-140307-9f3a11c0")
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NoError(t, h.Close())
}

func trashes(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	id := l.ID()
	put(t, l, prompt("one"), message("two"), large("b"))
	require.NoError(t, l.Files().Replace("beside.json", func(w io.Writer) error {
		_, err := io.WriteString(w, "{}")
		return err
	}))
	require.NoError(t, l.Label(func(m *journal.Metadata) { m.Name, m.Named, m.Pinned = "kept", true, true }))
	want, epoch := all(t, l), l.Epoch()
	stays, goes := create(t, h), create(t, h)
	require.NoError(t, h.Trash(ctx, goes))
	require.NoError(t, h.Trash(ctx, id))
	_, err := l.ReadAfter(ctx, 0, 1)
	require.ErrorIs(t, err, journal.ErrClosed)
	inTrash := func(ids ...string) {
		t.Helper()
		found, err := h.Trashed()
		require.NoError(t, err)
		var have []string
		for _, one := range found {
			have = append(have, one.SessionID)
			require.WithinDuration(t, time.Now(), one.At, time.Minute)
			require.Positive(t, one.Bytes)
		}
		require.ElementsMatch(t, ids, have)
	}
	for range 2 {
		require.Equal(t, []string{stays}, idsOf(h.Newest(journal.Place{})))
		_, err := h.Lease(ctx, id)
		require.ErrorIs(t, err, journal.ErrNotFound)
		require.ErrorIs(t, h.Trash(ctx, id), journal.ErrNotFound)
		inTrash(id, goes)
		h.Kill()
		h = s.Open(t)
	}
	require.ErrorIs(t, h.Restore(ctx, stays), journal.ErrNotFound)
	require.ErrorIs(t, h.Restore(ctx, "no-id"), journal.ErrInvalidID)
	require.NoError(t, h.Restore(ctx, id))
	require.ErrorIs(t, h.Restore(ctx, id), journal.ErrNotFound)
	inTrash(goes)
	check := func() {
		t.Helper()
		l := open(t, h, id)
		require.Equal(t, epoch, l.Epoch())
		require.Equal(t, want, all(t, l))
		require.Equal(t, "kept", l.Metadata().Name)
		require.True(t, l.Metadata().Pinned)
		data, err := l.Files().Read("beside.json")
		require.NoError(t, err)
		require.Equal(t, "{}", string(data))
		for _, sha := range must(l.BlobNames()) {
			read(t, l, sha)
		}
	}
	check()
	h.Kill()
	h = s.Open(t)
	check()
	require.NoError(t, h.Trash(ctx, id))
	found, err := h.Trashed()
	require.NoError(t, err)
	for _, one := range found {
		require.NoError(t, h.Purge(ctx, one))
		require.NoError(t, h.Purge(ctx, one), "it may be gone already")
	}
	inTrash()
	require.ErrorIs(t, h.Restore(ctx, id), journal.ErrNotFound)
	h.Kill()
	h = s.Open(t)
	inTrash()
	require.Equal(t, []string{stays}, idsOf(h.Newest(journal.Place{})))
	require.NoError(t, h.Close())
}

func imports(t T, s Subject) {
	ctx := context.Background()
	h, from := fresh(t, s)
	put(t, from, prompt("one"), message("two"), large("b"))
	events, epoch := all(t, from), from.Epoch()
	sha := ""
	for name := range strings.SplitSeq(strings.Join(must(from.BlobNames()), " "), " ") {
		sha = name
	}
	data := read(t, from, sha)
	source := func() journal.Imported {
		rest, given := events[1:], false
		return journal.Imported{
			First: events[0],
			Next: func() (event.Event, error) {
				if len(rest) == 0 {
					return event.Event{}, io.EOF
				}
				e := rest[0]
				rest = rest[1:]
				return e, nil
			},
			NextBlob: func() (string, io.Reader, error) {
				if given {
					return "", nil, io.EOF
				}
				given = true
				return sha, strings.NewReader(data), nil
			},
			Name:  "brought along",
			Files: map[string][]byte{"beside.json": []byte("{}")},
		}
	}
	_, err := h.Import(ctx, source())
	require.ErrorIs(t, err, journal.ErrExists)
	require.NoError(t, h.Delete(ctx, from.ID()))
	gap := source()
	_, _ = gap.Next()
	_, err = h.Import(ctx, gap)
	require.ErrorIs(t, err, journal.ErrInvalid)
	require.Empty(t, h.List(), "a part of an import stayed")
	id, err := h.Import(ctx, source())
	require.NoError(t, err)
	require.Equal(t, from.ID(), id)
	h, l := killed(t, s, h, id)
	require.Equal(t, epoch, l.Epoch())
	require.Equal(t, len(events), len(all(t, l)))
	for i, e := range all(t, l) {
		require.Equal(t, events[i].Seq, e.Seq)
		require.Equal(t, string(events[i].Data), string(e.Data))
		require.True(t, events[i].Time.Equal(e.Time))
	}
	require.Equal(t, data, read(t, l, sha))
	beside, err := l.Files().Read("beside.json")
	require.NoError(t, err)
	require.Equal(t, "{}", string(beside))
	m := l.Metadata()
	require.True(t, m.Imported && m.Named)
	require.Equal(t, "brought along", m.Name)
	require.NoError(t, h.Close())
}

func must(names []string, _ error) []string { return names }

package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// TestALogIsWhatWasAppendedToIt compares a log with a slice under random appends,
// reads, pages, retention, restarts and kills.
func TestALogIsWhatWasAppendedToIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		disk := newMemFS()
		o := store.Options{
			BootID:       "boot",
			TailBytes:    rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(t, "tail"),
			SegmentBytes: rapid.SampledFrom([]int64{300, 2000, 1 << 20}).Draw(t, "segment"),
			Durability:   rapid.SampledFrom([]store.Durability{store.Balanced, store.Strict}).Draw(t, "durability"),
		}
		reopen := func(id string) (*store.Store, *store.Log) {
			o.FS = disk
			s, err := store.Open("/data", o)
			require.NoError(t, err)
			var l *store.Log
			if id == "" {
				l, err = s.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
			} else {
				l, err = s.Log(ctx, id)
			}
			require.NoError(t, err)
			return s, l
		}
		s, l := reopen("")
		var model []string // model[i] is the data of seq i+1; "" for the log's own events
		learn := func(first event.Seq, data ...string) {
			for len(model) < int(first)-1 {
				model = append(model, "")
			}
			model = append(model, data...)
		}
		learn(2)
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aé\"\\<\u2028\x01")), 0, 40, -1)
		draft := func(t *rapid.T) event.Draft {
			if rapid.IntRange(0, 5).Draw(t, "durable") == 0 {
				return prompt(text.Draw(t, "prompt"))
			}
			return message(text.Draw(t, "text"))
		}
		check := func(b event.Batch) {
			events, err := b.Events()
			require.NoError(t, err)
			for i, e := range events {
				require.Equal(t, b.First+event.Seq(i), e.Seq)
				if want := model[e.Seq-1]; want != "" {
					require.Equal(t, want, string(e.Data))
				} else {
					require.Contains(t, []event.Type{event.TypeSessionStart, event.TypeSegmentStart}, e.Type)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				drafts := rapid.SliceOfN(rapid.Custom(draft), 1, 5).Draw(t, "drafts")
				first, last, err := l.Append(ctx, drafts...)
				require.NoError(t, err)
				require.Equal(t, len(drafts)-1, int(last-first))
				learn(first)
				for _, d := range drafts {
					learn(first, string(d.Data))
				}
			},
			"read after": func(t *rapid.T) {
				m := l.Marks()
				after := event.Seq(rapid.Int64Range(int64(m.Min)-1, int64(m.Visible)).Draw(t, "after"))
				bytes := rapid.IntRange(0, 2000).Draw(t, "bytes")
				b, err := l.ReadAfter(ctx, after, bytes)
				require.NoError(t, err)
				if after == m.Visible {
					require.True(t, b.Empty())
					return
				}
				require.Equal(t, after+1, b.First)
				require.True(t, len(b.JSON) <= bytes || b.Count == 1)
				check(b)
			},
			"read before": func(t *rapid.T) {
				m := l.Marks()
				before := event.Seq(rapid.Int64Range(0, int64(m.Visible)+2).Draw(t, "before"))
				limit := rapid.IntRange(1, 60).Draw(t, "limit")
				b, err := l.ReadBefore(ctx, before, limit)
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
				check(b)
			},
			"retain": func(t *rapid.T) {
				_, err := l.Retain(ctx, rapid.Int64Range(0, 3000).Draw(t, "keep"))
				require.NoError(t, err)
			},
			"flush": func(t *rapid.T) {
				require.NoError(t, l.FlushMetadata(ctx))
				m := l.Metadata()
				require.Equal(t, m.MaxSeq, m.SyncedSeq)
				require.EqualValues(t, m.MaxSeq-m.MinSeq+1, m.EventCount)
			},
			"restart": func(*rapid.T) {
				before, epoch := l.Marks(), l.Epoch()
				require.NoError(t, s.Close())
				s, l = reopen(l.ID())
				before.Synced = before.Written // closing syncs
				require.Equal(t, before, l.Marks())
				require.Equal(t, epoch, l.Epoch())
			},
			"kill": func(*rapid.T) {
				before, epoch := l.Marks(), l.Epoch()
				next := disk.restart()
				require.NoError(t, s.Close()) // close the old process's descriptors; its files are not read again
				disk = next
				s, l = reopen(l.ID())
				require.Equal(t, before.Visible, l.Marks().Visible)
				require.Equal(t, epoch, l.Epoch())
			},
		})
		require.NoError(t, s.Close())
		s, err := store.Open("/data", o)
		require.NoError(t, err)
		r, err := s.Check(ctx, "")
		require.NoError(t, err)
		require.Empty(t, r.Problems)
		require.NoError(t, s.Close())
	})
}

func TestListShowsTheNewestFirstWithoutOpeningLogs(t *testing.T) {
	ctx := context.Background()
	f := &faultFS{FS: newMemFS()}
	at := time.Date(2026, 2, 21, 14, 0, 0, 0, time.UTC)
	o := store.Options{FS: f, BootID: "b", Now: func() time.Time { at = at.Add(time.Second); return at }}
	s, err := store.Open("/data", o)
	require.NoError(t, err)
	logs := []*store.Log{create(t, s), create(t, s), create(t, s)}
	_, _, err = logs[1].Append(ctx, message("newest"))
	require.NoError(t, err)
	ids := func(s *store.Store) (all []string) {
		for _, m := range s.List() {
			all = append(all, m.SessionID)
		}
		return all
	}
	want := []string{logs[1].ID(), logs[2].ID(), logs[0].ID()}
	require.Equal(t, want, ids(s))
	require.NoError(t, s.Close())
	before := f.count()
	s, err = store.Open("/data", o)
	require.NoError(t, err)
	require.Equal(t, want, ids(s))
	for _, c := range f.trace()[before:] {
		require.NotContains(t, c.name, "events.jsonl")
	}
	require.NoError(t, s.Close())
}

func TestAnIdleLogLetsItsCachesGoAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		dir := t.TempDir()
		// With a wrapped FS the store does not watch the directory, so the time of
		// the bubble can advance.
		s := open(t, dir, store.Options{FS: struct{ store.FS }{store.OS()}, IdleAfter: 20 * time.Millisecond, SegmentBytes: 4000})
		l := create(t, s)
		appendN(t, l, 100)
		d := disk{t: t, root: dir, id: l.ID()}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Nil(t, onDisk(t, d).Writer, "an idle log must not be marked as open")
		requireGapless(t, readAll(t, l))
		_, _, err := l.Append(ctx, message("again"))
		require.NoError(t, err)
		require.NotNil(t, onDisk(t, d).Writer, "the log must be marked as open before its next line is written")
		requireGapless(t, readAll(t, l))
	})
}

func TestBlobsAreKeptOnceAndMovedOutOfPayloads(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	l := create(t, s)
	image := strings.Repeat("AAAA", 100<<10)
	long := strings.Repeat("l", 300<<10)
	data := fmt.Sprintf(`{"message_id":"m","content":{"type":"image","mimeType":"image/png","data":%q},"raw":{"deep":[{"text":%q},{"text":%q}],"small":1.50}}`, image, long, long)
	_, _, err := l.Append(ctx, event.Draft{Type: event.TypeAgentMessage, Data: []byte(data)})
	require.NoError(t, err)
	b, err := l.ReadAfter(ctx, 1, 1)
	require.NoError(t, err)
	require.Less(t, len(b.JSON), 20<<10)
	require.Contains(t, string(b.JSON), `"media_type":"image/png"`)
	require.Contains(t, string(b.JSON), `"bytes":307200`)
	require.Contains(t, string(b.JSON), `"small":1.50`, "small values must not be changed")
	// Many small values can still make a line too long.
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf(`"k%d":%q`, i, strings.Repeat("v", 100<<10)))
	}
	_, _, err = l.Append(ctx, event.Draft{Type: event.TypeNote, Data: []byte(`{` + strings.Join(many, ",") + `}`)})
	require.NoError(t, err)
	b, err = l.ReadAfter(ctx, 2, 1)
	require.NoError(t, err)
	require.Less(t, len(b.JSON), 1<<20)

	one, err := l.PutBlob(ctx, "text/plain", []byte("same"))
	require.NoError(t, err)
	two, err := l.PutBlob(ctx, "text/plain", []byte("same"))
	require.NoError(t, err)
	require.Equal(t, one, two)
	for _, sha := range []string{"", "../metadata.json", strings.Repeat("0", 64), strings.ToUpper(one.SHA256)} {
		_, err = l.OpenBlob(sha)
		require.ErrorIs(t, err, journal.ErrNotFound, sha)
	}
	require.NoError(t, l.FlushMetadata(ctx))
	requireSound(t, dir)
}

func TestIDsThatAreNoneNeverReachThePath(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	for _, id := range []string{"", "short", "../../../etc/passwd", "UPPERCASE1", "dots..dots", "with/slash", "nul\x00nul0", strings.Repeat("a", 65)} {
		require.False(t, journal.ValidID(id), id)
		_, err := s.Log(context.Background(), id)
		require.ErrorIs(t, err, journal.ErrInvalidID)
		_, err = s.SessionDir(id)
		require.ErrorIs(t, err, journal.ErrInvalidID)
	}
	l := create(t, s)
	require.Regexp(t, `^\d{8}-\d{6}-[0-9a-f]{8}$`, l.ID())
	require.True(t, journal.ValidID(l.ID()))
	_, err := s.Log(context.Background(), "20260101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
}

package usage_test

import (
	gocontext "context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/usage"
)

// shelf is a store with small files of a log, and a book of it.
type shelf struct {
	t     *testing.T
	store journal.Store
	book  *usage.Book
	read  []string
}

func newShelf(t *testing.T) *shelf {
	st, err := store.Open(t.TempDir(), store.Options{FS: struct{ store.FS }{store.OS()}, SegmentBytes: 2 << 10})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	s := &shelf{t: t, store: st.Journal(), book: usage.NewBook(st.Journal(), slog.New(slog.DiscardHandler))}
	s.book.OnRead(func(id string) { s.read = append(s.read, id) })
	return s
}

func (s *shelf) session() journal.Log {
	s.t.Helper()
	id, err := s.store.Create(s.t.Context(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(s.t, err)
	lease, err := s.store.Lease(s.t.Context(), id)
	require.NoError(s.t, err)
	log, err := lease.Log(s.t.Context())
	require.NoError(s.t, err)
	return log
}

func (s *shelf) append(log journal.Log, turn int, list ...event.Payload) {
	s.t.Helper()
	for _, p := range list {
		draft, err := event.NewDraft(p, turn, time.Now())
		require.NoError(s.t, err)
		_, _, err = log.Append(s.t.Context(), 0, draft)
		require.NoError(s.t, err)
	}
}

func (s *shelf) count(by usage.By) usage.Answer {
	s.t.Helper()
	a, err := s.book.Count(s.t.Context(), usage.Question{By: by, Zone: time.UTC, Most: 1000}, time.Minute)
	require.NoError(s.t, err)
	require.Zero(s.t, a.Behind)
	return a
}

// whole folds a log from its beginning.
func whole(t *testing.T, log journal.Log) []usage.Turn {
	t.Helper()
	f := usage.NewFold(log.Epoch())
	for after := event.Seq(0); ; {
		b, err := log.ReadAfter(t.Context(), after, 1<<20)
		require.NoError(t, err)
		if b.Empty() {
			return f.Counted()
		}
		for g := range b.Headers() {
			e, err := g.Event()
			require.NoError(t, err)
			f.Take(e)
		}
		after = b.Last
	}
}

// What is kept and read on is what the whole log says, whenever it is asked for and whatever
// becomes of the kept file.
func TestWhatIsKeptAndReadOnIsWhatTheLogSays(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newShelf(t)
			log, turn := s.session(), 0
			files, err := s.store.DerivedOf(log.ID())
			require.NoError(t, err)
			for range 250 {
				switch r.IntN(12) {
				case 0, 1:
					turn++
					s.append(log, turn, prompt())
				case 2, 3:
					s.append(log, turn, end(int64(r.IntN(5000)), int64(r.IntN(500))))
				case 4:
					s.append(log, turn, event.AgentStarted{Agent: []string{"a", "b"}[r.IntN(2)], AgentSessionID: []string{"x", "y"}[r.IntN(2)]})
				case 5, 6:
					s.append(log, turn, context(int64(r.IntN(4000))), call())
				case 7:
					s.append(log, turn, costs(float64(r.IntN(40))/4, []string{"USD", "EUR"}[r.IntN(2)]))
				case 8:
					s.append(log, turn, event.AgentMessage{Text: "usage \"type\":\"usage\" turn_end"})
				case 9:
					require.NoError(t, files.Write("usage.json", []byte(`{"format":1,"epo`)))
				case 10:
					require.NoError(t, files.Remove())
				default:
					a := s.count(usage.ByTurn)
					want := whole(t, log)
					require.Len(t, a.Rows, len(want))
					slices.SortFunc(a.Rows, func(x, y usage.Row) int { return x.Turn - y.Turn })
					for i, row := range a.Rows {
						require.Equal(t, want[i].Sum, row.Sum)
						require.True(t, want[i].At.Equal(row.At))
					}
				}
			}
		})
	}
}

// A log is read again only for its new events, and one without any is not opened.
func TestALogWithoutNewEventsIsNotRead(t *testing.T) {
	s := newShelf(t)
	one, other := s.session(), s.session()
	for _, log := range []journal.Log{one, other} {
		s.append(log, 1, prompt(), end(100, 10))
	}
	require.Equal(t, int64(220), s.count(usage.ByDay).Total.Tokens.Total)
	require.ElementsMatch(t, []string{one.ID(), other.ID()}, s.read)
	s.read = nil
	require.Equal(t, int64(220), s.count(usage.ByAgent).Total.Tokens.Total)
	require.Empty(t, s.read)
	s.append(other, 2, prompt(), end(1, 1))
	require.Equal(t, int64(222), s.count(usage.BySession).Total.Tokens.Total)
	require.Equal(t, []string{other.ID()}, s.read)
	s.read = nil
	s.append(one, 2, prompt())
	s.book.Keep(t.Context())
	s.book.Keep(t.Context())
	require.Equal(t, []string{one.ID()}, s.read)
}

func TestCountingEndsWithItsContextAndItsPatience(t *testing.T) {
	s := newShelf(t)
	s.append(s.session(), 1, prompt(), end(100, 10))
	gone, cancel := gocontext.WithCancel(t.Context())
	cancel()
	_, err := s.book.Count(gone, usage.Question{By: usage.ByDay, Zone: time.UTC, Most: 10}, time.Minute)
	require.ErrorIs(t, err, gocontext.Canceled)
	a, err := s.book.Count(t.Context(), usage.Question{By: usage.ByDay, Zone: time.UTC, Most: 10}, -1)
	require.NoError(t, err)
	require.Equal(t, 1, a.Behind)
	require.Zero(t, a.Total)
	require.Equal(t, int64(110), s.count(usage.ByDay).Total.Tokens.Total)
}

// Rows are by the group asked for; a turn counts on the day on which it began, in the zone.
func TestRowsAreByWhatIsAskedFor(t *testing.T) {
	s := newShelf(t)
	log := s.session()
	write := func(turn int, at string, list ...event.Payload) {
		when, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		for _, p := range list {
			draft, err := event.NewDraft(p, turn, when)
			require.NoError(t, err)
			_, _, err = log.Append(t.Context(), 0, draft)
			require.NoError(t, err)
		}
	}
	write(1, "2026-02-21T23:30:00Z", prompt(), end(100, 10))
	write(2, "2026-02-22T00:30:00Z", prompt(), end(200, 20))
	write(3, "2026-02-22T12:30:00Z", event.AgentStarted{Agent: "other"}, prompt(), end(5, 5))
	ask := func(q usage.Question) (got []string) {
		q.Most = max(q.Most, 1)
		a, err := s.book.Count(t.Context(), q, time.Minute)
		require.NoError(t, err)
		for _, r := range a.Rows {
			got = append(got, fmt.Sprint(r.Day, r.SessionID, r.Turn, r.Project, r.Agent, " ", r.Turns, " ", r.Tokens.Total))
		}
		return append(got, fmt.Sprint(a.LeftOut, " ", a.Total.Tokens.Total))
	}
	berlin := time.FixedZone("CET", 3600)
	require.Equal(t, []string{"2026-02-220 2 230", "2026-02-210 1 110", "0 340"}, ask(usage.Question{By: usage.ByDay, Zone: time.UTC, Most: 9}))
	require.Equal(t, []string{"2026-02-220 3 340", "0 340"}, ask(usage.Question{By: usage.ByDay, Zone: berlin, Most: 9}))
	require.Equal(t, []string{"0demo 2 330", "0other 1 10", "0 340"}, ask(usage.Question{By: usage.ByAgent, Zone: time.UTC, Most: 9}))
	require.Equal(t, []string{"0/w 3 340", "0 340"}, ask(usage.Question{By: usage.ByProject, Zone: time.UTC, Most: 9}))
	require.Equal(t, []string{log.ID() + "0/wdemo 3 340", "0 340"}, ask(usage.Question{By: usage.BySession, Zone: time.UTC, Most: 9}))
	require.Equal(t, []string{"2026-02-22" + log.ID() + "3/wother 1 10", "2 340"}, ask(usage.Question{By: usage.ByTurn, Zone: time.UTC, Most: 1}))
	midnight := time.Date(2026, 2, 22, 0, 0, 0, 0, time.UTC)
	require.Equal(t, []string{"2026-02-220 2 230", "0 230"}, ask(usage.Question{By: usage.ByDay, Zone: time.UTC, From: midnight, Most: 9}))
	require.Equal(t, []string{"2026-02-210 1 110", "0 110"}, ask(usage.Question{By: usage.ByDay, Zone: time.UTC, To: midnight, Most: 9}))
	require.Equal(t, []string{"2026-02-220 1 10", "0 10"}, ask(usage.Question{By: usage.ByDay, Zone: time.UTC, Agent: "other", Most: 9}))
	require.Equal(t, []string{"0 0"}, ask(usage.Question{By: usage.ByDay, Zone: time.UTC, Project: "/elsewhere"}))
	require.Equal(t, []string{"0 0"}, ask(usage.Question{By: usage.ByDay, Zone: time.UTC, Session: "20200101-000000-00000000"}))
}

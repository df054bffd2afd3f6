package list_test

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// newest lists the sessions as a journal does.
func newest(all []journal.Metadata) func(journal.Place) iter.Seq[journal.Metadata] {
	return func(behind journal.Place) iter.Seq[journal.Metadata] {
		var list []journal.Metadata
		for _, m := range all {
			if p := (journal.Place{UpdatedAt: m.UpdatedAt, SessionID: m.SessionID}); behind == (journal.Place{}) || p.Compare(behind) > 0 {
				list = append(list, m)
			}
		}
		slices.SortFunc(list, func(a, b journal.Metadata) int {
			return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(b.SessionID, a.SessionID))
		})
		return slices.Values(list)
	}
}

func line(m journal.Metadata) list.Info {
	return list.Info{SessionID: m.SessionID, Name: m.Name, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Archived: m.Archived, Tags: m.Tags}
}

// bytesOf makes up what a session takes; several take as much.
func bytesOf(info list.Info) int64 { return int64(info.CreatedAt.Second() % 4) }

func TestThePagesOfEachOrderHaveEverySessionOnce(t *testing.T) {
	at := time.Date(2026, 2, 21, 14, 3, 7, 0, time.UTC)
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var all []journal.Metadata
		for i := range random.IntN(40) {
			all = append(all, journal.Metadata{
				SessionID: fmt.Sprintf("s-%02d", i), Name: []string{"", "B", "a", "b", "Ä"}[random.IntN(5)], Archived: random.IntN(4) == 0,
				CreatedAt: at.Add(time.Duration(random.IntN(9)) * time.Second), UpdatedAt: at.Add(time.Duration(random.IntN(9)) * time.Second),
			})
		}
		inOrder := map[list.Sort]func(a, b list.Info) int{
			"":             func(a, b list.Info) int { return b.UpdatedAt.Compare(a.UpdatedAt) },
			list.ByUpdated: func(a, b list.Info) int { return b.UpdatedAt.Compare(a.UpdatedAt) },
			list.ByCreated: func(a, b list.Info) int { return b.CreatedAt.Compare(a.CreatedAt) },
			list.ByName:    func(a, b list.Info) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
			list.BySize:    func(a, b list.Info) int { return int(bytesOf(b) - bytesOf(a)) },
		}
		var wanted []string
		for _, m := range all {
			if !m.Archived {
				wanted = append(wanted, m.SessionID)
			}
		}
		var own []journal.Metadata
		var others []list.Info
		for m := range newest(all)(journal.Place{}) {
			if seed%2 == 0 || random.IntN(2) == 0 {
				own = append(own, m)
				continue
			}
			info := line(m)
			info.Machine = &state.Machine{ID: "m", Name: "laptop"}
			others = append(others, info)
		}
		for sort, order := range inOrder {
			limit := 1 + random.IntN(12)
			var got []list.Info
			for cursor := ""; ; {
				page, err := list.Options{Sort: sort, Bytes: bytesOf, Limit: limit, Cursor: cursor, Others: given(others)}.Page(newest(own), line)
				require.NoError(t, err)
				if cursor == "" {
					require.Equal(t, len(wanted), page.Total, "the first page counts all")
				} else {
					require.Zero(t, page.Total)
				}
				got = append(got, page.Sessions...)
				if cursor = page.NextCursor; cursor == "" {
					break
				}
				require.Len(t, page.Sessions, limit)
			}
			require.True(t, slices.IsSortedFunc(got, order), sort)
			var ids []string
			for _, info := range got {
				ids = append(ids, info.SessionID)
			}
			require.ElementsMatch(t, wanted, ids, "seed %d, %s, pages of %d", seed, sort, limit)
		}
	}
}

func TestTheListIsNarrowedByAllItsTags(t *testing.T) {
	all := []journal.Metadata{
		{SessionID: "a", Tags: []string{"release", "Later"}}, {SessionID: "b", Tags: []string{"release"}}, {SessionID: "c", Name: "release"},
		{SessionID: "d", Tags: []string{"release", "Later"}, Archived: true},
	}
	ids := func(o list.Options) (ids []string) {
		page, err := o.Page(newest(all), line)
		require.NoError(t, err)
		require.Equal(t, len(page.Sessions), page.Total)
		for _, s := range page.Sessions {
			ids = append(ids, s.SessionID)
		}
		return ids
	}
	require.Equal(t, []string{"b", "a"}, ids(list.Options{Tags: []string{"release"}}))
	require.Equal(t, []string{"a"}, ids(list.Options{Tags: []string{"Later", "release"}}))
	require.Equal(t, []string{"d", "a"}, ids(list.Options{Tags: []string{"Later"}, Status: "all"}))
	require.Empty(t, ids(list.Options{Tags: []string{"later"}}))
	require.Equal(t, []string{"a"}, ids(list.Options{Query: "LATER"}), "words find tags")
	require.Equal(t, []string{"c", "b", "a"}, ids(list.Options{Query: "release"}))
}

func TestTheListIsNarrowedByMachine(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	own := []journal.Metadata{{SessionID: "a", UpdatedAt: at(1)}, {SessionID: "b", UpdatedAt: at(3)}}
	others := []list.Info{
		{SessionID: "c", UpdatedAt: at(4), Machine: &state.Machine{ID: "m", Name: "Laptop"}}, {SessionID: "d", UpdatedAt: at(2), Machine: &state.Machine{ID: "n", Name: "build box"}},
	}
	ids := func(o list.Options) (ids string) {
		o.Others = given(others)
		page, err := o.Page(newest(own), line)
		require.NoError(t, err)
		for _, s := range page.Sessions {
			ids += s.SessionID
		}
		return ids
	}
	require.Equal(t, "cbda", ids(list.Options{}))
	require.Equal(t, "ba", ids(list.Options{Machine: list.Here}))
	require.Equal(t, "d", ids(list.Options{Machine: "n"}))
	require.Equal(t, "c", ids(list.Options{Query: "laptop"}))
}

func TestASessionExpiresByAgeAndWithoutItsWorkspace(t *testing.T) {
	now := time.Date(2026, 2, 21, 14, 3, 7, 0, time.UTC)
	after := 24 * time.Hour
	old, recent, folder := now.Add(-after), now.Add(-after+time.Second), t.TempDir()
	gone := filepath.Join(folder, "gone")
	require.NoError(t, os.Mkdir(gone, 0o700))
	all := []journal.Metadata{
		{SessionID: "a-recent", UpdatedAt: recent, Workspace: folder}, {SessionID: "b-old", UpdatedAt: old, Workspace: folder},
		{SessionID: "c-resumable", UpdatedAt: old, Workspace: folder, Resumable: true}, {SessionID: "d-running", UpdatedAt: old, Workspace: folder, Status: "running"},
		{SessionID: "e-ended", UpdatedAt: old, Workspace: folder, Status: "ended"}, {SessionID: "f-gone", UpdatedAt: recent, Workspace: gone},
		{SessionID: "g-gone, paused", UpdatedAt: recent, Workspace: gone, Status: "paused"}, {SessionID: "h-imported", UpdatedAt: old, Workspace: gone, Imported: true},
		{SessionID: "i-failed job", UpdatedAt: old, Workspace: folder, Status: "ended", Job: &event.Job{}, JobLine: &event.JobLine{Status: event.JobFailed}},
	}
	lines := list.Lines{Forks: list.NewForks(), Expiry: list.NewExpiry(func() time.Duration { return after }, func() time.Time { return now })}
	of := func() map[state.Lifecycle]string {
		found, sum := map[state.Lifecycle]string{}, 0
		for _, l := range state.Lifecycle("").Values() {
			page, err := list.Options{Lifecycle: state.Lifecycle(l), Sort: list.ByCreated}.Page(newest(all), func(m journal.Metadata) list.Info { return lines.Of(m, m.SessionID == "z") })
			require.NoError(t, err)
			sum += page.Total
			var ids string
			for _, s := range page.Sessions {
				ids = s.SessionID[:1] + ids
			}
			found[state.Lifecycle(l)] = ids
		}
		require.Equal(t, len(all), sum, "each has one")
		return found
	}
	want := map[state.Lifecycle]string{"active": "acdf", "paused": "g", "completed": "eh", "failed": "i", "expired": "b"}
	require.Equal(t, want, of())
	expired := func() []string { return lines.Expiry.Look(t.Context(), slices.Values(all)) }
	expired() // as at the start
	require.Empty(t, expired())
	require.Equal(t, want, of())
	require.NoError(t, os.Remove(gone))
	require.Equal(t, []string{"f-gone", "g-gone, paused"}, expired(), "the list is told")
	want["active"], want["expired"] = "acd", "bf"
	require.Equal(t, want, of())
	require.NoError(t, os.Mkdir(gone, 0o700))
	require.Equal(t, []string{"f-gone", "g-gone, paused"}, expired())
	after = 0
	require.Equal(t, map[state.Lifecycle]string{"active": "abcdf", "paused": "g", "completed": "eh", "failed": "i", "expired": ""}, of())
	require.ErrorIs(t, list.CheckLifecycle("done"), state.ErrInvalid)
}

func TestAnUnknownOrderAndTheCursorOfAnotherAreRefused(t *testing.T) {
	all := []journal.Metadata{{SessionID: "a", Name: "a"}, {SessionID: "b", Name: "b"}}
	_, err := list.Options{Sort: "age"}.Page(newest(all), line)
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "sort is one of updated, created, name, size")
	page, err := list.Options{Sort: list.ByName, Limit: 1}.Page(newest(all), line)
	require.NoError(t, err)
	for _, other := range []list.Sort{"", list.ByUpdated, list.ByCreated, list.BySize} {
		_, err = list.Options{Sort: other, Cursor: page.NextCursor}.Page(newest(all), line)
		require.ErrorIs(t, err, state.ErrInvalid, other)
	}
}

// An earlier version kept tags as they were typed.
func TestATagIsFoundInEachFormOfUnicode(t *testing.T) {
	old := journal.Metadata{SessionID: "20260221-140307-9f3a11c0", Tags: []string{"cafe\u0301"}}
	all := func(journal.Place) iter.Seq[journal.Metadata] {
		return func(yield func(journal.Metadata) bool) { yield(old) }
	}
	line := func(m journal.Metadata) list.Info { return list.Info{SessionID: m.SessionID, Tags: m.Tags} }
	for tag, want := range map[string]int{"caf\u00e9": 1, "cafe\u0301": 1, "cafe": 0} {
		page, err := list.Options{Tags: []string{tag}}.Page(all, line)
		require.NoError(t, err)
		require.Len(t, page.Sessions, want, "%+q", tag)
	}
}

// given are lines in their order.
type given []list.Info

func (g given) Len() int { return len(g) }

func (g given) Place(i int) journal.Place {
	return journal.Place{UpdatedAt: g[i].UpdatedAt, SessionID: g[i].SessionID}
}

func (g given) Line(i int) (list.Info, bool) { return g[i], true }

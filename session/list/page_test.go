package list_test

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	return list.Info{SessionID: m.SessionID, Name: m.Name, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt}
}

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
		}
		var wanted []string
		for _, m := range all {
			if !m.Archived {
				wanted = append(wanted, m.SessionID)
			}
		}
		for sort, order := range inOrder {
			limit := 1 + random.IntN(12)
			var got []list.Info
			for cursor := ""; ; {
				page, err := list.Options{Sort: sort, Limit: limit, Cursor: cursor}.Page(newest(all), line)
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

func TestAnUnknownOrderAndTheCursorOfAnotherAreRefused(t *testing.T) {
	all := []journal.Metadata{{SessionID: "a", Name: "a"}, {SessionID: "b", Name: "b"}}
	_, err := list.Options{Sort: "size"}.Page(newest(all), line)
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "sort is one of updated, created, name")
	page, err := list.Options{Sort: list.ByName, Limit: 1}.Page(newest(all), line)
	require.NoError(t, err)
	for _, other := range []list.Sort{"", list.ByUpdated, list.ByCreated} {
		_, err = list.Options{Sort: other, Cursor: page.NextCursor}.Page(newest(all), line)
		require.ErrorIs(t, err, state.ErrInvalid, other)
	}
}

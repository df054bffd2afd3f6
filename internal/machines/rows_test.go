package machines

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// The order of rows is that of all rows sorted, after any changes, and one that was asked for
// before stays as it was.
func TestRowsStayInOrderWhateverChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := newRows()
	rowOf := func(i int) state.Info {
		return state.Info{SessionID: fmt.Sprintf("20261129-000000-%08x", i), UpdatedAt: time.Unix(int64(random.IntN(50)), 0).UTC()}
	}
	for range 300 {
		machine, m := fmt.Sprint(random.IntN(3)), rowsMessage{}
		for range random.IntN(2 * mostPlaced) {
			m.Rows = append(m.Rows, rowOf(random.IntN(40)))
		}
		for range random.IntN(4) {
			m.Gone = append(m.Gone, rowOf(random.IntN(40)).SessionID)
		}
		before := r.newest()
		was := slices.Clone(before)
		_, err := r.take(machine, m)
		require.NoError(t, err)
		require.Equal(t, was, before)
		now := r.newest()
		require.True(t, slices.IsSortedFunc(now, compareRows))
		require.Len(t, now, len(r.all))
		for _, one := range now {
			require.Same(t, r.all[one.info.SessionID], one)
		}
	}
}

// BenchmarkAListOfTenMachines is a first page of ten machines with 10,000 sessions each, one of
// which changes between any two.
func BenchmarkAListOfTenMachines(b *testing.B) {
	h, err := OpenHome(HomeOptions{Dir: b.TempDir(), ID: "0123456789abcdef"})
	require.NoError(b, err)
	defer h.Close()
	began := time.Now()
	row := func(machine, i, second int) state.Info {
		at := began.Add(time.Duration(second) * time.Second)
		return state.Info{SessionID: fmt.Sprintf("20261129-000000-%08x", machine*10_000+i), Name: "a session", CreatedAt: began, UpdatedAt: at, Status: state.StatusIdle}
	}
	for machine := range 10 {
		id := fmt.Sprintf("%016x", machine+1)
		h.record.Machines = append(h.record.Machines, machineRecord{ID: id, Name: id})
		var rows []state.Info
		for i := range 10_000 {
			rows = append(rows, row(machine, i, i*7%10_000))
		}
		_, err := h.rows.take(id, rowsMessage{First: true, Rows: rows})
		require.NoError(b, err)
	}
	none := func(journal.Place) iter.Seq[journal.Metadata] { return func(func(journal.Metadata) bool) {} }
	h.Lines()
	for i := 0; b.Loop(); i++ {
		_, err := h.rows.take(fmt.Sprintf("%016x", 1), rowsMessage{Rows: []state.Info{row(0, 5, 20_000+i)}})
		require.NoError(b, err)
		page, err := list.Options{Limit: 30, Others: h.Lines()}.Page(none, nil)
		require.NoError(b, err)
		require.Equal(b, 100_000, page.Total)
	}
}

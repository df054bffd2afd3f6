package snapshot_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/snapshot"
	"github.com/abidehub/abide/session/store"
)

// BenchmarkSnapshot measures a session of 10,000 events: made from the log, saved after ten
// events more, and loaded.
func BenchmarkSnapshot(b *testing.B) {
	open, err := store.Open(b.TempDir(), store.Options{})
	require.NoError(b, err)
	defer open.Close()
	st := open.Journal()
	id, err := st.Create(b.Context(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(b, err)
	lease, err := st.Lease(b.Context(), id)
	require.NoError(b, err)
	log, err := lease.Log(b.Context())
	require.NoError(b, err)
	turn := 0
	ten := func() {
		turn++
		list := []event.Payload{prompt("Please look at this and that, and mend it."), event.TurnStart{PromptID: "p"}}
		for i := range 5 {
			list = append(list, says(fmt.Sprint(turn), fmt.Sprintf("A sentence of an answer, number %d of many. ", i)))
		}
		list = append(list, runs(fmt.Sprint(turn), "go test ./...", strings.Repeat("ok some/package 0.1s\n", 20), event.ToolCompleted),
			edits("e", fmt.Sprintf("/w/%d.go", turn%50), "", strings.Repeat("func f() {}\n", 50)), end())
		var drafts []event.Draft
		for _, p := range list {
			draft, err := event.NewDraft(p, turn, time.Now())
			require.NoError(b, err)
			drafts = append(drafts, draft)
		}
		_, _, err := log.Append(b.Context(), 0, drafts...)
		require.NoError(b, err)
	}
	for range 1000 {
		ten()
	}
	book := snapshot.NewBook(st, slog.New(slog.DiscardHandler))
	files, err := st.DerivedOf(id)
	require.NoError(b, err)
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, files.Remove())
			_, err := book.Save(b.Context(), id)
			require.NoError(b, err)
		}
	})
	b.Run("save", func(b *testing.B) {
		for b.Loop() {
			ten()
			_, err := book.Save(b.Context(), id)
			require.NoError(b, err)
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			_, stored, err := book.Read(b.Context(), id)
			require.NoError(b, err)
			b.ReportMetric(float64(stored.Bytes)/float64(stored.Size), "ratio")
			b.ReportMetric(float64(stored.Size)/1024, "KiB")
		}
	})
}

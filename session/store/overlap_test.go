package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// TestACopyOfACompleteFileTakesNothingAway puts files beside those of a log whose
// names say seqs that others have. Every event is read as before, and the check tells.
func TestACopyOfACompleteFileTakesNothingAway(t *testing.T) {
	type names struct{ first, last event.Seq }
	for name, test := range map[string]struct {
		of int // the file that is copied
		as func(first, last event.Seq) names
	}{
		"within its own":               {of: 2, as: func(first, last event.Seq) names { return names{first + 1, last - 1} }},
		"within its own, from there":   {of: 2, as: func(first, last event.Seq) names { return names{first, last - 1} }},
		"within its own, to there":     {of: 2, as: func(first, last event.Seq) names { return names{first + 1, last} }},
		"around others":                {of: 2, as: func(first, last event.Seq) names { return names{first - 10, last + 10} }},
		"around all before it":         {of: 2, as: func(_, last event.Seq) names { return names{1, last + 3} }},
		"into the next":                {of: 2, as: func(first, last event.Seq) names { return names{first, last + 3} }},
		"into the one before":          {of: 2, as: func(first, last event.Seq) names { return names{first - 3, last} }},
		"the first as the second":      {of: 0, as: func(_, last event.Seq) names { return names{last + 1, last + 5} }},
		"the first as it, and further": {of: 0, as: func(first, last event.Seq) names { return names{first, last + 40} }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d, events, sealed := inFiles(t)
			as := test.as(bounds(t, sealed[test.of]))
			copied := d.path(store.SealedName(as.first, as.last))
			require.NoFileExists(t, copied)
			data, err := os.ReadFile(sealed[test.of])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(copied, data, 0o600))

			r, err := store.Check(ctx, d.root, d.id)
			require.NoError(t, err)
			require.Len(t, r.Problems, 1)
			require.Equal(t, []string{store.ProblemOverlap, filepath.Base(copied)}, []string{r.Problems[0].Kind, r.Problems[0].File})
			require.Contains(t, r.Problems[0].Detail, "move it out")
			require.EqualValues(t, len(events), r.Events)

			for range 2 {
				o := d.open(store.Options{SegmentBytes: 2000, TailBytes: 1})
				require.Equal(t, events, readAll(t, o.log))
				require.Zero(t, o.log.Health().Damage)
				o.close()
				_, err = store.Repair(ctx, d.root, "", store.Options{})
				require.NoError(t, err)
				require.FileExists(t, copied)
				require.Equal(t, []string{store.ProblemOverlap}, kinds(t, d))
			}
			require.NoError(t, os.Remove(copied))
			requireSound(t, d.root)
		})
	}
}

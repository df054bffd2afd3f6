package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

// TestCheckAndRepairAgree damages a directory. Repair must leave the problems that
// check called unrepairable, report all others as mended, and report nothing when
// it runs again.
func TestCheckAndRepairAgree(t *testing.T) {
	ctx := context.Background()
	for name, test := range map[string]struct {
		damage func(d disk, sealed []string)
		acts   bool
	}{
		"the end of the log lost":  {func(d disk, _ []string) { l := d.lines(); d.setLines(l[:len(l)-1]) }, true},
		"the active file lost":     {func(d disk, _ []string) { require.NoError(d.t, os.Remove(d.path("events.jsonl"))) }, true},
		"the first file lost":      {func(d disk, sealed []string) { require.NoError(d.t, os.Remove(sealed[0])) }, false},
		"a file in between lost":   {func(d disk, sealed []string) { require.NoError(d.t, os.Remove(sealed[3])) }, false},
		"hub.json lost":            {func(d disk, _ []string) { require.NoError(d.t, os.Remove(filepath.Join(d.root, "hub.json"))) }, true},
		"hub.json others may read": {func(d disk, _ []string) { require.NoError(d.t, os.Chmod(filepath.Join(d.root, "hub.json"), 0o644)) }, true},
		"hub.json garbage": {func(d disk, _ []string) {
			require.NoError(d.t, os.WriteFile(filepath.Join(d.root, "hub.json"), []byte("{"), 0o600))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, sealed := inFiles(t)
			test.damage(d, sealed)
			before, err := store.Check(ctx, d.root, "")
			require.NoError(t, err)
			require.NotEmpty(t, before.Problems)
			var stay, left []string
			for _, p := range before.Problems {
				if !p.Repairable {
					stay = append(stay, p.Kind)
				}
			}
			r, err := store.Repair(ctx, d.root, "", store.Options{})
			require.NoError(t, err)
			require.Equal(t, test.acts, len(r.Actions) > 0, "%v", r.Actions)
			after, err := store.Check(ctx, d.root, "")
			require.NoError(t, err)
			for _, p := range after.Problems {
				left = append(left, p.Kind)
			}
			require.Equal(t, stay, left)
			r, err = store.Repair(ctx, d.root, "", store.Options{})
			require.NoError(t, err)
			require.Empty(t, r.Actions)
		})
	}
}

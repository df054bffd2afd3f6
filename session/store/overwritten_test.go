package store_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

// The beginning of a log was overwritten in place with that of another one. Neither its
// time nor the checkpoint behind tells, but the first line does.
func TestALogThatWasOverwrittenWithAnothersBeginningIsNotServed(t *testing.T) {
	ctx := context.Background()
	for _, how := range []string{"later", "with its time kept", "while a hub was killed"} {
		t.Run(how, func(t *testing.T) {
			a, b, _, _ := twins(t)
			before, err := os.Stat(a.path("events.jsonl"))
			require.NoError(t, err)
			if how == "while a hub was killed" {
				o := a.open(store.Options{SegmentBytes: 1 << 20})
				appendN(t, o.log, 20)
				require.NoError(t, o.log.FlushMetadata(ctx))
				open := a.read("metadata.json")
				require.Contains(t, string(open), `"writer"`)
				require.NoError(t, o.store.Close())
				a.write("metadata.json", open)
			}
			f, err := os.OpenFile(a.path("events.jsonl"), os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = f.WriteAt(b.lines()[0], 0)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			if how != "later" {
				require.NoError(t, os.Chtimes(a.path("events.jsonl"), before.ModTime(), before.ModTime()))
			}
			told := fmt.Sprintf("it belongs to session %q; it is moved to quarantine when the session is opened", b.id)
			require.Contains(t, problems(t, a), told)
			o := a.open(store.Options{TailBytes: 1})
			for _, e := range readAll(t, o.log) {
				require.NotContains(t, string(e.Data), b.id)
			}
			require.Contains(t, o.log.Health().Foreign, b.id)
			requireAppends(t, o.log)
			require.NoError(t, o.store.Close())
			require.NotContains(t, problems(t, a), "belongs to", "what check said would be done was done")
			r, err := store.Repair(ctx, a.root, a.id, store.Options{})
			require.NoError(t, err)
			require.Empty(t, r.Actions)
		})
	}
}

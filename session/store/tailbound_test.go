package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// The tail in memory is limited, also while a reader follows. Older events are read
// from the file.
func TestOfALongLogOnlyTheEndIsInMemory(t *testing.T) {
	ctx := context.Background()
	f := &faultFS{FS: store.OS()}
	l := create(t, open(t, t.TempDir(), store.Options{FS: f}))
	last, text := event.Seq(0), strings.Repeat("x", 32<<10)
	for range 3 << 20 / len(text) {
		_, seq, err := l.Append(ctx, message(text))
		require.NoError(t, err)
		b, err := l.ReadAfter(ctx, seq-1, 1<<20)
		require.NoError(t, err)
		require.Equal(t, seq, b.Last)
		last = seq
	}
	reads := func(after event.Seq) (n int) {
		f.forget()
		_, err := l.ReadAfter(ctx, after, 1<<10)
		require.NoError(t, err)
		for _, c := range f.trace() {
			if c.op == "read" {
				n++
			}
		}
		return n
	}
	require.Zero(t, reads(last-8), "a quarter of a MiB from the end")
	require.Positive(t, reads(last-48), "one and a half MiB from the end")
}

package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// Copies are flushed each second. That a disk is full is logged once for all of them, another
// failure once for each, until it changes.
func TestWhyCopiesCannotBeFlushedIsLoggedOnce(t *testing.T) {
	for cause, lines := range map[error]int{syscall.ENOSPC: 1, syscall.EIO: 3} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer // only the flusher writes it
			f := &faultFS{FS: newMemFS()}
			copies, err := store.OpenCopies(copiesDir, store.CopyOptions{FS: f, Logger: slog.New(slog.NewTextHandler(&said, nil))})
			require.NoError(t, err)
			describe := func(name string) {
				for _, id := range []string{"20261129-000000-0000000a", "20261129-000000-0000000b", "20261129-000000-0000000c"} {
					require.NoError(t, copyOf(t, copies, id).SetMetadata(journal.Metadata{SessionID: id, Name: name}))
				}
			}
			count := func() int {
				time.Sleep(10 * time.Second)
				synctest.Wait()
				return strings.Count(said.String(), "cannot be flushed")
			}
			describe("before")
			for round := range 3 {
				f.set(func(_ int, op, _ string) error {
					if writes(op) {
						return cause
					}
					return nil
				})
				describe("a")
				require.Equal(t, (round+1)*lines, count(), "%s", &said)
				describe("b")
				require.Equal(t, (round+1)*lines, count(), "%s", &said)
				f.set(nil)
				require.Equal(t, (round+1)*lines, count())
			}
			require.NoError(t, copies.Close())
		})
	}
}

package store_test

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// Check must report each finding that a repair then mends, and nothing if the
// repair has nothing to do.
func TestCheckTellsOfAllThatOpeningASessionDoes(t *testing.T) {
	bornFS(t)
	for name, c := range map[string]struct {
		do   func(t *testing.T, d disk)
		kind string // of the only problem; empty for a note
		says string
	}{
		"nothing": {do: func(*testing.T, disk) {}},
		"a session directory put back from a backup": {
			do: func(t *testing.T, d disk) {
				out, err := exec.Command("cp", "-a", d.dir(), d.root+"/copy").CombinedOutput()
				require.NoError(t, err, string(out))
				require.NoError(t, os.RemoveAll(d.dir()))
				require.NoError(t, os.Rename(d.root+"/copy", d.dir()))
			},
			says: "a copy",
		},
		"a backup written over the files": {
			do: func(t *testing.T, d disk) {
				restore := putInPlace(t, d, "*")
				d.goneOn(store.Options{}, 5)
				restore()
			},
			says: "a copy",
		},
		"a machine that stopped": {
			do: func(t *testing.T, d disk) {
				s := open(t, d.root, store.Options{BootID: "another"})
				l, err := s.Log(t.Context(), d.id)
				require.NoError(t, err)
				_, _, err = l.Append(t.Context(), prompt("p"))
				require.NoError(t, err)
				running := d.read("metadata.json")
				require.NoError(t, s.Close())
				running = running[:bytes.LastIndex(running, []byte(`,"crc"`))]
				running = running[:bytes.LastIndex(running, []byte(`,"born"`))] // otherwise it counts as a copy
				d.write("metadata.json", withCRC(append(running, "}\n"...)))
			},
			says: "the machine stopped",
		},
		"a device that failed": {
			do: func(t *testing.T, d disk) {
				f := &faultFS{FS: store.OS()}
				s := open(t, d.root, store.Options{FS: f})
				l, err := s.Log(t.Context(), d.id)
				require.NoError(t, err)
				f.set(nthOf(1, "datasync", "events", syscall.EIO))
				_, _, err = l.Append(t.Context(), prompt("p"))
				require.ErrorIs(t, err, journal.ErrFrozen)
				_ = s.Close() // it returns the log's freezing as an error
			},
			says: "the device failed",
		},
		"a file half made": {
			do:   func(_ *testing.T, d disk) { d.write("metadata.json.tmp", []byte("{")) },
			says: "half made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 10)
			c.do(t, d)
			files := snapshotDir(t, d.root)
			before, err := store.Check(t.Context(), d.root, "")
			require.NoError(t, err)
			require.Equal(t, files, snapshotDir(t, d.root))
			said := append(append([]store.Problem{}, before.Problems...), before.Notes...)
			if c.says == "" {
				require.Empty(t, said)
			} else {
				what := said[len(said)-1] // a line about the old metadata may precede it
				require.Contains(t, what.Detail, c.says)
				require.NotContains(t, what.Detail, d.root)
				require.True(t, what.Repairable)
				if c.kind == "" {
					require.Empty(t, before.Problems)
				} else {
					require.Len(t, said, 1, "%v", said)
					require.Equal(t, c.kind, what.Kind)
				}
			}
			r, err := store.Repair(t.Context(), d.root, "", store.Options{})
			require.NoError(t, err)
			require.Empty(t, r.Problems)
			require.Equal(t, len(said) == 0, len(r.Actions) == 0, "%v", r.Actions)
			for range 2 {
				after, err := store.Check(t.Context(), d.root, "")
				require.NoError(t, err)
				require.Empty(t, after.Problems)
				require.Empty(t, after.Notes)
				r, err = store.Repair(t.Context(), d.root, "", store.Options{})
				require.NoError(t, err)
				require.Empty(t, r.Actions)
			}
		})
	}
}

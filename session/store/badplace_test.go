package store_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

// A bad sector of the device stays. The error names a remedy, and the remedy works.
func TestAFileThatTheDeviceNeverGivesBackNamesTheWayOut(t *testing.T) {
	for name, repair := range map[string]func(d disk){
		"metadata.json": disk.withoutMetadata,
		"events.jsonl": func(d disk) { // as a copy with zeros in place of the unreadable bytes
			data := d.read("events.jsonl")
			clear(data[600:900])
			d.write("events.jsonl", data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 20)
			if name == "events.jsonl" {
				d.withoutMetadata() // so that opening reads every line
			}
			f := &faultFS{FS: store.OS()}
			bad := true
			f.set(func(_ int, op, path string) error {
				if bad && strings.HasPrefix(op, "read") && filepath.Base(path) == name {
					return syscall.EIO
				}
				return nil
			})
			r, err := store.Repair(t.Context(), d.root, d.id, store.Options{FS: f})
			require.NoError(t, err)
			require.Len(t, r.Problems, 1)
			said := r.Problems[0].Detail
			require.Contains(t, said, "copy "+name+" elsewhere")
			require.Contains(t, said, "abide repair "+d.id)
			s := open(t, d.root, store.Options{FS: f})
			_, err = s.Log(t.Context(), d.id)
			require.ErrorContains(t, err, "abide repair "+d.id)
			require.NoError(t, s.Close())

			bad = false
			repair(d)
			r, err = store.Repair(t.Context(), d.root, d.id, store.Options{FS: f})
			require.NoError(t, err)
			require.Empty(t, r.Problems)
			o := d.open(store.Options{})
			requireGapless(t, readAll(t, o.log))
			requireAppends(t, o.log)
			o.close()
		})
	}
}

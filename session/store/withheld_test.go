package store_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestASessionWhoseMetadataTheSystemDoesNotGiveBackIsRefusedAndIsWholeTheNextTime(t *testing.T) {
	for _, file := range []string{"metadata.json", "labels.json"} {
		for _, cause := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
			t.Run(file+" "+cause.Error(), func(t *testing.T) {
				ctx := context.Background()
				o := recorded(t, 10).open(store.Options{})
				o.log.UpdateMetadata(func(m *journal.Metadata) {
					m.AgentSessionID, m.Status, m.Name, m.Named = "resume me", "idle", "Mine", true
				})
				epoch := o.log.Epoch()
				d := o.close()
				before := snapshotDir(t, d.dir())
				f := &faultFS{FS: store.OS()}
				s := open(t, d.root, store.Options{FS: f})
				f.set(nthOf(1, "readfile", file, cause))
				_, err := s.Log(ctx, d.id)
				require.ErrorIs(t, err, cause)
				require.Equal(t, before, snapshotDir(t, d.dir()), "a file was changed")
				require.Len(t, s.List(), 1, "the session is not listed")
				l, err := s.Log(ctx, d.id)
				require.NoError(t, err)
				require.Equal(t, epoch, l.Epoch())
				m := l.Metadata()
				require.Equal(t, []string{"resume me", "idle", "Mine"}, []string{m.AgentSessionID, m.Status, m.Name})
			})
		}
	}
}

func TestDamagedMetadataIsNotReplacedBeforeItCouldBeKept(t *testing.T) {
	d := recorded(t, 10)
	garbled := []byte(`{"format":1,"agent_session_id":"resu`)
	d.write("metadata.json", garbled)
	f := &faultFS{FS: store.OS()}
	s := open(t, d.root, store.Options{FS: f})
	f.set(func(_ int, op, name string) error {
		if op == "open" && filepath.Base(name) == "metadata.json" {
			return syscall.EMFILE
		}
		return nil
	})
	_, err := s.Log(context.Background(), d.id)
	require.ErrorIs(t, err, syscall.EMFILE)
	require.Equal(t, garbled, d.read("metadata.json"))
	f.set(nil)
	l, err := s.Log(context.Background(), d.id)
	require.NoError(t, err)
	require.Equal(t, [][]byte{garbled}, d.quarantined())
	requireAppends(t, l)
}

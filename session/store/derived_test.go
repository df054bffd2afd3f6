package store_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

func TestADerivedFileIsReplacedWholeAndRemovedWithItsFolder(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, store.Options{})
	l := create(t, s)
	for name, d := range map[string]store.Derived{"of a session": l.Derived(), "of all": s.Derived()} {
		t.Run(name, func(t *testing.T) {
			_, err := d.Read("x.json")
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, d.Write("x.json", []byte("long before")))
			require.NoError(t, d.Write("x.json", []byte("after")))
			data, err := d.Read("x.json")
			require.NoError(t, err)
			require.Equal(t, "after", string(data))
			require.NoError(t, d.Remove())
			_, err = d.Read("x.json")
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
	require.NoError(t, l.Derived().Write("x.json", []byte("not JSON, which no check reports")))
	require.NoError(t, s.Close())
	requireSound(t, root)
}

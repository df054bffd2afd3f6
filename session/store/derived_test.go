package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

func TestACheckLooksAtNoDerivedFile(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, store.Options{})
	require.NoError(t, create(t, s).Derived().Write("x.json", []byte("not JSON")))
	require.NoError(t, s.Derived().Write("x.json", []byte("not JSON")))
	require.NoError(t, s.Close())
	requireSound(t, root)
}

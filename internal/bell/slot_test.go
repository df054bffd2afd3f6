package bell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/bell"
)

func TestASlotKeepsRingsAsOneUntilTheyAreHeard(t *testing.T) {
	s := bell.NewSlot()
	require.Empty(t, s.C())
	s.Ring()
	s.Ring()
	require.Len(t, s.C(), 1)
	<-s.C()
	require.Empty(t, s.C())
}

package seed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/seed"
)

func TestTheSeedIsFixedButInASoak(t *testing.T) {
	t.Setenv("ABIDE_SOAK", "")
	t.Setenv("ABIDE_SOAK_SEED", "")
	require.Equal(t, uint64(1), seed.Of(t))
	t.Setenv("ABIDE_SOAK", "1")
	require.NotEqual(t, seed.Of(t), seed.Of(t))
	t.Setenv("ABIDE_SOAK_SEED", "7")
	require.Equal(t, uint64(7), seed.Of(t))
}

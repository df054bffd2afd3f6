package api

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/preview"
)

func TestAPictureBehindASlowOneHasNoPreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := make(previews, 1)
		p <- struct{}{} // another is decoded, for ever
		_, _, err := p.of(t.Context(), bytes.NewReader(nil))
		require.ErrorIs(t, err, preview.ErrNone)
	})
}

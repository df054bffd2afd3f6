package acp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
)

// BenchmarkBurst measures updates from the demo agent's prompt to the sink.
func BenchmarkBurst(b *testing.B) {
	t := testing.TB(b)
	s := newSink()
	cfg := config(t, "demo")
	cfg.Workspace = b.TempDir()
	a, err := acp.Start(b.Context(), cfg, s)
	require.NoError(b, err)
	b.ResetTimer()
	require.NoError(b, a.Prompt(prompt("p", fmt.Sprintf("/burst %d", b.N))))
	ended(t, s, "p")
	b.StopTimer()
	require.NoError(b, a.Stop(b.Context()))
	<-a.Done()
}

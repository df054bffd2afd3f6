package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// TestALogIsKeptToTheLimitOfTheConfiguration adds keep_log_mib to the configuration
// of a running hub. The hub removes the oldest files, also after a kill.
func TestALogIsKeptToTheLimitOfTheConfiguration(t *testing.T) {
	h := newHub(t, settings{more: "log_file_mib: 1\n"})
	s := h.create("demo")
	c := h.screen("screen", s, 0)
	files := func() []string {
		all, err := filepath.Glob(filepath.Join(h.data, "sessions", s.SessionID, "events-*.jsonl"))
		require.NoError(t, err)
		return all
	}
	asked := 0
	fill := func(until func() bool) {
		for ; !until(); asked++ {
			id := fmt.Sprintf("p%d", asked)
			c.prompt(s.SessionID, id, "/burst 3000")
			c.untilTurnEnds(id)
		}
	}
	fill(func() bool { return len(files()) >= 4 })
	minSeq := func() event.Seq {
		info, err := h.hub.Session(t.Context(), s.SessionID)
		require.NoError(t, err)
		return info.MinSeq
	}
	require.EqualValues(t, 1, minSeq(), "events were removed without the option")

	edit, err := os.OpenFile(h.config, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = edit.WriteString("keep_log_mib: 2\n")
	require.NoError(t, err)
	require.NoError(t, edit.Close())
	require.Eventually(t, func() bool { return minSeq() > 1 && len(files()) <= 2 }, patience, 10*time.Millisecond)

	first := minSeq()
	fill(func() bool { return minSeq() > first })
	require.LessOrEqual(t, len(files()), 2)
	first = minSeq()
	h.kill()
	h.start()
	require.GreaterOrEqual(t, minSeq(), first)
	require.LessOrEqual(t, minSeq(), first+20_000, "too many events were removed")
	c.prompt(s.SessionID, "after", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("after").StopReason)
	out, errs, code := h.run("check")
	require.Zero(t, code, out+errs)
}

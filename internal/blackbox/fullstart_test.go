package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestAHubStartsOnAFullDeviceAndShowsWhatIsThere kills a hub, fills the device and
// tears the log of a session. The next hub starts, serves the history and refuses
// prompts for lack of space. Once there is space it works again without a restart.
func TestAHubStartsOnAFullDeviceAndShowsWhatIsThere(t *testing.T) {
	disk := newSmallDisk(t)
	if disk == nil {
		t.Skip("no file system can be mounted here")
	}
	h := newHub(t, settings{data: filepath.Join(disk.dir, "data")})
	s := h.create("demo")
	c := h.screen("screen", s, 0)
	c.prompt(s.SessionID, "first", "/burst 50")
	c.untilTurnEnds("first")
	whole, torn := s.SessionID, h.create("demo")
	other := h.screen("other", torn, 0)
	other.prompt(torn.SessionID, "first", "/burst 50")
	other.untilTurnEnds("first")
	h.kill()
	log, err := os.OpenFile(filepath.Join(h.data, "sessions", torn.SessionID, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = log.WriteString(`{"seq":99,"ti`)
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.NoError(t, disk.fill(0))

	lines := h.spawn() // it has no space to store a pairing code
	said, ok := h.line(lines)
	require.True(t, ok, "the hub ended:\n%s", h.logged())
	require.Equal(t, "listening on http://"+h.addr, said)
	for _, session := range []string{whole, torn.SessionID} {
		info, err := h.hub.Session(t.Context(), session)
		require.NoError(t, err)
		require.Positive(t, info.MaxSeq)
	}
	fresh := h.screen("fresh", torn, 0)
	fresh.until("the history", func(events []event.Event, _ *wire.State) bool { return len(events) >= len(other.seen()) })
	requireRefused(t, other, torn.SessionID, "no space")
	require.Contains(t, h.logged(), "no space left")

	require.NoError(t, disk.heal())
	for session, c := range map[string]*screen{whole: c, torn.SessionID: other} {
		healed := fmt.Sprint("healed ", session)
		require.Eventually(t, func() bool {
			_, err := c.socket().Prompt(t.Context(), wire.Prompt{SessionID: session, PromptID: healed, Text: "/burst 10"})
			return err == nil
		}, patience, 100*time.Millisecond)
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(healed).StopReason)
	}
}

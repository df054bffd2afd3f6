package blackbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestFault16ADeviceErrorInTheKernelFreezesOneSession puts the whole program on
// a device whose fsync fails once with EIO, and then lies: it says all is well.
func TestFault16ADeviceErrorInTheKernelFreezesOneSession(t *testing.T) {
	d := newDevice(t)
	h := newHub(t, settings{data: d.dir})
	broken, sound := h.create("demo"), h.create("demo")
	b, s := h.screen("broken", broken, 0), h.screen("sound", sound, 0)
	b.prompt(broken.SessionID, "b1", "/burst 50")
	b.untilTurnEnds("b1", 30*time.Second)
	before := len(b.seen())

	file := broken.SessionID + "/events.jsonl"
	failed := false
	d.fail(func(op, path string) bool {
		first := op == "fsync" && strings.HasSuffix(path, file) && !failed
		failed = failed || first
		return first
	})
	requireRefused(t, b, broken.SessionID, "b2")
	requireRefused(t, b, broken.SessionID, "b2")
	requireRefused(t, b, broken.SessionID, "b3")
	require.Equal(t, 1, d.times("fsync", file), "a sync after a failed one means nothing")
	require.Len(t, b.seen(), before, "what is not acknowledged is not shown")
	require.Eventually(t, func() bool {
		info, err := h.hub.Session(t.Context(), broken.SessionID)
		return err == nil && info.Status == "damaged"
	}, 10*time.Second, 10*time.Millisecond, "nobody is told")

	s.prompt(sound.SessionID, "s1", "/burst 200")
	require.Equal(t, event.StopEndTurn, s.untilTurnEnds("s1", 30*time.Second).StopReason, "another session is harmed")

	d.fail(nil)
	h.kill()
	h.start()
	// The next run keeps what was written though nobody was told so, in a file
	// that never failed, and goes on.
	b.prompt(broken.SessionID, "b4", "/burst 50")
	require.Equal(t, event.StopEndTurn, b.untilTurnEnds("b4", 60*time.Second).StopReason)
	ids := map[string]int{}
	for _, p := range payloads[event.UserPrompt](t, onDisk(t, h, broken.SessionID)) {
		ids[p.PromptID]++
	}
	require.Equal(t, map[string]int{"b1": 1, "b2": 1, "b4": 1}, ids)
}

// requireRefused sends a prompt and requires that it is not acknowledged.
func requireRefused(t *testing.T, c *screen, session, prompt string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := c.watch.Socket().Prompt(ctx, wire.Prompt{SessionID: session, PromptID: prompt, Text: "/burst 10"})
	refused := (*client.Error)(nil)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.CodeUnavailable, refused.Code)
}

package blackbox_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestFault16ADeviceErrorInTheKernelFreezesOneSession puts the hub on a device
// whose fsync fails once with EIO and then reports success.
func TestFault16ADeviceErrorInTheKernelFreezesOneSession(t *testing.T) {
	t.Parallel()
	d := newDevice(t)
	h := newHub(t, settings{data: d.dir})
	broken, sound := h.create("demo"), h.create("demo")
	b, s := h.screen("broken", broken, 0), h.screen("sound", sound, 0)
	b.prompt(broken.SessionID, "b1", "/burst 50")
	b.untilTurnEnds("b1")
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
	require.Equal(t, 1, d.times("fsync", file), "fsync is not retried after EIO")
	require.Len(t, b.seen(), before, "an unacknowledged event was shown")
	require.Eventually(t, func() bool {
		info, err := h.hub.Session(t.Context(), broken.SessionID)
		return err == nil && info.Status == "damaged"
	}, patience, 10*time.Millisecond, "nobody is told")

	s.prompt(sound.SessionID, "s1", "/burst 200")
	require.Equal(t, event.StopEndTurn, s.untilTurnEnds("s1").StopReason, "another session stopped working")

	d.fail(nil)
	h.kill()
	h.start()
	// The next run keeps the written events though they were never shown. It copies
	// them to a new file and continues.
	b.prompt(broken.SessionID, "b4", "/burst 50")
	require.Equal(t, event.StopEndTurn, b.untilTurnEnds("b4").StopReason)
	ids := map[string]int{}
	for _, p := range payloads[event.UserPrompt](t, onDisk(t, h, broken.SessionID)) {
		ids[p.PromptID]++
	}
	require.Equal(t, map[string]int{"b1": 1, "b2": 1, "b4": 1}, ids)
}

// TestFault16ADeviceErrorAnywhereHarmsNoMoreThanItHits lets the kernel answer EIO
// to one kind of call after another. A request whose data cannot be stored is
// refused. Writes that can be repeated do not stop the session. When the device
// works again, no data is missing.
func TestFault16ADeviceErrorAnywhereHarmsNoMoreThanItHits(t *testing.T) {
	t.Parallel()
	d := newDevice(t)
	h := newHub(t, settings{data: d.dir, more: "log_file_mib: 1\n"})
	other := h.create("demo")
	bystander := h.screen("bystander", other, 0)
	asked := 0
	// unharmed requires that another session works while the device fails.
	unharmed := func(t *testing.T) {
		t.Helper()
		asked++
		id := fmt.Sprintf("s%d", asked)
		bystander.prompt(other.SessionID, id, "/plan")
		require.Equal(t, event.StopEndTurn, bystander.untilTurnEnds(id).StopReason)
	}
	for _, fault := range []func(*testing.T, *device, *hub, *screen, wire.SessionInfo, func(*testing.T)){
		failLogWrite, failMetadata, failQueue, failReadMarks, failSealing, failReading,
	} {
		session := h.create("demo")
		c := h.screen(fmt.Sprintf("screen %d", asked), session, 0)
		c.prompt(session.SessionID, "first", "/burst 50")
		c.untilTurnEnds("first")
		c.until("the agent's commands", func(events []event.Event, _ *wire.State) bool { // it sends them when it likes
			return slices.ContainsFunc(events, func(e event.Event) bool { return e.Type == event.TypeCommands })
		})
		fault(t, d, h, c, session, unharmed)
		d.fail(nil)
	}
}

// on selects operations on paths with this suffix.
func on(suffix string, ops ...string) func(op, path string) bool {
	return func(op, path string) bool { return slices.Contains(ops, op) && strings.HasSuffix(path, suffix) }
}

func failLogWrite(t *testing.T, d *device, h *hub, c *screen, s wire.SessionInfo, unharmed func(*testing.T)) {
	before := len(c.seen())
	d.fail(on(s.SessionID+"/events.jsonl", "write"))
	requireRefused(t, c, s.SessionID, "refused")
	unharmed(t)
	d.fail(nil)
	requireRefused(t, c, s.SessionID, "refused") // the device works again, and the log is still frozen
	require.Len(t, c.seen(), before, "an unacknowledged event was shown")
	info, err := h.hub.Session(t.Context(), s.SessionID)
	require.NoError(t, err)
	require.EqualValues(t, "damaged", info.Status, "the session list does not say damaged")
	h.kill()
	h.start()
	c.prompt(s.SessionID, "after", "/burst 50")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("after").StopReason)
	require.Len(t, payloads[event.UserPrompt](t, onDisk(t, h, s.SessionID)), 2)
}

func failMetadata(t *testing.T, d *device, h *hub, c *screen, s wire.SessionInfo, unharmed func(*testing.T)) {
	for i, op := range []string{"create", "write", "fsync", "rename"} {
		suffix := s.SessionID + "/metadata.json.tmp"
		if op == "rename" {
			suffix = s.SessionID + "/metadata.json"
		}
		d.fail(on(suffix, op))
		id := fmt.Sprintf("p%d", i)
		c.prompt(s.SessionID, id, "/burst 50")
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(id).StopReason, "the log does not wait for its metadata")
		require.Eventually(t, func() bool { return d.times(op, suffix) > 0 }, patience, 10*time.Millisecond, "%s of metadata was never tried", op)
		unharmed(t)
	}
	d.fail(nil)
	c.prompt(s.SessionID, "after", "/plan")
	c.untilTurnEnds("after")
	requireTrueScreens(t, h, s.SessionID, c)
	info, err := h.hub.Session(t.Context(), s.SessionID)
	require.NoError(t, err)
	require.EqualValues(t, len(c.seen()), info.MaxSeq)
}

func failQueue(t *testing.T, d *device, h *hub, c *screen, s wire.SessionInfo, unharmed func(*testing.T)) {
	c.prompt(s.SessionID, "busy", "/ask")
	request := c.untilAsked(1)
	for i, op := range []string{"create", "write", "fsync", "rename"} {
		suffix := s.SessionID + "/queue.json.tmp"
		if op == "rename" {
			suffix = s.SessionID + "/queue.json"
		}
		d.fail(on(suffix, op))
		id := fmt.Sprintf("q%d", i)
		requireRefused(t, c, s.SessionID, id)
		require.Positive(t, d.times(op, suffix), "%s of the queue was never tried", op)
		unharmed(t)
		d.fail(nil)
		require.Equal(t, client.PromptOutcome{Fate: wire.FateQueued, Position: i}, c.prompt(s.SessionID, id, "/burst 10"))
	}
	h.kill() // acknowledged prompts are in the queue
	h.start()
	c.until("the end of the request", func(events []event.Event, _ *wire.State) bool {
		return len(payloads[event.PermissionOutcome](t, events)) == 1
	})
	require.Equal(t, request.PermissionID, payloads[event.PermissionOutcome](t, c.seen())[0].PermissionID)
	for i := range 4 {
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(fmt.Sprintf("q%d", i)).StopReason)
	}
	require.Len(t, payloads[event.UserPrompt](t, c.seen()), 6, "prompts in the log")
}

func failReadMarks(t *testing.T, d *device, h *hub, c *screen, s wire.SessionInfo, unharmed func(*testing.T)) {
	read := func() event.Seq {
		info, err := h.hub.Session(t.Context(), s.SessionID)
		require.NoError(t, err)
		if info.ReadSeq == nil {
			return 0
		}
		return *info.ReadSeq
	}
	mark := func(seq event.Seq) {
		require.NoError(t, c.socket().Send(t.Context(), &wire.Ack{SessionID: s.SessionID, Seq: seq, Visible: true}))
		require.Eventually(t, func() bool { return read() == seq }, patience, 10*time.Millisecond, "the read mark is not visible at once")
	}
	tried := func() bool { return d.times("write", "read.json") > 0 }
	d.fail(func(op, path string) bool { return op == "write" && strings.Contains(path, "read.json") })
	mark(10)
	require.Eventually(t, tried, patience, 10*time.Millisecond, "the marks were never written")
	unharmed(t)
	d.fail(func(string, string) bool { return false })
	mark(20)
	require.Eventually(t, tried, patience, 10*time.Millisecond, "the marks were never written")
	h.stop()
	h.start()
	require.EqualValues(t, 20, read(), "the read mark after a restart")
}

func failSealing(t *testing.T, d *device, h *hub, c *screen, s wire.SessionInfo, unharmed func(*testing.T)) {
	dir := filepath.Join(h.data, "sessions", s.SessionID)
	complete := func() int {
		paths, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
		require.NoError(t, err)
		return len(paths)
	}
	for i, op := range []string{"create", "write", "fsync", "rename"} {
		files := complete()
		suffix := "/.events-next.jsonl"
		broken := on(suffix, op)
		if op == "rename" {
			suffix = s.SessionID + "/events-"
			broken = func(op, path string) bool { return op == "rename" && strings.Contains(path, suffix) }
		}
		d.fail(broken)
		id := fmt.Sprintf("p%d", i)
		c.prompt(s.SessionID, id, "/burst 9000") // over a MiB
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(id).StopReason, "the log goes on in the same file")
		require.Eventually(t, func() bool { return d.times(op, suffix) > 0 }, patience, 10*time.Millisecond, "%s of the next file was never tried", op)
		require.Equal(t, files, complete(), "%s", op)
		unharmed(t)
		d.fail(nil)
		c.prompt(s.SessionID, id+" after", "/burst 50")
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(id+" after").StopReason)
		require.Greater(t, complete(), files, "no new file once %s works", op)
	}
	requireTrueScreens(t, h, s.SessionID, c)
}

func failReading(t *testing.T, d *device, h *hub, c *screen, s wire.SessionInfo, unharmed func(*testing.T)) {
	c.prompt(s.SessionID, "long", "/burst 9000") // several files, and more than the tail in memory
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("long").StopReason)
	log := onDisk(t, h, s.SessionID)
	d.fail(func(op, path string) bool { return op == "read" && strings.Contains(path, s.SessionID+"/events-") })
	_, err := h.hub.EventsAfter(t.Context(), s.SessionID, 0, 100)
	require.Error(t, err)
	require.Positive(t, d.times("read", s.SessionID+"/events-"))
	unharmed(t)
	c.prompt(s.SessionID, "more", "/burst 50") // the failed file does not matter to these reads
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("more").StopReason)
	d.fail(nil)
	page, err := h.hub.EventsAfter(t.Context(), s.SessionID, 0, 100)
	require.NoError(t, err)
	requirePrefix(t, log, page.Events, "the page")
	require.Len(t, page.Events, 100)
}

// requireRefused sends a prompt and requires that it is not acknowledged.
func requireRefused(t *testing.T, c *screen, session, prompt string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := c.socket().Prompt(ctx, wire.Prompt{SessionID: session, PromptID: prompt, Text: "/burst 10"})
	refused := (*client.Error)(nil)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.CodeUnavailable, refused.Code)
	require.NotContains(t, refused.Message, "/"+session, "the refusal names a path of the hub")
}

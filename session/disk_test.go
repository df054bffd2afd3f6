package session_test

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// fullDisk fails writes to the log while it is full.
func fullDisk(full *atomic.Bool) hubOption {
	return func(_ *session.Options, o *store.Options) {
		o.FS = steppedFS{store.OS(), func(step string) error {
			if full.Load() && (step == "write events.jsonl" || strings.HasPrefix(step, "create")) {
				return syscall.ENOSPC
			}
			return nil
		}}
	}
}

func TestAFullDiskHoldsTheAgentAndRefusesPromptsUntilThereIsRoom(t *testing.T) {
	var full atomic.Bool
	h := newDiskHub(t, fullDisk(&full))
	b, a := h.busy()
	require.NoError(t, a.say(question("q1")))
	before := len(events(t, b))
	full.Store(true)
	first := a.begin(message("held"), toolCall("t1", event.ToolInProgress), question("q2"), toolUpdate("t1", event.ToolCompleted))
	await(t, b, "blocked", func(s session.State) bool { return s.Turn.State == session.TurnBlocked })
	_, err := b.Prompt(ctxOf(t), ask("p"))
	require.ErrorIs(t, err, state.ErrUnavailable)
	_, err = answer(b, "q1", "yes", "tab")
	require.ErrorIs(t, err, state.ErrUnavailable)
	require.Equal(t, []string{"q1"}, b.State().PendingPermissions)
	require.Empty(t, first, "a prompt that was not written was sent")
	require.Len(t, events(t, b), before)

	full.Store(false)
	require.NoError(t, receive(t, first, "the agent is still held"))
	await(t, b, "healed", func(s session.State) bool { return s.Turn.State == session.TurnPrompting })
	_, err = answer(b, "q1", "yes", "tab")
	require.NoError(t, err)
	require.Equal(t, queue.Queued, prompt(t, b, "p").Outcome)
	got := shape(t, b)
	require.Equal(t, []string{"agent_message/1", "tool_call/1", "permission_request/1", "tool_call_update:completed/1"}, got[before:before+4])
	requireLawful(t, b, false)
}

func TestAFullDiskHealsByItselfWhileNobodyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		h := newDiskHub(t, fullDisk(&full))
		b := h.create()
		full.Store(true)
		_, err := b.Prompt(t.Context(), ask("p"))
		require.ErrorIs(t, err, state.ErrUnavailable)
		require.Equal(t, session.TurnBlocked, b.State().Turn.State)
		full.Store(false)
		await(t, b, "healed", idle)
		require.Equal(t, queue.Received, prompt(t, b, "p").Outcome)
	})
}

func TestAResetDuringAFullDiskClosesTheTurnLater(t *testing.T) {
	var full atomic.Bool
	h := newDiskHub(t, fullDisk(&full))
	b, a := h.busy()
	full.Store(true)
	held := a.begin(message("held"))
	await(t, b, "blocked", func(s session.State) bool { return s.Turn.State == session.TurnBlocked })
	require.NoError(t, b.ForceReset(ctxOf(t), person("ann")))
	full.Store(false)
	receive(t, held, "the agent is still held")
	awaitIdle(t, b)
	<-a.over
	requireLawful(t, b, true)
	require.Equal(t, event.StopInterrupted, payloads[event.TurnEnd](t, b)[0].StopReason)
	require.Eventually(t, func() bool { return len(payloads[event.AgentExit](t, b)) == 1 }, patience, tick)
}

func TestTheHubEndsDuringAFullDisk(t *testing.T) {
	var full atomic.Bool
	h := newDiskHub(t, fullDisk(&full))
	b, a := h.busy()
	full.Store(true)
	held := a.begin(message("held"))
	await(t, b, "blocked", func(s session.State) bool { return s.Turn.State == session.TurnBlocked })
	began := time.Now()
	ctx := ctxOf(t)
	require.NoError(t, h.manager.Close(ctx))
	require.Less(t, time.Since(began), patience)
	require.Error(t, receive(t, held, "the agent is still held"))
	full.Store(false)
	require.NoError(t, h.store.Close())
	h.closed = true
	h.open()
	t.Cleanup(h.close)
	h.closed = false
	requireLawful(t, h.session(b.ID()), true)
}

func TestAPromptThatCannotBeTakenYetIsTakenOnceThereIsRoom(t *testing.T) {
	var writesLeft atomic.Int64 // writes left until the disk is full
	writesLeft.Store(1 << 30)
	h := newDiskHub(t, func(_ *session.Options, o *store.Options) {
		o.FS = steppedFS{store.OS(), func(step string) error {
			if step == "write events.jsonl" && writesLeft.Add(-1) < 0 || strings.HasPrefix(step, "create") && writesLeft.Load() < 0 {
				return syscall.ENOSPC
			}
			return nil
		}}
	})
	b, a := h.busy()
	prompt(t, b, promptID(1))
	writesLeft.Store(1) // for the end of the turn
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	await(t, b, "blocked", func(s session.State) bool { return s.Turn.State == session.TurnBlocked })
	require.Len(t, b.Queue(), 1)
	writesLeft.Store(1 << 30)
	require.Equal(t, promptID(1), receive(t, a.prompts, "the prompt was lost").PromptID)
	require.Equal(t, 1, h.agents.givenTimes(promptID(1)))
	require.Len(t, payloads[event.UserPrompt](t, b), 2)
}

func TestADeviceErrorFreezesTheSessionAlone(t *testing.T) {
	var broken atomic.Bool
	h := newDiskHub(t, func(_ *session.Options, o *store.Options) {
		o.FS = steppedFS{store.OS(), func(step string) error {
			if step == "sync events.jsonl" && broken.CompareAndSwap(true, false) {
				return syscall.EIO
			}
			return nil
		}}
	})
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	require.Eventually(t, func() bool { m := b.Log().Marks(); return m.Synced == m.Written }, patience, tick)
	broken.Store(true)
	_, err := b.Prompt(ctxOf(t), ask("lost"))
	require.ErrorIs(t, err, state.ErrUnavailable)
	_, err = b.Prompt(ctxOf(t), ask("lost"))
	require.ErrorIs(t, err, state.ErrUnavailable)
	require.Zero(t, h.agents.givenTimes("lost"), "a prompt that may not be synced was sent to the agent")
	require.Eventually(t, func() bool { return b.Info().Status == state.StatusDamaged }, patience, tick)

	other, _ := h.busy()
	require.Equal(t, session.TurnPrompting, other.State().Turn.State)

	require.NoError(t, h.manager.Reopen(ctxOf(t), b.ID()))
	b = h.session(b.ID())
	requireLawful(t, b, true)
	require.Equal(t, queue.Interrupted, prompt(t, b, "lost").Outcome, "the prompt is in the log and was sent to no agent")
	require.Zero(t, h.agents.givenTimes("lost"))
	prompt(t, b, "next")
	require.Equal(t, "next", receive(t, h.agents.next(t).prompts, "no prompt").PromptID)
}

func TestALedgerThatCannotBeSavedStopsNoTurn(t *testing.T) {
	var full atomic.Bool
	h := newHub(t, aroundQueueFile(func(replace func() error) error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return replace()
	}))
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	full.Store(true)
	require.Equal(t, queue.Received, prompt(t, b, "p").Outcome)
	require.Equal(t, "p", receive(t, a.prompts, "no prompt").PromptID)
	_, err := b.Prompt(ctxOf(t), ask("waits"))
	require.ErrorIs(t, err, state.ErrUnavailable)
	require.Empty(t, b.Queue())
	after := h.copyOf(t)
	require.Equal(t, queue.Interrupted, prompt(t, after.session(b.ID()), "p").Outcome)
	full.Store(false)
	require.Equal(t, queue.Queued, prompt(t, b, "waits").Outcome)
}

package session_test

import (
	"sync"
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

func TestCancelSettlesOpenRequestsAfterTheAgentIsToldAndKeepsReading(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1"), question("q2")))
	require.NoError(t, b.Cancel(ctxOf(t), person("ann")))
	require.Equal(t, []string{"cancel", "q1", "q2"}, a.wasTold(), "ACP wants session/cancel before the outcomes")
	receive(t, a.cancels, "the agent was not asked to cancel")
	require.Equal(t, session.TurnCancelling, b.State().Turn.State)
	for _, o := range payloads[event.PermissionOutcome](t, b) {
		require.Equal(t, event.OutcomeCancelled, o.Outcome)
		require.Equal(t, "ann", o.By)
	}
	require.NoError(t, b.Cancel(ctxOf(t), person("bob")))
	require.Empty(t, a.cancels, "a second cancel reached the agent")

	require.NoError(t, a.say(message("Stopping."), question("q3")))
	require.NoError(t, a.end(promptID(0), event.StopCancelled))
	awaitIdle(t, b)
	requireLawful(t, b, true)
	require.Equal(t, "ann", payloads[event.TurnEnd](t, b)[0].By)
	last := events(t, b)
	require.Equal(t, event.TypeTurnEnd, last[len(last)-1].Type)
	failed := map[string]bool{}
	for _, u := range payloads[event.ToolCallUpdate](t, b) {
		failed[u.ToolCallID] = u.Synthetic && u.Status == event.ToolFailed
	}
	require.True(t, failed["t1"], "a cancelled turn left its tool call open")
	require.Equal(t, queue.Received, prompt(t, b, promptID(0)).Outcome)
}

func TestCancelBeforeTheAgentIsThereEndsTheTurnAtOnce(t *testing.T) {
	h := newHub(t)
	h.agents.hold = make(chan struct{})
	b := h.create()
	prompt(t, b, "p")
	await(t, b, "starting", func(s session.State) bool { return s.Turn.State == session.TurnStarting })
	require.NoError(t, b.Cancel(ctxOf(t), person("ann")))
	s := awaitIdle(t, b)
	require.Equal(t, session.AgentStarting, s.Agent.Status)
	close(h.agents.hold)
	a := h.agents.next(t)
	prompt(t, b, "next")
	require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
	require.Zero(t, h.agents.givenTimes("p"), "a cancelled prompt was sent to the agent")
	end := payloads[event.TurnEnd](t, b)[0]
	require.Equal(t, event.StopCancelled, end.StopReason)
	require.Equal(t, "ann", end.By)
}

// Fault 37.
func TestFault37CancelVsCompleteRace(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	for n := range 60 {
		id := promptID(n)
		if n > 0 {
			prompt(t, b, id)
			select {
			case <-a.prompts:
			case a = <-h.agents.started:
				<-a.prompts
			}
		}
		require.NoError(t, a.say(question("q"+id)))
		var group sync.WaitGroup
		group.Go(func() { _ = a.end(id, event.StopEndTurn) })
		group.Go(func() { _ = b.Cancel(ctxOf(t), person("ann")) })
		group.Go(func() { _, _ = answer(b, "q"+id, "yes", "tab") })
		if n%3 == 0 {
			group.Go(func() { _ = b.ForceReset(ctxOf(t), person("ann")) })
		}
		group.Wait()
		_ = a.end(id, event.StopCancelled) // a second end, as late as possible
		awaitIdle(t, b)
	}
	requireLawful(t, b, true)
	require.Len(t, payloads[event.TurnEnd](t, b), 60)
}

func TestAnEndOfAnotherTurnEndsNothing(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.end("another", event.StopEndTurn))
	require.Equal(t, session.TurnPrompting, b.State().Turn.State)
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	prompt(t, b, promptID(1))
	receive(t, a.prompts, "no prompt")
	await(t, b, "prompting", func(s session.State) bool { return s.Turn.State == session.TurnPrompting })
	require.NoError(t, a.end(promptID(0), event.StopEndTurn)) // a second time
	require.Equal(t, session.TurnPrompting, b.State().Turn.State)
	require.NoError(t, a.end(promptID(1), event.StopEndTurn))
	awaitIdle(t, b)
	requireLawful(t, b, true)
}

func TestForceResetIsOfferedAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b, _ := h.busy()
		require.NoError(t, b.Cancel(t.Context(), person("ann")))
		began := time.Now()
		require.False(t, b.State().Turn.ForceReset)
		await(t, b, "the offer", func(s session.State) bool { return s.Turn.ForceReset })
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, session.TurnCancelling, b.State().Turn.State)
	})
}

func TestAnAgentThatIsSilentAfterACancelIsStoppedAndOneThatTalksIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b, a := h.busy()
		require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1")))
		require.NoError(t, b.Cancel(t.Context(), person("ann")))
		for range 5 {
			time.Sleep(19 * time.Second)
			require.NoError(t, a.say(event.AgentStalled{}, message("clearing up")))
		}
		began := time.Now()
		time.Sleep(19 * time.Second)
		require.NoError(t, a.say(event.AgentStalled{SilentMS: 19000}))
		require.Equal(t, session.TurnCancelling, b.State().Turn.State)
		awaitIdle(t, b)
		require.Equal(t, 20*time.Second, time.Since(began))
		ends := payloads[event.TurnEnd](t, b)
		require.Equal(t, "ann", ends[0].By)
		require.Len(t, ends, 1)
		require.Equal(t, event.StopCancelled, ends[0].StopReason)
		require.Equal(t, "cancel_unanswered", ends[0].Error.Code)
		require.True(t, payloads[event.ToolCallUpdate](t, b)[0].Synthetic, "its tool is closed")
		require.Equal(t, queue.Received, prompt(t, b, promptID(0)).Outcome, "a person ended the turn")
		requireLawful(t, b, true)

		prompt(t, b, promptID(1))
		second := h.agents.next(t)
		require.Equal(t, promptID(1), receive(t, second.prompts, "the next prompt").PromptID)
		require.NoError(t, second.end(promptID(1), event.StopEndTurn))
		awaitIdle(t, b)
	})
}

func TestForceResetStopsTheAgentAndClosesTheTurn(t *testing.T) {
	h := newHub(t)
	h.agents.stopping = make(chan struct{})
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1")))
	prompt(t, b, promptID(1))
	require.NoError(t, b.ForceReset(ctxOf(t), person("ann")))
	require.Equal(t, queue.Interrupted, prompt(t, b, promptID(0)).Outcome)
	require.NoError(t, a.say(message("last words"))) // the old agent still sends output
	close(h.agents.stopping)

	second := h.agents.next(t)
	require.NotSame(t, a, second)
	require.Equal(t, promptID(1), receive(t, second.prompts, "the queue was not taken").PromptID)
	requireLawful(t, b, false)
	ends := payloads[event.TurnEnd](t, b)
	require.Len(t, ends, 1)
	require.Equal(t, event.StopInterrupted, ends[0].StopReason)
	require.True(t, payloads[event.ToolCallUpdate](t, b)[0].Synthetic)
	require.Len(t, payloads[event.AgentExit](t, b), 1)
	require.NoError(t, second.end(promptID(1), event.StopEndTurn))
	awaitIdle(t, b)
	require.NoError(t, b.ForceReset(ctxOf(t), person("ann")), "without a turn there is nothing to reset")
}

func TestAPromptMadeWhileTheOldAgentStopsWaitsForTheNewOne(t *testing.T) {
	h := newHub(t)
	h.agents.stopping = make(chan struct{})
	b, a := h.busy()
	require.NoError(t, b.ForceReset(ctxOf(t), person("ann")))
	require.Equal(t, queue.Received, prompt(t, b, promptID(1)).Outcome)
	close(h.agents.stopping)
	<-a.over
	second := h.agents.next(t)
	require.Equal(t, promptID(1), receive(t, second.prompts, "the prompt was lost").PromptID)
	require.NoError(t, second.end(promptID(1), event.StopEndTurn))
	awaitIdle(t, b)
	requireLawful(t, b, true)
	require.Equal(t, event.StopEndTurn, payloads[event.TurnEnd](t, b)[1].StopReason,
		"the old agent's end closed the new turn")
}

func TestUpdatesOutsideATurnBelongToTheTurnOfTheirToolCall(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("early", event.ToolInProgress)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.NoError(t, a.say(message("late")))
	prompt(t, b, promptID(1))
	receive(t, a.prompts, "no prompt")
	require.NoError(t, a.say(toolCall("new", event.ToolPending), toolUpdate("early", event.ToolCompleted),
		toolUpdate("orphan", event.ToolInProgress), toolUpdate("new", event.ToolCompleted)))
	require.NoError(t, a.end(promptID(1), event.StopEndTurn))
	require.NoError(t, a.say(toolUpdate("early", event.ToolFailed), message("later")))
	got := shape(t, b)
	require.Equal(t, []string{
		"tool_call/1", "turn_end:end_turn/1", "agent_message/1", "user_prompt/2", "turn_start/2",
		"tool_call/2", "tool_call_update:completed/1", "tool_call_update:in_progress/2", "tool_call_update:completed/2",
		"turn_end:end_turn/2", "tool_call_update:failed/1", "agent_message/2",
	}, got[4:])
}

func TestTheAgentsOwnWordsAreInTheState(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(
		event.Mode{ModeID: "plan", Modes: []event.ModeOption{{ID: "plan", Name: "Plan"}}},
		event.Commands{Commands: []event.Command{{Name: "compact"}}},
		event.Usage{Used: 10, Size: 100},
		event.Title{Title: "A better name"},
		message("First line\nSecond **line**\n\n"),
	))
	s := await(t, b, "mode", func(s session.State) bool { return s.Mode != nil && s.Usage != nil })
	require.Equal(t, "plan", s.Mode.ModeID)
	require.Equal(t, "compact", s.Commands.Commands[0].Name)
	require.Equal(t, int64(10), s.Usage.Used)

	require.NoError(t, b.SetMode(ctxOf(t), "code", person("ann")))
	s = b.State()
	require.Equal(t, "code", s.Mode.ModeID)
	require.Len(t, s.Mode.Modes, 1, "the list of modes was lost")
	require.ErrorIs(t, b.SetMode(ctxOf(t), "impossible", person("ann")), state.ErrInvalid)
	require.NoError(t, b.SetConfigOption(ctxOf(t), "model", "small", person("ann")))
	require.Contains(t, string(b.State().Config.Options), "small")
	require.ErrorIs(t, b.SetConfigOption(ctxOf(t), "model", 7, person("ann")), state.ErrInvalid)

	require.Eventually(t, func() bool { return b.Info().LastLine == "Second **line**" }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return b.Info().Name == "A better name" }, patience, time.Millisecond)
}

func TestAModeCanBeSetBeforeTheFirstPrompt(t *testing.T) {
	h := newHub(t)
	b := h.create()
	require.NoError(t, b.SetMode(ctxOf(t), "plan", person("ann")))
	require.Equal(t, "plan", b.State().Mode.ModeID)
	require.Equal(t, "plan", receive(t, h.agents.next(t).modes, "the agent was not switched"))
}

func TestASessionIsNamedByItsFirstPromptThenTheAgentThenAPerson(t *testing.T) {
	h := newHub(t)
	b := h.create()
	_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "p", Text: "## Fix v1.2 of main.go, please. Then go on."})
	require.NoError(t, err)
	a := h.agents.next(t)
	name := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return b.Info().Name == want }, patience, time.Millisecond, want)
	}
	name("Fix v1.2 of main.go, please")
	require.NoError(t, a.say(event.Title{Title: "Repair main"}))
	name("Repair main")
	mine := "Mine"
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &mine}))
	require.NoError(t, a.say(event.Title{Title: "Another"}))
	require.NoError(t, a.end("p", event.StopEndTurn))
	awaitIdle(t, b)
	name("Mine")
	h.close()
	h.open()
	b = h.session(b.ID())
	name("Mine")
	none := ""
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &none}))
	name("Another")
}

func TestQueueDelayAndScheduleAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, func(o *session.Options, _ *store.Options) { o.Queue.Delay = 30 * time.Second })
		b, a := h.busy()
		at := time.Now().Add(time.Hour)
		later := ask("later")
		later.ScheduledAt = &at
		_, err := b.Prompt(t.Context(), later)
		require.NoError(t, err)
		prompt(t, b, "next")
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		ended := time.Now()
		require.Equal(t, queue.Queued, prompt(t, b, "third").Outcome, "a later prompt overtook a waiting one")
		require.Equal(t, "next", (<-a.prompts).PromptID)
		require.Equal(t, 30*time.Second, time.Since(ended))
		require.NoError(t, a.end("next", event.StopEndTurn))
		require.Equal(t, "third", (<-a.prompts).PromptID)
		require.NoError(t, a.end("third", event.StopEndTurn))

		// A scheduled prompt does not delay a later prompt.
		require.Equal(t, queue.Received, prompt(t, b, "now").Outcome)
		require.Equal(t, "now", (<-a.prompts).PromptID)
		require.NoError(t, a.end("now", event.StopEndTurn))

		require.Equal(t, "later", (<-a.prompts).PromptID)
		require.False(t, time.Now().Before(at))
		require.Less(t, time.Since(at), time.Second)
		require.NoError(t, a.end("later", event.StopEndTurn))
		synctest.Wait()
		requireLawful(t, b, true)
	})
}

func TestWhenQueueAlwaysGoesThroughTheQueue(t *testing.T) {
	h := newHub(t)
	b := h.create()
	r := ask("p")
	r.When = session.WhenQueue
	result, err := b.Prompt(ctxOf(t), r)
	require.NoError(t, err)
	require.Equal(t, queue.Queued, result.Outcome)
	require.Equal(t, "p", receive(t, h.agents.next(t).prompts, "the queue was not taken").PromptID)
}

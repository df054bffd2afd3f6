package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

var crash = event.AgentExit{Code: new(int), Reason: "exited"}

// Fault 40 without processes.
func TestFault40AgentCrashMidTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		h.agents.resumable = true
		b, a := h.busy()
		require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1")))
		prompt(t, b, promptID(1))
		a.die(event.AgentExit{Signal: "killed", Reason: "exited", StderrTail: "segfault"})
		<-a.over
		got := shape(t, b)
		require.Equal(t, []string{
			"agent_exit/1", "tool_call_update:failed/1", "tool_call_update:failed/1", "permission_outcome:cancelled/1", "turn_interrupted/1", "turn_end:agent_exit/1",
		}, got[len(got)-6:])
		require.Equal(t, queue.Interrupted, prompt(t, b, promptID(0)).Outcome)
		s := b.State()
		require.Equal(t, session.AgentAbsent, s.Agent.Status)
		require.Equal(t, time.Second, time.Until(s.Agent.RestartAt))
		require.Contains(t, s.Agent.Message, "signal killed")

		died := time.Now()
		second := <-h.agents.started
		require.Equal(t, time.Second, time.Since(died))
		require.Equal(t, "fake-"+b.ID(), second.spec.AgentSessionID)
		require.Equal(t, promptID(1), (<-second.prompts).PromptID)
		require.Empty(t, payloads[event.Note](t, b), "a note about lost context, though the agent loaded its session")
		require.NoError(t, second.end(promptID(1), event.StopEndTurn))
		require.Equal(t, 1, h.agents.givenTimes(promptID(0)), "a prompt in flight was sent again")
		synctest.Wait()
		requireLawful(t, b, true)
	})
}

func TestFault47ACrashLoopBacksOffAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b, a := h.busy()
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			prompt(t, b, fmt.Sprint("after ", want)) // a waiting prompt needs the agent
			died := time.Now()
			a.die(crash)
			a = <-h.agents.started
			require.Equal(t, want, time.Since(died))
			<-a.prompts
		}
		prompt(t, b, "waits")
		a.die(crash)
		s := await(t, b, "given up", func(s session.State) bool { return s.Agent.Status == session.AgentFailed })
		require.Contains(t, s.Agent.Message, "5")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, h.agents.started, "the hub started an agent")
		require.Len(t, b.Queue(), 1, "a waiting prompt was removed")

		require.NoError(t, b.Restart(t.Context(), person("ann")))
		a = <-h.agents.started
		require.Equal(t, "waits", (<-a.prompts).PromptID)
		prompt(t, b, "last")
		died := time.Now()
		a.die(crash)
		require.Equal(t, "last", (<-(<-h.agents.started).prompts).PromptID)
		require.Equal(t, time.Second, time.Since(died), "the count of crashes was not reset")
	})
}

func TestAnIdleCrashWaitsForTheNextPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b, a := h.busy()
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		a.die(crash)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, h.agents.started)
		prompt(t, b, "p")
		require.Equal(t, "p", (<-(<-h.agents.started).prompts).PromptID)
	})
}

func TestAnAgentThatCannotStartUsesUpOneDirectPromptAndNoWaitingOne(t *testing.T) {
	h := newHub(t)
	broken := true
	h.agents.onStart = func(*fakeAgent) error {
		if broken {
			return errors.New("no such program")
		}
		return nil
	}
	b := h.create()
	prompt(t, b, "first")
	await(t, b, "failed", func(s session.State) bool { return s.Agent.Status == session.AgentFailed })
	s := awaitIdle(t, b)
	require.Contains(t, s.Agent.Message, "no such program")
	ends := payloads[event.TurnEnd](t, b)
	require.Equal(t, event.StopAgentExit, ends[0].StopReason)
	require.Contains(t, ends[0].Error.Message, "no such program")
	require.Equal(t, queue.Interrupted, prompt(t, b, "first").Outcome)

	r := ask("second")
	r.When = session.WhenQueue
	_, err := b.Prompt(ctxOf(t), r)
	require.NoError(t, err)
	await(t, b, "the second failure", func(s session.State) bool {
		return len(payloads[event.AgentExit](t, b)) >= 2
	})
	require.Len(t, b.Queue(), 1, "a waiting prompt was removed although the agent does not start")
	broken = false
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	require.Equal(t, "second", receive(t, h.agents.next(t).prompts, "not taken").PromptID)
}

func TestAStartThatNeverEndsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		h.agents.hold = make(chan struct{})
		b := h.create()
		began := time.Now()
		prompt(t, b, "p")
		time.Sleep(5*time.Minute - time.Second)
		synctest.Wait()
		require.Equal(t, session.AgentStarting, b.State().Agent.Status)
		await(t, b, "failed", func(s session.State) bool { return s.Agent.Status == session.AgentFailed })
		require.Equal(t, 5*time.Minute, time.Since(began))
		requireLawful(t, b, true)
	})
}

func TestTheHubEndsWhileAnAgentStarts(t *testing.T) {
	h := newHub(t)
	h.agents.hold = make(chan struct{})
	b := h.create()
	prompt(t, b, "p")
	await(t, b, "starting", func(s session.State) bool { return s.Agent.Status == session.AgentStarting })
	h.close()
	h.agents.hold = nil
	h.open()
	b = h.session(b.ID())
	requireLawful(t, b, true)
	require.Equal(t, event.StopHubRestart, payloads[event.TurnEnd](t, b)[0].StopReason)
}

func TestRestartInMidTurnInterruptsIt(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	<-a.over
	h.agents.next(t)
	awaitIdle(t, b)
	require.Equal(t, queue.Interrupted, prompt(t, b, promptID(0)).Outcome)
	requireLawful(t, b, true)
}

func TestIdleAgentsSleepWhenOthersNeedTheirSeat(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.Agents = 2 })
	h.agents.resumable = true
	h.agents.onPrompt = func(a *fakeAgent, p event.UserPrompt) { _ = a.end(p.PromptID, event.StopEndTurn) }
	var sessions []*session.BackgroundSession
	for range 5 {
		sessions = append(sessions, h.create())
	}
	for round := range 3 {
		for n, b := range sessions {
			id := fmt.Sprintf("r%d-s%d", round, n)
			require.Equal(t, queue.Received, prompt(t, b, id).Outcome)
			awaitIdle(t, b)
			require.Equal(t, 1, h.agents.givenTimes(id))
		}
	}
	require.LessOrEqual(t, h.agents.most, 2, "more agents lived than allowed")
	for _, b := range sessions {
		requireLawful(t, b, true)
		require.Empty(t, payloads[event.Note](t, b), "the agent lost its context")
		require.Empty(t, payloads[event.Error](t, b))
	}
}

func TestABusyAgentIsNotPutToSleep(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.Agents = 1 })
	h.agents.resumable = true
	_, a := h.busy()
	waiting := h.create()
	prompt(t, waiting, "w")
	s := await(t, waiting, "waiting", func(s session.State) bool { return s.Agent.Message != "" })
	require.Equal(t, session.AgentStarting, s.Agent.Status)
	require.NoError(t, a.say(message("still here")))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.Equal(t, "w", receive(t, h.agents.next(t).prompts, "no prompt").PromptID)
	<-a.over
}

func TestTheSeatOfAnIdleAgentIsFoundBesideABusyOne(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.Agents = 3 })
	h.agents.resumable = true
	_, first := h.busy()
	_, second := h.busy()
	_, third := h.busy()
	require.NoError(t, second.end(promptID(0), event.StopEndTurn))
	h.busy()
	<-second.over
	require.NoError(t, first.say(message("still here")))
	require.NoError(t, third.say(message("still here")))
}

func TestTheAgentIdleLongestGivesItsSeatToWhoeverWaitsEvenIfItCannotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.Agents = 2 })
		b, longest := h.busy()
		require.NoError(t, longest.end(promptID(0), event.StopEndTurn))
		time.Sleep(time.Minute)
		kept, later := h.busy()
		require.NoError(t, later.end(promptID(0), event.StopEndTurn))
		time.Sleep(time.Second)
		asked := time.Now()
		waiting := h.create()
		prompt(t, waiting, "w")
		next := <-h.agents.started
		require.Less(t, time.Since(asked), time.Minute, "a new session waits for an idle agent")
		require.Equal(t, "w", (<-next.prompts).PromptID)
		<-longest.over
		require.NoError(t, next.end("w", event.StopEndTurn))
		synctest.Wait()
		require.Equal(t, session.AgentReady, kept.State().Agent.Status)
		requireLawful(t, b, true)
	})
}

func TestAnAgentThatCannotComeBackStaysUpWhileNobodyNeedsItsSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b, a := h.busy()
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Equal(t, session.AgentReady, b.State().Agent.Status)
	})
}

func TestAnIdleAgentSleepsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.AgentIdle = time.Minute })
		h.agents.resumable = true
		b, a := h.busy()
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		ended := time.Now()
		<-a.over
		require.Equal(t, time.Minute, time.Since(ended))
		require.Equal(t, "asleep", payloads[event.AgentExit](t, b)[0].Reason)
		require.Equal(t, session.AgentAbsent, b.State().Agent.Status)
		prompt(t, b, "wake")
		second := <-h.agents.started
		require.Equal(t, "wake", (<-second.prompts).PromptID)
		require.Empty(t, payloads[event.Note](t, b))
	})
}

func TestALoginTheAgentDoesNotHaveLeavesItAsItIs(t *testing.T) {
	h := newHub(t)
	h.agents.hello = func(p *event.AgentStarted) {
		p.Raw = json.RawMessage(`{"initialize":{"agentCapabilities":{},"authMethods":[{"id":"browser","name":"Browser"},{"id":"key"}]},"session":{}}`)
	}
	b := h.create()
	require.ErrorContains(t, b.Authenticate(ctxOf(t), "stars", person("ann")), "browser, key", "of an agent that was not started")
	a := h.agents.next(t)
	prompt(t, b, "p1")
	require.Equal(t, "p1", receive(t, a.prompts, "the agent was replaced").PromptID)
	require.ErrorIs(t, b.Authenticate(ctxOf(t), "browser", person("ann")), state.ErrBusy)
	require.NoError(t, a.end("p1", event.StopEndTurn))
	awaitIdle(t, b)
	before := len(events(t, b))
	err := b.Authenticate(ctxOf(t), "stars", person("ann"))
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "browser, key")
	require.Equal(t, session.AgentReady, b.State().Agent.Status)
	require.Len(t, events(t, b), before, "the agent was stopped")
	require.NoError(t, b.Authenticate(ctxOf(t), "browser", person("ann")))
	require.Equal(t, "browser", h.agents.next(t).spec.AuthMethod)
}

func TestAnAgentThatNeedsNoLoginIsNotStoppedForOne(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	err := b.Authenticate(ctxOf(t), "browser", person("ann"))
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "needs no login")
	require.Equal(t, session.AgentReady, b.State().Agent.Status)
	require.Empty(t, payloads[event.AgentExit](t, b))
}

func TestADeletedSessionIsDeletedByItsAgentToo(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	other, _ := h.busy() // it is only stopped
	asleep := h.create()
	for _, s := range []*session.BackgroundSession{b, other, asleep} {
		require.NoError(t, h.manager.Delete(ctxOf(t), s.ID()))
	}
	require.EqualValues(t, 1, h.agents.forgotten.Load())
}

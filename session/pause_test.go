package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// paused waits until the session is paused and its agent is gone.
func paused(t *testing.T, b *session.BackgroundSession) session.State {
	t.Helper()
	s := await(t, b, "paused", func(s session.State) bool {
		return s.Paused != nil && s.Turn.State == session.TurnIdle && s.Agent.Status == session.AgentAbsent
	})
	require.Eventually(t, func() bool { return b.Info().Status == state.StatusPaused }, patience, time.Millisecond)
	require.Equal(t, "Paused by bob.", b.Info().LastLine)
	return s
}

func pause(t *testing.T, b *session.BackgroundSession) {
	t.Helper()
	of, err := b.Pause(ctxOf(t), person("bob"))
	require.NoError(t, err)
	require.Equal(t, "bob", of.By)
}

func bringBack(t *testing.T, b *session.BackgroundSession, way string) session.Resumed {
	t.Helper()
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{Way: way, Actor: person("ann")})
	require.NoError(t, err)
	return resumed
}

func TestAPauseInterruptsTheTurnHoweverItsAgentEndsIt(t *testing.T) {
	for name, c := range map[string]struct {
		said  []event.Payload
		phase event.TurnPhase
		ends  func(a *fakeAgent)
	}{
		"the agent confirms the cancel": {
			[]event.Payload{message("I shall")}, event.PhaseStreaming,
			func(a *fakeAgent) { _ = a.end(promptID(0), event.StopCancelled) },
		},
		"the agent calls it a normal end": {
			[]event.Payload{toolCall("t1", event.ToolInProgress)}, event.PhaseTools,
			func(a *fakeAgent) { _ = a.end(promptID(0), event.StopEndTurn) },
		},
		"the agent fails by the cancel": {
			[]event.Payload{toolCall("t1", event.ToolInProgress)}, event.PhaseTools,
			func(a *fakeAgent) {
				_ = a.say(event.TurnEnd{PromptID: promptID(0), StopReason: event.StopInterrupted, Error: &event.Failure{Code: "agent_error", Message: "aborted"}})
			},
		},
		"the agent dies": {
			[]event.Payload{question("q1")}, event.PhaseTools,
			func(a *fakeAgent) { a.die(crash) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, holding)
			b, a := h.busy()
			prompt(t, b, "waits")
			require.NoError(t, a.say(c.said...))
			pause(t, b)
			receive(t, a.cancels, "the agent is not asked to stop")
			c.ends(a)
			s := paused(t, b)
			require.Equal(t, "bob", s.Paused.By)
			require.Equal(t, event.CutPersonPaused, s.Interruption.Reason)
			require.Equal(t, c.phase, s.Interruption.Phase)
			end := payloads[event.TurnEnd](t, b)
			require.Len(t, end, 1)
			require.Equal(t, event.StopInterrupted, end[0].StopReason)
			require.Equal(t, "id-bob", end[0].ByID)
			require.Nil(t, end[0].Error)
			require.Len(t, b.Queue(), 1)
			requireLawful(t, b, true)

			pause(t, b) // again
			require.Len(t, payloads[event.SessionPaused](t, b), 1)
			require.ErrorIs(t, b.Restart(ctxOf(t), person("ann")), state.ErrConflict)
			require.ErrorIs(t, b.SetMode(ctxOf(t), "code", person("ann")), state.ErrConflict)
			_, err := b.Resume(ctxOf(t), session.ResumeRequest{Actor: person("ann")})
			require.ErrorIs(t, err, state.ErrConflict)
			require.ErrorContains(t, err, s.Interruption.InterruptionID)

			resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: s.Interruption.InterruptionID, Actor: person("ann")})
			require.NoError(t, err)
			next := h.agents.next(t)
			require.Equal(t, resumed.PromptID, receive(t, next.prompts, "no prompt").PromptID)
			require.Nil(t, b.State().Paused)
			require.NoError(t, next.end(resumed.PromptID, event.StopEndTurn))
			require.Equal(t, "waits", receive(t, next.prompts, "the queue is still held").PromptID)
			require.Equal(t, 1, h.agents.givenTimes(promptID(0)))
			require.Equal(t, 1, b.Info().ResumeCount)
		})
	}
}

func TestAPauseBeforeTheAgentHasThePromptGivesItLater(t *testing.T) {
	h := newHub(t, holding)
	hold := make(chan struct{})
	h.agents.onStart = func(*fakeAgent) error { <-hold; return nil }
	b := h.create()
	prompt(t, b, "p1")
	pause(t, b)
	close(hold)
	s := paused(t, b)
	require.Equal(t, event.CutPersonPaused, s.Interruption.Reason)
	h.agents.onStart = nil
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: s.Interruption.InterruptionID, Actor: person("ann")})
	require.NoError(t, err)
	for {
		a := h.agents.next(t)
		select {
		case p := <-a.prompts:
			require.Equal(t, resumed.PromptID, p.PromptID)
			require.Contains(t, string(p.Text), "do p1")
			require.Zero(t, h.agents.givenTimes("p1"))
			return
		case <-time.After(patience / 10): // the one that was starting
		}
	}
}

func TestAPausedSessionIsBroughtBackByEachWayWithoutAPrompt(t *testing.T) {
	for _, way := range []string{"", "server", "local", "segmented"} {
		t.Run("way "+way, func(t *testing.T) {
			h := newHub(t, segmented, holding)
			h.agents.resumable = true
			b, a := h.busy()
			require.NoError(t, a.say(message("An answer.")))
			require.NoError(t, a.end(promptID(0), event.StopEndTurn))
			awaitIdle(t, b)
			pause(t, b)
			require.Nil(t, paused(t, b).Interruption)
			at := b.Info()
			require.True(t, at.Resumable)
			require.Zero(t, at.ResumeCount)
			later := time.Now().Add(time.Hour)
			_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "later", Text: "x", ScheduledAt: &later, Actor: person("ann")})
			require.NoError(t, err)
			require.NotNil(t, b.State().Paused, "a prompt for later ends no pause")

			h.close() // also across a restart
			h.open(segmented, holding)
			b = h.session(b.ID())
			paused(t, b)
			resumed := bringBack(t, b, way)
			next := h.agents.next(t)
			await(t, b, "ready", func(s session.State) bool { return s.Agent.Status == session.AgentReady && s.Paused == nil })
			require.Equal(t, resumed, bringBack(t, b, way), "the same again does nothing")
			require.Equal(t, []event.SessionResumed{{Way: resumed.Way, By: "ann", ByID: "id-ann"}}, payloads[event.SessionResumed](t, b))
			if way == "" || way == "server" {
				require.Equal(t, event.WayServer, resumed.Way)
				require.NotEmpty(t, next.spec.AgentSessionID)
			} else {
				require.Empty(t, next.spec.AgentSessionID)
				require.True(t, next.spec.ContextLost)
			}
			require.Equal(t, way == "segmented", next.spec.Past == nil)
			prompt(t, b, "p2")
			if way == "segmented" {
				require.NoError(t, next.end(nextSegment(t, next).PromptID, event.StopCancelled))
			}
			require.Equal(t, "p2", receive(t, next.prompts, "no prompt").PromptID)
			require.NoError(t, next.end("p2", event.StopEndTurn))
			awaitIdle(t, b)
			require.Eventually(t, func() bool { return b.Info().Status == state.StatusIdle }, patience, time.Millisecond)
			require.False(t, b.Info().Resumable)
			require.Equal(t, 1, b.Info().ResumeCount)
			require.NotNil(t, b.Info().LastResumedAt)
		})
	}
}

// An agent session that was begun anew and never got a prompt knows nothing: the next
// agent is told the session, too.
func TestAnAgentThatIsKilledBeforeItIsToldTheSessionIsFollowedByOneThatIs(t *testing.T) {
	h := newHub(t, holding)
	h.agents.resumable = true
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	bringBack(t, b, "local")
	next := h.agents.next(t)
	require.Empty(t, next.spec.AgentSessionID)
	await(t, b, "ready", func(s session.State) bool { return s.Agent.Status == session.AgentReady })
	next.die(crash)
	await(t, b, "without an agent", func(s session.State) bool { return s.Agent.Status == session.AgentAbsent })
	prompt(t, b, "p2")
	last := h.agents.next(t)
	require.Empty(t, last.spec.AgentSessionID)
	require.True(t, last.spec.ContextLost)
	require.NotNil(t, last.spec.Past)
	require.Equal(t, "p2", receive(t, last.prompts, "no prompt").PromptID)
	last.die(crash)
	interruptionOf(t, b)
	prompt(t, b, "p3")
	require.NotEmpty(t, h.agents.next(t).spec.AgentSessionID, "it had a prompt")
}

func TestAPromptEndsAPause(t *testing.T) {
	h := newHub(t, holding)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	pause(t, b)
	paused(t, b)
	_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "q", Text: "x", When: session.WhenQueue, Actor: person("ann")})
	require.NoError(t, err)
	require.NotNil(t, b.State().Paused)
	prompt(t, b, "p2") // behind the other
	require.Nil(t, b.State().Paused)
	next := h.agents.next(t)
	require.Equal(t, "q", receive(t, next.prompts, "no prompt").PromptID)
	require.NoError(t, next.end("q", event.StopEndTurn))
	require.Equal(t, "p2", receive(t, next.prompts, "no prompt").PromptID)
	require.Equal(t, []event.SessionResumed{{By: "ann", ByID: "id-ann"}}, payloads[event.SessionResumed](t, b))
}

func TestAPauseWithTheAutomaticResumeWaitsForAPerson(t *testing.T) {
	h := newHub(t, resumesItself)
	b, a := h.busy()
	require.NoError(t, a.say(message("I shall")))
	pause(t, b)
	receive(t, a.cancels, "the agent is not asked to stop")
	a.die(crash)
	s := paused(t, b)
	require.ErrorIs(t, b.ResumeUnchanged(ctxOf(t), s.Interruption.InterruptionID), state.ErrConflict)
	require.NoError(t, b.Dismiss(ctxOf(t), s.Interruption.InterruptionID, person("ann")))
	require.Nil(t, b.State().Paused, "what is dismissed is over")
	require.Empty(t, h.agents.started)
}

func TestWhatCannotBePausedOrBroughtBackSaysWhy(t *testing.T) {
	h := newHub(t, holding)
	b, _ := h.busy()
	_, err := b.Resume(ctxOf(t), session.ResumeRequest{Actor: person("ann")})
	require.ErrorIs(t, err, state.ErrBusy)
	for _, r := range []session.ResumeRequest{{Prompt: "x"}, {Drift: resume.DriftKeep}, {Confirm: []string{"stale"}}, {WithoutSetup: true}} {
		_, err = b.Resume(ctxOf(t), r)
		require.ErrorIs(t, err, state.ErrInvalid)
	}
	other := h.create()
	require.NoError(t, other.EndWith(ctxOf(t), session.Ending{}, person("ann")))
	_, err = other.Pause(ctxOf(t), person("ann"))
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = other.Resume(ctxOf(t), session.ResumeRequest{Actor: person("ann")})
	require.ErrorIs(t, err, state.ErrConflict)
}

func TestAPauseThatWasAnsweredHoldsWhereverTheHubIsKilled(t *testing.T) {
	for name, prepare := range map[string]func(h *hub) *session.BackgroundSession{
		"in a turn": func(h *hub) *session.BackgroundSession {
			b, _ := h.busy()
			h.agents.onCancel = func(a *fakeAgent) { _ = a.end(promptID(0), event.StopCancelled) }
			return b
		},
		"in a turn that a person has cancelled": func(h *hub) *session.BackgroundSession {
			b, _ := h.busy()
			require.NoError(h.t, b.Cancel(ctxOf(h.t), person("ann")))
			h.agents.onStop = func(a *fakeAgent) { _ = a.end(promptID(0), event.StopCancelled) }
			return b
		},
		"between turns": func(h *hub) *session.BackgroundSession {
			b, a := h.busy()
			require.NoError(h.t, a.end(promptID(0), event.StopEndTurn))
			awaitIdle(h.t, b)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			var id string
			inTurn := name != "between turns"
			killedBetweenSteps(t,
				func(h *hub) {
					b := prepare(h)
					if inTurn {
						prompt(t, b, "waits")
					}
					id = b.ID()
				},
				func(h *hub) {
					b := h.session(id)
					pause(t, b)
					if name == "in a turn that a person has cancelled" {
						require.NoError(t, b.ForceReset(ctxOf(t), person("ann")))
					}
					paused(t, b)
				},
				[]string{"write events.jsonl", "sync events.jsonl", "the end"},
				func(h *hub, was bool) {
					b := h.session(id)
					if was {
						require.NotNil(h.t, b.State().Paused, "the pause that was answered is lost")
					}
					if now := b.State(); now.Paused != nil && inTurn {
						require.Equal(h.t, event.CutPersonPaused, now.Interruption.Reason)
					}
					pause(h.t, b)
					s := paused(h.t, b)
					require.Empty(h.t, h.agents.started)
					require.Equal(h.t, inTurn, len(b.Queue()) == 1)
					require.Len(h.t, payloads[event.SessionPaused](h.t, b), 1)
					require.Len(h.t, payloads[event.TurnEnd](h.t, b), 1)
					r := session.ResumeRequest{Actor: person("ann")}
					if s.Interruption != nil {
						r.InterruptionID = s.Interruption.InterruptionID
					}
					require.Equal(h.t, inTurn, s.Interruption != nil)
					resumed, err := b.Resume(ctxOf(h.t), r)
					require.NoError(h.t, err)
					next := h.agents.next(h.t)
					if inTurn {
						require.Equal(h.t, resumed.PromptID, receive(h.t, next.prompts, "no prompt").PromptID)
						require.NoError(h.t, next.end(resumed.PromptID, event.StopEndTurn))
						require.Equal(h.t, "waits", receive(h.t, next.prompts, "the queue is held").PromptID)
					}
				})
		})
	}
}

// A restore that was chosen without a prompt, and cut off, is followed by a resume of any way.
func TestAfterASegmentedWayThatWasCutOffALocalOneTellsTheAccount(t *testing.T) {
	h := newHub(t, segmented, holding)
	h.agents.resumable = true
	b, a := h.busy()
	require.NoError(t, a.say(message("An answer.")))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	bringBack(t, b, "segmented")
	next := h.agents.next(t)
	prompt(t, b, "p2")
	nextSegment(t, next)
	next.die(crash)
	open := interruptionOf(t, b)
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Way: "local", Actor: person("ann")})
	require.NoError(t, err)
	for {
		last := h.agents.next(t)
		if p := receive(t, last.prompts, "no prompt"); p.PromptID == resumed.PromptID {
			require.NotNil(t, last.spec.Past)
			require.True(t, last.spec.ContextLost)
			return
		}
	}
}

// A resume of a session that does not wait to be resumed chooses a way for the next prompt.
func TestAWayThatIsChosenWithoutAPauseIsNoResume(t *testing.T) {
	h := newHub(t, holding)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	bringBack(t, b, "local")
	require.Len(t, payloads[event.SessionResumed](t, b), 1, "the way is in the log")
	require.Zero(t, b.Info().ResumeCount)
	require.Nil(t, b.Info().LastResumedAt)
	pause(t, b)
	paused(t, b)
	bringBack(t, b, "local")
	require.Eventually(t, func() bool { return b.Info().ResumeCount == 1 }, patience, time.Millisecond)
	h.close()
	h.open(holding)
	require.Equal(t, 1, h.session(b.ID()).Info().ResumeCount)
}

func TestAMarkToResumeIsInTheLogAndAResumeClearsIt(t *testing.T) {
	h := newHub(t, holding)
	b, a := h.busy()
	mark := func(on bool) error {
		return h.manager.Update(ctxOf(t), b.ID(), session.Patch{Resumable: &on, By: person("ann")})
	}
	require.NoError(t, mark(true), "a turn may be open")
	require.True(t, b.Info().Resumable)
	require.Equal(t, state.LifecycleActive, b.Info().Lifecycle)
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	require.True(t, b.Info().Resumable, "a turn's end leaves it")
	require.NoError(t, mark(true))
	require.Equal(t, []event.SessionResumable{{Resumable: true, By: "ann", ByID: "id-ann"}}, payloads[event.SessionResumable](t, b), "again does nothing")
	_, err := b.Resume(ctxOf(t), session.ResumeRequest{Actor: person("ann")})
	require.NoError(t, err)
	require.False(t, b.Info().Resumable)
	require.Equal(t, 1, b.Info().ResumeCount)

	pause(t, b)
	paused(t, b)
	require.NoError(t, mark(false))
	require.False(t, b.Info().Resumable)
	require.NotNil(t, b.State().Paused, "it stays paused")
	require.Equal(t, state.LifecyclePaused, b.Info().Lifecycle)
	require.NoError(t, mark(true))
	prompt(t, b, "p2")
	require.False(t, b.Info().Resumable, "a prompt resumes it")
	for on := range 100 { // a caller sees its change, however soon it looks
		require.NoError(t, mark(on%2 == 0))
		require.Equal(t, on%2 == 0, b.Info().Resumable)
	}
}

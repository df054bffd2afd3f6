package session_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// segmented sets segments of about 200 tokens.
func segmented(o *session.Options, to *store.Options) {
	clean(o, to)
	o.Agents = []settings.Agent{{Name: "fake", Resume: settings.Resume{SegmentTokens: 200}}}
}

// longPast returns a session that was interrupted after a long answer and whose
// agent can resume.
func longPast(t *testing.T, options ...hubOption) (*hub, *session.BackgroundSession, state.Interruption) {
	t.Helper()
	h := newHub(t, options...)
	h.agents.resumable = true
	b, a := h.busy()
	require.NoError(t, a.say(message(strings.Repeat("A line of an answer that is long.\n", 100))))
	a.die(crash)
	return h, b, interruptionOf(t, b)
}

func tellSession(t *testing.T, b *session.BackgroundSession, id string) session.Resumed {
	t.Helper()
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Way: "segmented", Actor: person("ann")})
	require.NoError(t, err)
	require.Equal(t, event.WaySegmented, resumed.Way)
	return resumed
}

// nextSegment receives the next segment and ends its turn.
func nextSegment(t *testing.T, a *fakeAgent) event.UserPrompt {
	t.Helper()
	p := receive(t, a.prompts, "no segment")
	require.True(t, strings.HasPrefix(p.PromptID, "restore-"), p.PromptID)
	require.Contains(t, string(p.Text), "No answer is wanted")
	receive(t, a.cancels, "the segment is not interrupted")
	return p
}

func TestASegmentedRestoreTellsTheWholeSessionAndThenThePrompt(t *testing.T) {
	h, b, open := longPast(t, segmented)
	offer, err := b.Interruption(ctxOf(t))
	require.NoError(t, err)
	way := offer.Ways[2]
	require.Equal(t, event.WaySegmented, way.Way)
	require.True(t, way.Available)
	require.Greater(t, way.Segments, 3)
	require.InDelta(t, way.Segments*230, way.Tokens, 200)

	resumed := tellSession(t, b, open.InterruptionID)
	a := h.agents.next(t)
	require.Empty(t, a.spec.AgentSessionID)
	require.Nil(t, a.spec.Past)
	var told strings.Builder
	for n := 1; n <= way.Segments; n++ {
		p := nextSegment(t, a)
		_, text, _ := strings.Cut(string(p.Text), "\n\n")
		told.WriteString(text)
		at := await(t, b, "progress", func(s session.State) bool { return s.Restore != nil && s.Restore.Done == n-1 }).Restore
		require.Equal(t, way.Segments, at.Total)
		require.Equal(t, way.Tokens, at.Tokens)
		require.Equal(t, event.WaySegmented, at.Way)
		if n == 2 { // an agent that ignores the instruction
			require.NoError(t, a.say(message("Understood."), toolCall("t1", event.ToolInProgress), question("q1"), toolUpdate("t1", event.ToolCompleted)))
			require.Equal(t, event.OutcomeCancelled, receive(t, a.answers, "the question is not refused").Outcome)
		}
		require.NoError(t, a.say(event.TurnEnd{PromptID: p.PromptID, StopReason: event.StopCancelled, Usage: []byte(`{"inputTokens":1200,"outputTokens":34}`)}))
	}
	require.Equal(t, "User:\ndo prompt-000\n\nAssistant:\n"+strings.TrimSpace(strings.Repeat("A line of an answer that is long.\n", 100))+"\n\n(This turn was interrupted.)\n\n", told.String())
	given := receive(t, a.prompts, "no prompt")
	require.Equal(t, resumed.PromptID, given.PromptID)
	require.Contains(t, string(given.Text), "[SESSION_RESUMED]")
	require.NoError(t, a.end(resumed.PromptID, event.StopEndTurn))
	awaitIdle(t, b)
	require.Nil(t, b.State().Restore)

	require.Len(t, payloads[event.UserPrompt](t, b), 2, "a segment was logged as a prompt")
	require.Len(t, payloads[event.TurnEnd](t, b), 2)
	require.Empty(t, payloads[event.ToolCall](t, b))
	require.Empty(t, payloads[event.PermissionRequest](t, b))
	segments := noted(t, b, "abide/restore_segment")
	require.Len(t, segments, way.Segments+1)
	require.Contains(t, string(segments[2].Raw), `Understood.\nTool call: Do t1\n\nAsked for permission: May I q1?`)
	restore := noted(t, b, "abide/restore")
	require.Len(t, restore, 2)
	require.Contains(t, string(restore[1].Text), "1234 by its own count")
	requireLawful(t, b, true)

	// The agent's new session is used from now on.
	a.die(crash)
	prompt(t, b, "later")
	require.NotEmpty(t, h.agents.next(t).spec.AgentSessionID)
}

// An agent that reports no usage of what it was told says later what it counts: by an update,
// or at the end of the turn. It stands beside the estimate once.
func TestTheFirstUsageAfterARestoreIsRecordedBesideTheEstimate(t *testing.T) {
	for name, first := range map[string]event.Payload{"by an update": event.Usage{Used: 777, Size: 1000}, "at the end of the turn": nil} {
		t.Run(name, func(t *testing.T) {
			h, b, open := longPast(t, segmented)
			resumed := tellSession(t, b, open.InterruptionID)
			a := h.agents.next(t)
			for range await(t, b, "progress", func(s session.State) bool { return s.Restore != nil }).Restore.Total {
				require.NoError(t, a.end(nextSegment(t, a).PromptID, event.StopCancelled))
			}
			receive(t, a.prompts, "no prompt")
			if first != nil {
				require.NoError(t, a.say(first))
			}
			require.NoError(t, a.say(event.TurnEnd{PromptID: resumed.PromptID, StopReason: event.StopEndTurn, Usage: []byte(`{"inputTokens":777}`)}))
			awaitIdle(t, b)
			notes := noted(t, b, "abide/restore")
			require.Len(t, notes, 3)
			require.NotContains(t, string(notes[1].Text), "own count")
			require.Regexp(t, `^The agent counts 777 tokens. The session was about \d+ by estimate.$`, string(notes[2].Text))
			require.Contains(t, string(notes[2].Raw), `"counted":777,"segments":`)
			require.NotContains(t, string(notes[2].Raw), `"segments":0`)
			requireLawful(t, b, true)
		})
	}
}

func TestARestoreIsCancelledAtAnyMomentAndLeavesAUsableSession(t *testing.T) {
	h, b, open := longPast(t, segmented)
	tellSession(t, b, open.InterruptionID)
	a := h.agents.next(t)
	require.NoError(t, a.end(nextSegment(t, a).PromptID, event.StopCancelled))
	nextSegment(t, a)
	require.NoError(t, b.Cancel(ctxOf(t), person("bob")))
	awaitIdle(t, b)
	require.Nil(t, b.State().Restore)
	again := interruptionOf(t, b)
	require.Equal(t, event.CutPaused, again.Reason)
	offer, err := b.Interruption(ctxOf(t))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(offer.Prompt, "[SESSION_RESUMED]"), "the resume prompt changed")
	require.Contains(t, string(noted(t, b, "abide/restore")[1].Text), "bob ended telling the agent the session, after 1 of")
	prompt(t, b, "next")
	a = h.agents.next(t)
	require.Empty(t, a.spec.AgentSessionID, "a half-restored agent session was resumed")
	require.NotNil(t, a.spec.Past)
	require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
}

// If the hub is killed between two segments, the next hub offers the resume again.
// The next agent gets all segments from the first one on.
func TestARestoreThatAKillCutOffIsOfferedAgain(t *testing.T) {
	h, b, open := longPast(t, segmented)
	resumed := tellSession(t, b, open.InterruptionID)
	a := h.agents.next(t)
	for range 3 {
		p := nextSegment(t, a)
		after := h.copyOf(t, segmented)
		again := after.session(b.ID())
		offered := interruptionOf(t, again)
		require.NotEqual(t, open.InterruptionID, offered.InterruptionID)
		offer, err := again.Interruption(ctxOf(t))
		require.NoError(t, err)
		require.Equal(t, resumed.PromptID, offer.PromptID)
		require.False(t, offer.Ways[0].Available, "a half-restored agent session must not be offered")
		require.Empty(t, after.agents.started)
		tellSession(t, again, offered.InterruptionID)
		second := after.agents.next(t)
		require.Contains(t, string(nextSegment(t, second).Text), "[SESSION_RESTORE 1/")
		require.NoError(t, a.end(p.PromptID, event.StopCancelled))
	}
}

func TestAnAgentThatDiesInARestoreIsOfferedAgain(t *testing.T) {
	h, b, open := longPast(t, segmented)
	tellSession(t, b, open.InterruptionID)
	a := h.agents.next(t)
	nextSegment(t, a)
	a.die(crash)
	again := await(t, b, "another interruption", func(s session.State) bool {
		return s.Interruption != nil && s.Interruption.InterruptionID != open.InterruptionID
	}).Interruption
	require.Equal(t, event.CutAgentExit, again.Reason)
	require.Nil(t, b.State().Restore)
}

func TestAnAgentThatDoesNotEndASegmentIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b, open := longPast(t, segmented)
		tellSession(t, b, open.InterruptionID)
		a := h.agents.next(t)
		nextSegment(t, a)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		again := b.State().Interruption
		require.NotNil(t, again)
		require.Equal(t, event.CutAgentRestart, again.Reason)
		require.Contains(t, string(noted(t, b, "abide/restore")[1].Text), "after 0 of")
	})
}

func TestAProviderThatFailsInARestoreCutsTheTurnOff(t *testing.T) {
	h, b, open := longPast(t, segmented)
	tellSession(t, b, open.InterruptionID)
	a := h.agents.next(t)
	failure := &event.Failure{Code: "agent_error", Message: "Too many requests."}
	p := nextSegment(t, a)
	require.NoError(t, a.say(event.TurnEnd{PromptID: p.PromptID, StopReason: event.StopInterrupted, Error: failure}))
	p = receive(t, a.prompts, "the segment is not told once more")
	require.NoError(t, a.say(event.TurnEnd{PromptID: p.PromptID, StopReason: event.StopInterrupted, Error: failure}))
	again := await(t, b, "another interruption", func(s session.State) bool {
		return s.Interruption != nil && s.Interruption.InterruptionID != open.InterruptionID
	}).Interruption
	require.Equal(t, event.CutProviderError, again.Reason)
	require.Contains(t, string(noted(t, b, "abide/restore")[1].Text), "Too many requests.")
}

// OpenCode answers a prompt with an error if it is cancelled right after it was
// sent.
func TestAnAgentThatFailsWhenItIsInterruptedAtOnceGetsAMoment(t *testing.T) {
	h, b, open := longPast(t, segmented)
	tellSession(t, b, open.InterruptionID)
	a := h.agents.next(t)
	failure := &event.Failure{Code: "agent_error", Message: "Internal service failure."}
	p := nextSegment(t, a)
	require.NoError(t, a.say(event.TurnEnd{PromptID: p.PromptID, StopReason: event.StopInterrupted, Error: failure}))
	again := nextSegment(t, a)
	require.Equal(t, p.Text, again.Text)
	require.NotEqual(t, p.PromptID, again.PromptID)
	require.NoError(t, a.say(event.TurnEnd{PromptID: again.PromptID, StopReason: event.StopInterrupted, Error: failure}))
	await(t, b, "the first segment told", func(s session.State) bool { return s.Restore != nil && s.Restore.Done == 1 })
	require.NotEqual(t, p.Text, nextSegment(t, a).Text)
}

// fallsBack restores the session in segments if the agent cannot resume it.
func fallsBack(o *session.Options, to *store.Options) {
	segmented(o, to)
	o.Agents[0].Resume.SegmentedFallback = true
}

func TestAutoTellsTheSessionWhereTheAgentHasForgottenItsOwn(t *testing.T) {
	h, b, open := longPast(t, fallsBack)
	h.agents.resumable = false // the agent no longer supports resume
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Actor: person("ann")})
	require.NoError(t, err)
	require.Equal(t, event.WayServer, resumed.Way, "resume is tried first")
	a := h.agents.next(t)
	require.NotEmpty(t, a.spec.AgentSessionID)
	nextSegment(t, a)
	require.Contains(t, string(noted(t, b, "abide/restore")[0].Text), "began a new session. It gets this one in")
}

func TestAutoWithoutTheFallbackGivesAShortAccount(t *testing.T) {
	h, b, open := longPast(t, segmented)
	h.agents.resumable = false
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Actor: person("ann")})
	require.NoError(t, err)
	require.Equal(t, resumed.PromptID, receive(t, h.agents.next(t).prompts, "no prompt").PromptID)
	require.Contains(t, string(noted(t, b, "abide/resumed")[0].Text), "short account")
}

package session_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// clean is a workspace with one changed file.
func clean(o *session.Options, _ *store.Options) {
	o.Queue.ContinueInterrupted = false
	o.InspectWorkspace = func(context.Context, string, bool) resume.Workspace {
		return resume.Workspace{Repository: true, Branch: "main", Commit: "4f1c2d", Changed: []string{" M notes.txt"}, More: 7, DiffStat: " notes.txt | 2 +-"}
	}
}

// TestTheOfferOfEachPhase compares the resume prompt of each phase with its golden
// file.
func TestTheOfferOfEachPhase(t *testing.T) {
	child := toolCall("child", event.ToolInProgress)
	child.Title, child.Raw = "Read the schema", []byte(`{"_meta":{"claudeCode":{"parentToolUseId":"t2"}}}`)
	titled := func(id, title string, status event.ToolStatus) event.ToolCall {
		call := toolCall(id, status)
		call.Title = title
		return call
	}
	said := []event.Payload{
		event.AgentThought{MessageID: "h", Text: "hm"}, event.AgentMessage{MessageID: "m", Text: "I shall rename it, then"},
	}
	reported := event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "t2", Content: []byte(`[{"type":"content","content":{"type":"text","text":"Looking."}},{"type":"content","content":{"type":"text","text":"The schema is in db.go."}}]`)}}
	plan := event.Plan{Entries: []event.PlanEntry{{Content: "Rename", Status: "completed"}, {Content: "Test"}}}
	for name, payloads := range map[string][]event.Payload{
		"streaming":  append(said, titled("t1", "Edit notes.txt", event.ToolCompleted), plan),
		"tools":      append(said, titled("t1", "Edit notes.txt", event.ToolCompleted), plan, titled("t2", "go test ./...", event.ToolInProgress), question("q1")),
		"delegating": append(said, titled("t2", "Explore the code", event.ToolInProgress), child, reported),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, clean)
			b, a := h.busy()
			require.NoError(t, a.say(payloads...))
			a.die(crash)
			open := interruptionOf(t, b)
			offer, err := b.Interruption(ctxOf(t))
			require.NoError(t, err)
			require.Equal(t, open.InterruptionID, offer.InterruptionID)
			require.False(t, offer.Stale)
			require.Empty(t, offer.Mismatch)
			require.Equal(t, name == "tools", len(offer.Lost) == 1)
			golden(t, name, offer.Prompt)
		})
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "resume", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestAResumeWinsOnceAndTheAgentGetsOnePrompt(t *testing.T) {
	h := newHub(t, clean)
	h.agents.resumable = true
	b, a := h.busy()
	prompt(t, b, "waits")
	a.die(crash)
	id := interruptionOf(t, b).InterruptionID

	const rivals = 8
	var wg sync.WaitGroup
	outcomes := make([]error, rivals)
	for i := range rivals {
		wg.Go(func() {
			if i%2 == 0 {
				_, outcomes[i] = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Actor: person("ann")})
			} else {
				outcomes[i] = b.Dismiss(ctxOf(t), id, person("bob"))
			}
		})
	}
	wg.Wait()
	won := 0
	var winner string
	for i, err := range outcomes {
		var settled *resume.AlreadySettled
		if err == nil {
			won++
			winner = []string{"ann", "bob"}[i%2]
		} else {
			require.True(t, errors.As(err, &settled), "%v", err)
		}
	}
	require.Equal(t, 1, won)
	_, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Actor: person("late")})
	var settled *resume.AlreadySettled
	require.ErrorAs(t, err, &settled)
	require.Equal(t, winner, settled.Winner.By)

	a = <-h.agents.started
	if winner == "ann" {
		require.Equal(t, "resume-"+id, receive(t, a.prompts, "no prompt").PromptID)
		require.NoError(t, a.say(event.TurnEnd{PromptID: "resume-" + id, StopReason: event.StopEndTurn}))
	}
	require.Equal(t, "waits", receive(t, a.prompts, "the queue did not continue").PromptID)
}

// If the hub is killed after a resume was accepted, the next hub closes that turn
// as another interruption. It sends the agent no prompt by itself.
func TestAResumeIsNotRepeatedAfterAKill(t *testing.T) {
	h := newHub(t, clean)
	b, a := h.busy()
	a.die(crash)
	id := interruptionOf(t, b).InterruptionID
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Prompt: "go on", Actor: person("ann")})
	require.NoError(t, err)
	after := h.copyOf(t, clean)
	b = after.session(b.ID())
	again := interruptionOf(t, b)
	require.NotEqual(t, id, again.InterruptionID)
	offer, err := b.Interruption(ctxOf(t))
	require.NoError(t, err)
	require.Equal(t, resumed.PromptID, offer.PromptID)
	_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Actor: person("bob")})
	var settled *resume.AlreadySettled
	require.ErrorAs(t, err, &settled)
	require.Equal(t, "ann", settled.Winner.By)
	require.Empty(t, after.agents.started)
}

func TestALocalResumeBeginsANewAgentSession(t *testing.T) {
	h := newHub(t, clean)
	h.agents.resumable = true
	b, a := h.busy()
	a.die(crash)
	id := interruptionOf(t, b).InterruptionID
	resumed, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Way: "local", Actor: person("ann")})
	require.NoError(t, err)
	require.Equal(t, event.WayLocal, resumed.Way)
	a = h.agents.next(t)
	require.Equal(t, resumed.PromptID, receive(t, a.prompts, "no prompt").PromptID)
	require.Empty(t, a.spec.AgentSessionID)
	require.True(t, a.spec.ContextLost)
}

func TestAnOldInterruptionIsResumedOnlyWhenItsAgeIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, clean)
		b, a := h.busy()
		a.die(crash)
		id := interruptionOf(t, b).InterruptionID
		time.Sleep(26 * time.Minute)
		offer, err := b.Interruption(t.Context())
		require.NoError(t, err)
		require.True(t, offer.Stale)
		_, err = b.Resume(t.Context(), session.ResumeRequest{InterruptionID: id, Actor: person("ann")})
		var needs *resume.NeedsConfirmation
		require.ErrorAs(t, err, &needs)
		require.Equal(t, []string{"stale"}, needs.Needs)
		_, err = b.Resume(t.Context(), session.ResumeRequest{InterruptionID: id, Confirm: needs.Needs, Actor: person("ann")})
		require.NoError(t, err)
	})
}

func TestATurnInAWorkspaceThatIsGoneCanOnlyBeDismissed(t *testing.T) {
	h := newHub(t, clean)
	b, a := h.busy()
	a.die(crash)
	id := interruptionOf(t, b).InterruptionID
	require.NoError(t, os.RemoveAll(h.workspace))
	offer, err := b.Interruption(ctxOf(t))
	require.NoError(t, err)
	require.Equal(t, []string{"workspace"}, offer.Mismatch)
	_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Actor: person("ann")})
	require.ErrorIs(t, err, state.ErrConflict)
	require.NoError(t, b.Dismiss(ctxOf(t), id, person("ann")))
	require.Nil(t, b.State().Interruption)
}

func TestAnAgentWithAnotherCommandThanThenIsShownAndConfirmed(t *testing.T) {
	runs := func(command ...string) hubOption {
		return func(o *session.Options, to *store.Options) {
			clean(o, to)
			o.Agents = []settings.Agent{{Name: "fake", Command: command}}
		}
	}
	h := newHub(t, runs("agent", "--fast"))
	h.agents.resumable = true
	b, a := h.busy()
	a.die(crash)
	id := interruptionOf(t, b).InterruptionID
	offer, err := b.Interruption(ctxOf(t))
	require.NoError(t, err)
	require.Empty(t, offer.Mismatch)

	after := h.copyOf(t, runs("agent", "--other"))
	after.agents.resumable = true
	b = after.session(b.ID())
	_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Actor: person("ann")})
	var needs *resume.NeedsConfirmation
	require.ErrorAs(t, err, &needs)
	require.Equal(t, []string{"agent"}, needs.Needs)
	_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Confirm: needs.Needs, Actor: person("ann")})
	require.NoError(t, err)
	require.Equal(t, "resume-"+id, receive(t, after.agents.next(t).prompts, "no prompt").PromptID)
}

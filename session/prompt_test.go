package session_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

func TestAPromptIsLoggedBeforeTheAgentIsGivenIt(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(message("On it."), toolCall("t1", event.ToolPending), toolUpdate("t1", event.ToolCompleted)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	require.Equal(t, []string{
		"session_start/0", "user_prompt/1", "agent_started/1", "turn_start/1", "agent_message/1",
		"tool_call/1", "tool_call_update:completed/1", "turn_end:end_turn/1",
	}, shape(t, b))
	require.Equal(t, 1, h.agents.givenTimes(promptID(0)))
}

func TestAReceivedPromptNamesItsEvent(t *testing.T) {
	h := newHub(t)
	b := h.create()
	result := prompt(t, b, "p")
	require.Equal(t, session.PromptResult{Outcome: queue.Received, Seq: 2}, result)
	all := events(t, b)
	require.Equal(t, event.TypeUserPrompt, all[result.Seq-1].Type)
	p := payloads[event.UserPrompt](t, b)[0]
	require.Equal(t, event.UserPrompt{PromptID: "p", Text: "do p", Actor: "ann", ByID: "id-ann"}, p)
}

// Fault 31.
func TestFault31AckLostThenRetrySamePromptID(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	first := prompt(t, b, promptID(0))
	require.Equal(t, queue.Received, first.Outcome)
	require.Equal(t, first, prompt(t, b, promptID(0)))

	require.Equal(t, session.PromptResult{Outcome: queue.Queued, Position: 0}, prompt(t, b, "waits"))
	require.Equal(t, session.PromptResult{Outcome: queue.Queued, Position: 0}, prompt(t, b, "waits"))

	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.Equal(t, "waits", receive(t, a.prompts, "the queue was not taken").PromptID)
	require.Equal(t, queue.Received, prompt(t, b, "waits").Outcome)
	require.NoError(t, a.end("waits", event.StopEndTurn))
	awaitIdle(t, b)

	h.close()
	h.open()
	b = h.session(b.ID())
	for _, id := range []string{promptID(0), "waits"} {
		require.Equal(t, queue.Received, prompt(t, b, id).Outcome)
	}
	require.Len(t, payloads[event.UserPrompt](t, b), 2)
	require.Equal(t, 1, h.agents.givenTimes(promptID(0)))
	require.Equal(t, 1, h.agents.givenTimes("waits"))
}

// Fault 32.
func TestFault32SamePromptIDOtherText(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	prompt(t, b, "waits")
	for _, id := range []string{promptID(0), "waits"} {
		_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: id, Text: "something else"})
		require.ErrorIs(t, err, state.ErrConflict)
	}
	require.NoError(t, b.QueueEdit(ctxOf(t), "waits", "something else", person("ann")))
	_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "waits", Text: "something else"})
	require.ErrorIs(t, err, state.ErrConflict, "the edited text counted, not the original")
	require.Equal(t, queue.Queued, prompt(t, b, "waits").Outcome)
}

func TestBadPromptsAreRefusedWithAReason(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.PromptBytes = 100 })
	b := h.create()
	for name, c := range map[string]struct {
		request session.PromptRequest
		want    error
	}{
		"no id":              {session.PromptRequest{Text: "x"}, state.ErrInvalid},
		"long id":            {session.PromptRequest{PromptID: strings.Repeat("x", 200), Text: "x"}, state.ErrInvalid},
		"id with NUL":        {session.PromptRequest{PromptID: "a\x00", Text: "x"}, state.ErrInvalid},
		"empty":              {session.PromptRequest{PromptID: "a", Text: " \n"}, state.ErrInvalid},
		"invalid UTF-8":      {session.PromptRequest{PromptID: "a", Text: "\xff"}, state.ErrInvalid},
		"too large":          {session.PromptRequest{PromptID: "a", Text: strings.Repeat("x", 101)}, state.ErrTooLarge},
		"now, but later":     {session.PromptRequest{PromptID: "a", Text: "x", When: session.WhenNow, ScheduledAt: &time.Time{}}, state.ErrInvalid},
		"strange when":       {session.PromptRequest{PromptID: "a", Text: "x", When: "never"}, state.ErrInvalid},
		"unknown attachment": {session.PromptRequest{PromptID: "a", Text: "x", Attachments: []event.Attachment{{SHA256: strings.Repeat("0", 64)}}}, state.ErrInvalid},
	} {
		_, err := b.Prompt(ctxOf(t), c.request)
		require.ErrorIs(t, err, c.want, name)
	}
	require.Len(t, events(t, b), 1)
}

func TestAWaitingPromptIsTakenWhenTheTurnEnds(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	for n := 1; n <= 3; n++ {
		require.Equal(t, session.PromptResult{Outcome: queue.Queued, Position: n - 1}, prompt(t, b, promptID(n)))
	}
	require.NoError(t, b.QueueMove(ctxOf(t), promptID(3), 0, person("ann")))
	require.NoError(t, b.QueueEdit(ctxOf(t), promptID(2), "edited", person("ann")))
	require.NoError(t, b.QueueRemove(ctxOf(t), promptID(1), person("ann")))
	require.Len(t, b.Queue(), 2)
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))

	got := receive(t, a.prompts, "nothing was taken")
	require.Equal(t, promptID(3), got.PromptID)
	require.NotNil(t, got.QueuedAt)
	require.NoError(t, a.end(got.PromptID, event.StopEndTurn))
	require.Equal(t, event.Text("edited"), receive(t, a.prompts, "nothing was taken").Text)
	require.NoError(t, a.end(promptID(2), event.StopEndTurn))
	awaitIdle(t, b)
	require.Empty(t, b.Queue())
	require.Equal(t, queue.Removed, prompt(t, b, promptID(1)).Outcome, "a removed prompt was revived")
	requireLawful(t, b, true)
}

func TestAPromptForNowStopsTheTurnAndIsSentBeforeThoseThatWait(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Queue.Delay = time.Hour })
	b, a := h.busy()
	prompt(t, b, promptID(1))
	now := session.PromptRequest{PromptID: promptID(2), Text: "rather this", When: session.WhenNow, Actor: person("ann")}
	got, err := b.Prompt(ctxOf(t), now)
	require.NoError(t, err)
	require.Equal(t, session.PromptResult{Outcome: queue.Queued}, got)
	<-a.cancels
	require.Equal(t, "ann stopped this turn to send another prompt.", string(noted(t, b, "abide/stop_and_send")[0].Text))
	now.PromptID, now.Text = promptID(3), "and this"
	got, err = b.Prompt(ctxOf(t), now)
	require.NoError(t, err)
	require.Equal(t, 1, got.Position, "behind an earlier one for now")
	require.NoError(t, a.end(promptID(0), event.StopCancelled))
	require.Equal(t, promptID(2), receive(t, a.prompts, "not sent at once").PromptID)
	end := payloads[event.TurnEnd](t, b)[0]
	require.Equal(t, event.StopCancelled, end.StopReason)
	require.Equal(t, "ann", end.By)
	require.Nil(t, b.State().Interruption)
	again, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: promptID(2), Text: "rather this", When: session.WhenNow, Actor: person("ann")})
	require.NoError(t, err)
	require.Equal(t, queue.Received, again.Outcome)
	require.Len(t, noted(t, b, "abide/stop_and_send"), 1, "a resend stops nothing")
	require.NoError(t, a.end(promptID(2), event.StopEndTurn))
	require.Equal(t, promptID(3), receive(t, a.prompts, "not sent at once").PromptID)
	require.Eventually(t, func() bool { return len(b.Queue()) == 1 }, patience, time.Millisecond, "a moment after it is sent")
}

func TestTheQueueKeepsItsLimitsAndItsSwitch(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Queue = settings.Queue{MaxSize: 1} })
	b, _ := h.busy()
	prompt(t, b, promptID(1))
	_, err := b.Prompt(ctxOf(t), ask(promptID(2)))
	require.ErrorIs(t, err, state.ErrConflict)
	require.Equal(t, "do prompt-001", b.Queue()[0].Title)

	changed := *h.manager.Settings()
	changed.Queue.Disabled = true
	require.NoError(t, h.manager.Configure(changed))
	_, err = b.Prompt(ctxOf(t), ask(promptID(2)))
	require.ErrorIs(t, err, state.ErrBusy)

	changed.WorkspaceQueues = map[string]settings.Queue{b.Info().Workspace: {MaxSize: 2, Untitled: true}}
	require.NoError(t, h.manager.Configure(changed))
	require.Equal(t, queue.Queued, prompt(t, b, promptID(2)).Outcome, "the workspace's own settings do not hold")
	require.Empty(t, b.Queue()[1].Title)

	// The settings of a parent directory apply through a symlink too, unless a
	// nearer directory has its own.
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Dir(b.Info().Workspace), link))
	changed.WorkspaceQueues = map[string]settings.Queue{
		link: {MaxSize: 3}, filepath.Join(b.Info().Workspace, "below"): {Disabled: true}, b.Info().Workspace + "-not": {Disabled: true},
	}
	require.NoError(t, h.manager.Configure(changed))
	require.Equal(t, queue.Queued, prompt(t, b, promptID(3)).Outcome, "the settings of a parent directory must apply")
	require.Equal(t, "do prompt-003", b.Queue()[2].Title)
	require.NoError(t, b.QueueClear(ctxOf(t), person("ann")))
	require.Empty(t, b.Queue())
}

// Fault 36, with twenty clients.
func TestFault36QueueAddRemoveEditRaceWithTurnEnd(t *testing.T) {
	h := newHub(t)
	h.agents.onPrompt = func(a *fakeAgent, p event.UserPrompt) {
		if p.PromptID != promptID(0) {
			_ = a.end(p.PromptID, event.StopEndTurn)
		}
	}
	b, a := h.busy()

	const clients, each = 20, 10
	var group sync.WaitGroup
	var mu sync.Mutex
	removed := map[string]bool{}
	for c := range clients {
		group.Go(func() {
			for n := range each {
				id := fmt.Sprintf("c%02d-%d", c, n)
				_, err := b.Prompt(context.Background(), ask(id))
				if err != nil {
					t.Errorf("prompt %s: %v", id, err)
				}
				if c == 0 && n == 5 { // the turn ends while the other clients send
					if err := a.end(promptID(0), event.StopEndTurn); err != nil {
						t.Error(err)
					}
				}
				switch n {
				case 3:
					_ = b.QueueEdit(context.Background(), id, "edited "+id, person("ann"))
				case 6:
					_ = b.QueueMove(context.Background(), id, 0, person("ann"))
				case 9:
					if b.QueueRemove(context.Background(), id, person("ann")) == nil {
						mu.Lock()
						removed[id] = true
						mu.Unlock()
					}
				}
			}
		})
	}
	group.Wait()
	await(t, b, "everything done", func(s session.State) bool { return idle(s) && len(s.Queue) == 0 })
	requireLawful(t, b, true)
	logged := map[string]int{}
	for _, p := range payloads[event.UserPrompt](t, b) {
		logged[p.PromptID]++
	}
	for c := range clients {
		for n := range each {
			id := fmt.Sprintf("c%02d-%d", c, n)
			want := 1
			if removed[id] {
				want = 0
			}
			require.Equal(t, want, logged[id], id)
			require.Equal(t, want, h.agents.givenTimes(id), id)
		}
	}
}

func TestPromptsOfManyClientsKeepTheirOrder(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	var group sync.WaitGroup
	for c := range 20 {
		group.Go(func() {
			for n := range 10 {
				if _, err := b.Prompt(context.Background(), ask(fmt.Sprintf("c%02d-%d", c, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	var want []string
	for _, item := range b.Queue() {
		want = append(want, item.PromptID)
	}
	require.Len(t, want, 200)
	h.agents.onPrompt = func(a *fakeAgent, p event.UserPrompt) { _ = a.end(p.PromptID, event.StopEndTurn) }
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	await(t, b, "everything done", func(s session.State) bool { return idle(s) && len(s.Queue) == 0 })
	require.Equal(t, want, h.agents.order[1:])
}

func TestTheQueueIsTakenAfterAHubRestart(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	prompt(t, b, promptID(1))
	h.close()
	h.agents.onPrompt = func(a *fakeAgent, p event.UserPrompt) { _ = a.end(p.PromptID, event.StopEndTurn) }
	h.open() // no request opens the session
	a := h.agents.next(t)
	require.Equal(t, promptID(1), receive(t, a.prompts, "the queue was not taken").PromptID)
	require.Equal(t, queue.Interrupted, prompt(t, h.session(b.ID()), promptID(0)).Outcome)
	require.Equal(t, 1, h.agents.givenTimes(promptID(0)), "an interrupted prompt was given again")
}

func TestAttachmentsAreStoredNamedAndCapped(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.AttachmentBytes = 100 })
	b := h.create()
	att, err := b.Attach(ctxOf(t), person("ann"), `C:\secret\..\pic<1>.png`, "image/png", strings.NewReader("pixels"))
	require.NoError(t, err)
	require.Equal(t, "pic_1_.png", att.Name)
	require.Equal(t, int64(6), att.Bytes)
	_, err = b.Attach(ctxOf(t), person("ann"), "big", "text/plain", strings.NewReader(strings.Repeat("x", 101)))
	require.ErrorIs(t, err, state.ErrTooLarge)
	_, err = b.Attach(ctxOf(t), person("ann"), "none", "text/plain", strings.NewReader(""))
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = b.Attach(ctxOf(t), person("ann"), "cut off", "text/plain", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, state.ErrInvalid)
	exact, err := b.Attach(ctxOf(t), person("ann"), "exact", "text/plain", iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 100))))
	require.NoError(t, err)
	require.EqualValues(t, 100, exact.Bytes)
	for hostile, want := range map[string]string{"../..": "attachment", "": "attachment", "a/b/\x00": "attachment"} {
		a, err := b.Attach(ctxOf(t), person("ann"), hostile, "text/plain", strings.NewReader("x"))
		require.NoError(t, err)
		require.Equal(t, want, a.Name)
	}
	_, err = b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "p", Attachments: []event.Attachment{att}})
	require.NoError(t, err)
	a := h.agents.next(t)
	got := receive(t, a.prompts, "no prompt")
	require.Equal(t, []event.Attachment{att}, got.Attachments)
	blob, err := a.spec.OpenBlob(att.SHA256)
	require.NoError(t, err)
	require.NoError(t, blob.Close())
}

func TestOfAnAttachmentCountsWhatItsUploadRecorded(t *testing.T) {
	h := newHub(t)
	b := h.create()
	shot, err := b.Attach(ctxOf(t), person("ann"), "shot.png", "image/png", strings.NewReader("pixels"))
	require.NoError(t, err)
	again, err := b.Attach(ctxOf(t), person("ann"), "again.gif", "image/gif", strings.NewReader("pixels"))
	require.NoError(t, err)
	require.Equal(t, shot.SHA256, again.SHA256)
	other, err := b.Attach(ctxOf(t), person("ann"), "other.txt", "text/plain", strings.NewReader("other"))
	require.NoError(t, err)
	h.close()
	h.open() // the recorded outcomes survive a restart
	b = h.session(b.ID())

	lies := session.PromptRequest{PromptID: "p", Text: "look", Attachments: []event.Attachment{
		{Name: "../../../x\u202egnp.exe", MediaType: "text/html", Bytes: 1, SHA256: other.SHA256},
		{Name: shot.Name, MediaType: shot.MediaType, Bytes: -5, SHA256: shot.SHA256},
		{Name: again.Name, MediaType: again.MediaType, SHA256: again.SHA256},
	}}
	_, err = b.Prompt(ctxOf(t), lies)
	require.NoError(t, err)
	given := receive(t, h.agents.next(t).prompts, "no prompt")
	require.Equal(t, []event.Attachment{other, shot, again}, given.Attachments)
	require.Equal(t, given.Attachments, payloads[event.UserPrompt](t, b)[0].Attachments)
	for what, resent := range map[string][]event.Attachment{"as it was": lies.Attachments, "as it is": given.Attachments} {
		result, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "p", Text: "look", Attachments: resent})
		require.NoError(t, err, what)
		require.Equal(t, queue.Received, result.Outcome, what)
	}

	blob, err := b.Log().PutBlobFrom(ctxOf(t), "text/plain", strings.NewReader("of the log"))
	require.NoError(t, err)
	_, err = b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "q", Text: "x", Attachments: []event.Attachment{{Name: "x", SHA256: blob.SHA256}}})
	require.ErrorIs(t, err, state.ErrInvalid, "it was never uploaded")
}

func TestAWaitingPromptIsTitledByItsFirstSentence(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	for i, c := range []struct{ text, title string }{
		{"See e.g. foo.go. Then go on", "See e.g. foo.go"},
		{"Move to the U.S. layout (cf. docs). Thanks", "Move to the U.S. layout (cf. docs)"},
		{"Bump to 1.2. Then tag it", "Bump to 1.2"},
		{"Fix it. Now", "Fix it"},
		{"Is it so? Tell", "Is it so?"},
		{"Do it...", "Do it.."},
	} {
		_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: fmt.Sprint("t", i), Text: c.text})
		require.NoError(t, err)
		require.Equal(t, c.title, b.Queue()[i].Title)
	}
}

func TestAVerbWhoseCallerLeftStillHappensOnce(t *testing.T) {
	h := newHub(t)
	b := h.create()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = b.Prompt(ctx, ask("p")) // either outcome is fine
	require.Equal(t, queue.Received, prompt(t, b, "p").Outcome)
	require.Len(t, payloads[event.UserPrompt](t, b), 1)
}

func TestThe2500thPromptDoesNotMakeTheFirstRunAgain(t *testing.T) {
	h := newDiskHub(t)
	log, err := h.store.Create(ctxOf(t), event.SessionStart{Agent: "fake", Workspace: h.workspace})
	require.NoError(t, err)
	const total = 2500
	var drafts []event.Draft
	for n := range total {
		for _, p := range []event.Payload{
			event.UserPrompt{PromptID: promptID(n), Text: event.Text("do " + promptID(n))},
			event.TurnEnd{PromptID: promptID(n), StopReason: event.StopEndTurn},
		} {
			draft, err := event.NewDraft(p, n+1, time.Now())
			require.NoError(t, err)
			drafts = append(drafts, draft)
		}
	}
	_, _, err = log.Append(ctxOf(t), drafts...)
	require.NoError(t, err)
	resent := func(when string) {
		for _, n := range []int{0, 1, 1000, total - 1} {
			require.Equal(t, queue.Received, prompt(t, h.session(log.ID()), promptID(n)).Outcome, when)
			require.Zero(t, h.agents.givenTimes(promptID(n)), when)
		}
		other := ask(promptID(0))
		other.Text = "something else"
		_, err := h.session(log.ID()).Prompt(ctxOf(t), other)
		require.ErrorIs(t, err, state.ErrConflict, when)
	}
	resent("in the same run")
	h.close()
	h.open()
	resent("in the next")
	h.close()
	require.NoError(t, os.Remove(filepath.Join(h.dir, "sessions", log.ID(), "queue.json")))
	h.open()
	resent("after the queue's file was lost")
}

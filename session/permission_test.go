package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

func answer(b *session.BackgroundSession, request, option, client string) (event.PermissionOutcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return b.AnswerPermission(ctx, session.Answer{PermissionID: request, OptionID: option, Actor: event.Actor{Name: "by " + client, ID: client}, MayRule: true})
}

func TestAPermissionRequestIsAnEventAndTheAnswerToo(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(question("q1")))
	s := await(t, b, "a pending request", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
	require.Equal(t, []string{"q1"}, s.PendingPermissions)
	require.Eventually(t, func() bool { return b.Info().Status == state.StatusNeedsYou }, patience, time.Millisecond)

	outcome, err := answer(b, "q1", "no", "phone")
	require.NoError(t, err)
	want := event.PermissionOutcome{PermissionID: "q1", Outcome: event.OutcomeSelected, OptionID: "no", By: "by phone", ByID: "phone"}
	require.Equal(t, want, outcome)
	require.Equal(t, want, receive(t, a.answers, "the agent got no answer"))
	require.Equal(t, []event.PermissionOutcome{want}, payloads[event.PermissionOutcome](t, b))
	require.Empty(t, b.State().PendingPermissions)
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	require.Eventually(t, func() bool { return b.Info().Status == state.StatusIdle }, patience, time.Millisecond)
}

// Fault 33 of the fault list.
func TestFault33TwoTabsAnswerPermission(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(question("q1")))
	const tabs = 16
	results := make([]error, tabs)
	var group sync.WaitGroup
	for tab := range tabs {
		group.Go(func() {
			option := "yes"
			if tab%2 == 0 {
				option = "no"
			}
			_, results[tab] = answer(b, "q1", option, string(rune('a'+tab)))
		})
	}
	group.Wait()
	winner := receive(t, a.answers, "the agent got no answer")
	won := 0
	for tab, err := range results {
		client := string(rune('a' + tab))
		if err == nil {
			won++
			require.Equal(t, "by "+client, winner.By)
			again, err := answer(b, "q1", winner.OptionID, client)
			require.NoError(t, err, "the winner's own answer again failed")
			require.Equal(t, winner, again)
			continue
		}
		var lost *state.AlreadyResolved
		require.ErrorAs(t, err, &lost)
		require.Equal(t, winner, lost.Winner)
		_, err = answer(b, "q1", winner.OptionID, client)
		require.ErrorAs(t, err, &lost, "another client's same answer counted as the winner's")
	}
	require.Equal(t, 1, won)
	require.Len(t, payloads[event.PermissionOutcome](t, b), 1)
	require.Empty(t, a.answers, "the agent got two answers")
}

// Fault 34.
func TestFault34PermissionAnswerForUnknownExpiredOrOtherSessionsID(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	other, otherAgent := h.busy()
	require.NoError(t, a.say(question("q1")))
	require.NoError(t, otherAgent.say(question("q2")))

	_, err := answer(b, "nobody", "yes", "tab")
	require.ErrorIs(t, err, state.ErrNotFound)
	_, err = answer(b, "q2", "yes", "tab")
	require.ErrorIs(t, err, state.ErrNotFound)
	_, err = answer(b, "q1", "maybe", "tab")
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "q1", OptionID: "yes", Content: json.RawMessage(`{}`)})
	require.ErrorIs(t, err, state.ErrInvalid, "content answered a request without a form")

	require.NoError(t, b.Cancel(ctxOf(t), person("ann")))
	_, err = answer(b, "q1", "yes", "tab")
	var lost *state.AlreadyResolved
	require.ErrorAs(t, err, &lost)
	require.Equal(t, event.OutcomeCancelled, lost.Winner.Outcome)
	require.Equal(t, []string{"q2"}, other.State().PendingPermissions)
}

func TestAnAnswerToACallThatChangedSinceItWasSeenIsRefused(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	call := called("c", event.ToolCallFields{Title: "Run", Kind: "execute", RawInput: raw(`{"command":"ls"}`)})
	require.NoError(t, a.say(call, wantsCall("q1", "c", nil)))
	require.Equal(t, []string{"q1"}, pending(b))
	seen := b.Log().Marks().Visible
	at := func(seq event.Seq) error {
		_, err := b.AnswerPermission(ctxOf(t), session.Answer{
			PermissionID: "q1", OptionID: "2", Actor: person("ann"), SeenSeq: seq,
		})
		return err
	}
	call.RawInput = raw(`{"command":"rm -rf /"}`)
	require.NoError(t, a.say(call))
	changed := b.Log().Marks().Visible
	require.ErrorIs(t, at(seen), state.ErrConflict)
	require.Equal(t, []string{"q1"}, pending(b), "an answer that was refused counted")
	// Output and status do not change the request.
	require.NoError(t, a.say(toolUpdate("c", event.ToolInProgress), message("meanwhile")))
	require.NoError(t, at(changed))
	require.NoError(t, at(seen), "the winner's own answer again succeeds")
}

func TestAFormIsAnsweredWithItsContent(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	form := question("f")
	form.Form = json.RawMessage(`{"type":"object"}`)
	require.NoError(t, a.say(form))
	_, err := b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "f", OptionID: "yes", Content: json.RawMessage(`[1]`)})
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "f", OptionID: "yes", Content: json.RawMessage(`{"name":"x"}`)})
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"x"}`, string(receive(t, a.answers, "the agent got no answer").Content))
}

func TestAWithdrawnRequestHasOneOutcome(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	withdrawn := event.PermissionOutcome{PermissionID: "q1", Outcome: event.OutcomeCancelled, By: "agent", Reason: "withdrawn"}
	require.NoError(t, a.say(question("q1"), withdrawn, question("q1")))
	require.Empty(t, b.State().PendingPermissions)
	_, err := answer(b, "q1", "yes", "tab")
	var lost *state.AlreadyResolved
	require.ErrorAs(t, err, &lost)

	require.NoError(t, a.say(question("q2")))
	_, err = answer(b, "q2", "yes", "tab")
	require.NoError(t, err)
	withdrawn.PermissionID = "q2"
	require.NoError(t, a.say(withdrawn)) // after the answer
	requireLawful(t, b, false)
}

func TestATurnThatEndsSettlesItsOpenRequests(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(question("q1"), event.TurnEnd{PromptID: promptID(0), StopReason: event.StopEndTurn}))
	awaitIdle(t, b)
	requireLawful(t, b, true)
	require.Equal(t, event.OutcomeCancelled, receive(t, a.answers, "the agent got no answer").Outcome)
}

// Fault 35.
func TestFault35PermissionWithNoObserver(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(question("q1")))
	// A client connects later, finds the request open and answers it.
	require.Equal(t, []string{"q1"}, h.session(b.ID()).State().PendingPermissions)
	_, err := answer(b, "q1", "yes", "tab")
	require.NoError(t, err)

	// The next request is open when the hub is killed. The next run settles it
	// before any client can see the session.
	require.NoError(t, a.say(question("q2")))
	after := h.copyOf(t)
	b2 := after.session(b.ID())
	requireLawful(t, b2, true)
	_, err = answer(b2, "q2", "yes", "tab")
	var lost *state.AlreadyResolved
	require.ErrorAs(t, err, &lost)
	require.Equal(t, "hub_restart", lost.Winner.Reason)
}

func TestUnattendedRequestsAreNeverAllowedByTimeRunningOut(t *testing.T) {
	for name, c := range map[string]struct {
		policy settings.Permissions
		denied time.Duration // when it is denied; 0 is at once, negative is never
	}{
		"wait for ever": {settings.Permissions{}, -1},
		"wait a while":  {settings.Permissions{WaitLimit: time.Minute}, time.Minute},
		"deny":          {settings.Permissions{DenyUnattended: true, WaitLimit: time.Hour}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t, func(o *session.Options, _ *store.Options) { o.Permissions = c.policy })
				b, a := h.busy()
				b.SetPresence("tab", state.Presence{Actor: "ann", Activity: state.Viewing})
				require.NoError(t, a.say(question("q1")))
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				require.Empty(t, a.answers, "a watched request was answered by the hub")

				b.RemovePresence("tab")
				began := time.Now()
				if c.denied < 0 {
					time.Sleep(time.Duration(soak.Rounds(1, 30)) * 24 * time.Hour)
					synctest.Wait()
					require.Empty(t, a.answers)
					return
				}
				o := <-a.answers
				require.Equal(t, c.denied, time.Since(began))
				require.Equal(t, event.PermissionOutcome{
					PermissionID: "q1", Outcome: event.OutcomeSelected, OptionID: "no",
					By: "hub", Reason: "no person watches this session",
				}, o)

				no := question("q2")
				no.Options = no.Options[:1] // only "yes" is left
				require.NoError(t, a.say(no))
				require.Equal(t, event.OutcomeCancelled, (<-a.answers).Outcome)
				requireLawful(t, b, false)
			})
		})
	}
}

func TestAScreenThatIsNotVisibleDoesNotCountAsWatching(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Permissions.DenyUnattended = true })
	b, a := h.busy()
	b.SetPresence("tab", state.Presence{Activity: state.Viewing})
	require.NoError(t, a.say(question("q1")))
	require.Empty(t, a.answers)
	b.SetPresence("tab", state.Presence{Activity: state.Away})
	require.Equal(t, "no", receive(t, a.answers, "the request still waits").OptionID)
}

func TestAViewerDoesNotCountAsWatching(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Permissions.DenyUnattended = true })
	b, a := h.busy()
	b.SetPresence("tab", state.Presence{Activity: state.Viewing})
	b.SetPresence("guest", state.Presence{Activity: state.Viewing, Viewer: true})
	require.NoError(t, a.say(question("q1")))
	require.Empty(t, a.answers)
	b.RemovePresence("tab")
	require.Equal(t, "no", receive(t, a.answers, "the request waits for a client that cannot answer").OptionID)
}

func TestErrorsSpeakToAPerson(t *testing.T) {
	err := error(&state.AlreadyResolved{Winner: event.PermissionOutcome{PermissionID: "q", By: "phone"}})
	require.Equal(t, "permission request q was already answered by phone", err.Error())
	require.False(t, errors.Is(err, state.ErrConflict))
}

func TestEachSessionHasThePolicyItBeganWith(t *testing.T) {
	wait, deny := event.Policy{Unattended: event.UnattendedWait}, event.Policy{Unattended: event.UnattendedDeny}
	denies := func(o *session.Options, _ *store.Options) { o.Permissions.DenyUnattended = true }
	h := newDiskHub(t)
	begin := func(p *event.Policy) (*session.BackgroundSession, *fakeAgent) {
		b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Prompt: "go", Policy: p})
		require.NoError(t, err)
		return b, h.agents.next(t)
	}
	ask := func(b *session.BackgroundSession, a *fakeAgent, id string) {
		require.NoError(t, a.say(question(id)))
		require.Equal(t, id, payloads[event.PermissionRequest](t, b)[0].PermissionID)
	}
	denied, byDenied := begin(&deny)
	waits, byWaits := begin(&wait)
	usual, byUsual := begin(nil)
	configured := event.Policy{Unattended: event.UnattendedWait, Configured: true}
	require.Equal(t, []event.Policy{deny, wait, configured}, []event.Policy{*denied.State().Policy, *waits.State().Policy, *usual.State().Policy})
	require.Equal(t, &configured, payloads[event.SessionStart](t, usual)[0].Policy)

	// A session that was given none follows the configuration.
	require.NoError(t, h.manager.Configure(settings.Hub{
		Agents: h.manager.Settings().Agents, DefaultWorkspace: h.workspace, Permissions: settings.Permissions{DenyUnattended: true},
	}))
	ask(denied, byDenied, "q1")
	require.Equal(t, "no", receive(t, byDenied.answers, "the request waits").OptionID)
	ask(waits, byWaits, "q1")
	ask(usual, byUsual, "q1")
	later, byLater := begin(nil)
	ask(later, byLater, "q1")
	require.Equal(t, "no", receive(t, byLater.answers, "the request waits").OptionID)
	require.Equal(t, "no", receive(t, byUsual.answers, "the request waits").OptionID)
	require.Empty(t, byWaits.answers)

	// It holds after a kill, with and without what is computed from the log.
	for name, gone := range map[string]string{"killed": "", "without metadata": "metadata.json"} {
		t.Run(name, func(t *testing.T) {
			c := &hub{t: t, dir: t.TempDir(), workspace: h.workspace, agents: newAgents()}
			copyDir(t, h.dir, c.dir)
			if gone != "" {
				require.NoError(t, os.Remove(filepath.Join(c.dir, "sessions", waits.ID(), gone)))
			}
			c.open(denies)
			t.Cleanup(c.close)
			b := c.session(waits.ID())
			require.Equal(t, &wait, b.State().Policy)
			prompt(t, b, "again")
			a := c.agents.next(t)
			require.NoError(t, a.say(question("q2")))
			await(t, b, "a request", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
			require.Empty(t, a.answers)
		})
	}
}

// Sessions of builds that recorded no policy follow the configuration, as they did.
func TestASessionWithoutAPolicyFollowsTheConfiguration(t *testing.T) {
	h := newHub(t)
	id, err := h.journal.Create(ctxOf(t), event.SessionStart{Agent: "fake", Workspace: h.workspace, CreatedBy: "ann"})
	require.NoError(t, err)
	b := h.session(id)
	require.Nil(t, b.State().Policy)
	prompt(t, b, "p")
	a := h.agents.next(t)
	require.NoError(t, a.say(question("q1")))
	await(t, b, "a request", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
	require.Empty(t, a.answers)
	require.NoError(t, h.manager.Configure(settings.Hub{
		Agents: h.manager.Settings().Agents, DefaultWorkspace: h.workspace, Permissions: settings.Permissions{DenyUnattended: true},
	}))
	require.Equal(t, "no", receive(t, a.answers, "the request still waits").OptionID)
}

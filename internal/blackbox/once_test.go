package blackbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// together runs f n times concurrently and waits for all calls.
func together(n int, f func(i int)) {
	var wait sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wait.Go(func() { <-start; f(i) })
	}
	close(start)
	wait.Wait()
}

// codeOf returns the code of the hub's refusal, or an empty string.
func codeOf(err error) wire.Code {
	refused := (*client.Error)(nil)
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// TestFault31APromptSentByManyAtOnceRunsOnce sends each of several prompts from six
// sockets at once, some while the agent is busy.
func TestFault31APromptSentByManyAtOnceRunsOnce(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	session := h.create("demo")
	var screens []*screen
	for i := range 6 {
		screens = append(screens, h.screen(fmt.Sprintf("screen %d", i), session, 0))
		screens[i].socket()
	}
	for n := range 5 {
		id, text := fmt.Sprintf("p%d", n), fmt.Sprintf("/burst 300 (%d)", n)
		outcomes := make([]client.PromptOutcome, len(screens))
		errs := make([]error, len(screens))
		together(len(screens), func(i int) {
			outcomes[i], errs[i] = screens[i].socket().Prompt(t.Context(), wire.Prompt{SessionID: session.SessionID, PromptID: id, Text: text})
		})
		for i, err := range errs {
			require.NoError(t, err)
			require.Contains(t, []wire.Fate{wire.FateReceived, wire.FateQueued}, outcomes[i].Fate)
		}
	}
	_, err := screens[0].socket().Prompt(t.Context(), wire.Prompt{SessionID: session.SessionID, PromptID: "p0", Text: "something else"})
	require.Equal(t, wire.CodeConflict, codeOf(err), "the same id with another text: %v", err)
	for n := range 5 {
		screens[0].untilTurnEnds(fmt.Sprintf("p%d", n))
	}
	requireTrueScreens(t, h, session.SessionID, screens...)
	log := onDisk(t, h, session.SessionID)
	require.Len(t, payloads[event.UserPrompt](t, log), 5)
	require.Len(t, payloads[event.TurnStart](t, log), 5)
	for text, times := range readRecord(t, record).prompts {
		require.Equal(t, 1, times, text)
	}
}

// TestFault33TheFirstAnswerToAPermissionRequestWins lets five screens send
// different answers at once.
func TestFault33TheFirstAnswerToAPermissionRequestWins(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	var screens []*screen
	for i := range 5 {
		screens = append(screens, h.screen(fmt.Sprintf("screen %d", i), session, 0))
	}
	for round := 1; round <= 8; round++ {
		id := fmt.Sprintf("p%d", round)
		screens[0].prompt(session.SessionID, id, "/ask")
		for _, c := range screens {
			c.untilAsked(round)
		}
		asked := screens[0].untilAsked(round)
		options, request := onceOnly(asked), asked.PermissionID
		resolved := make([]wire.PermissionResolved, len(screens))
		errs := make([]error, len(screens))
		together(len(screens), func(i int) {
			option := options[i%len(options)].OptionID
			resolved[i], errs[i] = screens[i].socket().Answer(t.Context(), wire.PermissionAnswer{SessionID: session.SessionID, PermissionID: request, OptionID: option})
		})
		screens[0].untilTurnEnds(id)
		outcome := payloads[event.PermissionOutcome](t, screens[0].seen())[round-1]
		winners := 0
		for i, err := range errs {
			if err == nil {
				// Another screen of the same person with the same answer also
				// succeeds.
				winners++
				require.Equal(t, outcome.OptionID, resolved[i].OptionID)
				require.Equal(t, outcome.OptionID, options[i%len(options)].OptionID)
				continue
			}
			refused := (*client.Error)(nil)
			require.ErrorAs(t, err, &refused)
			require.Equal(t, wire.CodeAlreadyResolved, refused.Code)
			require.NotNil(t, refused.Winner)
			require.Equal(t, outcome.OptionID, refused.Winner.OptionID)
		}
		require.Positive(t, winners)
		require.Less(t, winners, len(screens))
		again, err := screens[0].socket().Answer(t.Context(), wire.PermissionAnswer{SessionID: session.SessionID, PermissionID: "never-was", OptionID: "x"})
		require.Equal(t, wire.CodeNotFound, codeOf(err), "%+v", again)
	}
	requireTrueScreens(t, h, session.SessionID, screens...)
	require.Len(t, payloads[event.PermissionOutcome](t, screens[0].seen()), 8)
}

// onceOnly returns the options that apply to this request only.
func onceOnly(asked event.PermissionRequest) []event.PermissionOption {
	return slices.DeleteFunc(slices.Clone(asked.Options), func(o event.PermissionOption) bool {
		return o.Kind != event.AllowOnce && o.Kind != event.RejectOnce
	})
}

// TestManyQueueAtOnceAndEachAcknowledgedPromptRunsOnce fills the queue from many
// sockets at once. Acknowledged prompts run, refused ones do not.
func TestManyQueueAtOnceAndEachAcknowledgedPromptRunsOnce(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{more: "queue: {max_size: 20}\n"})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	other := h.screen("other", session, 0)
	c.prompt(session.SessionID, "first", "/ask")
	request := c.untilAsked(1) // the agent is busy now
	errs := make([]error, 48)
	together(len(errs), func(i int) {
		socket := []*client.Socket{c.socket(), other.socket()}[i%2]
		_, errs[i] = socket.Prompt(t.Context(), wire.Prompt{SessionID: session.SessionID, PromptID: fmt.Sprintf("q%d", i), Text: fmt.Sprintf("/plan (%d)", i)})
	})
	queued := map[string]bool{}
	for i, err := range errs {
		if err == nil {
			queued[fmt.Sprintf("q%d", i)] = true
			continue
		}
		require.Contains(t, []wire.Code{wire.CodeConflict, wire.CodeBusy}, codeOf(err), "the code of a full queue: %v", err)
	}
	require.Len(t, queued, 20)
	c.answer(session.SessionID, request, event.AllowOnce)
	for id := range queued {
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds(id).StopReason)
	}
	requireTrueScreens(t, h, session.SessionID, c, other)
	require.Len(t, payloads[event.UserPrompt](t, c.seen()), 21)
}

// TestFault37ACancelThatMeetsTheEndOfItsTurnLeavesOneEnd cancels short turns at
// different moments, also as they end.
func TestFault37ACancelThatMeetsTheEndOfItsTurnLeavesOneEnd(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	for n := range 40 {
		id := fmt.Sprintf("p%d", n)
		c.prompt(session.SessionID, id, "/burst 40")
		time.Sleep(time.Duration(n%20) * time.Millisecond) // a different moment each time
		c.cancel(session.SessionID)
		end := c.untilTurnEnds(id)
		require.Contains(t, []event.StopReason{event.StopEndTurn, event.StopCancelled}, end.StopReason)
	}
	requireTrueScreens(t, h, session.SessionID, c)
	require.Len(t, payloads[event.TurnEnd](t, c.seen()), 40)
}

// TestAClientThatComesAndGoesDuringAStormMissesNothing reconnects a client again
// and again while the agent floods the log.
func TestAClientThatComesAndGoesDuringAStormMissesNothing(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	steady := h.screen("steady", session, 0)
	steady.prompt(session.SessionID, "p1", "/burst 12000")
	history := client.NewHistory(session.SessionID, client.Cursor{Epoch: session.Epoch})
	var seen []event.Event
	connections := 0
	errEnough := errors.New("enough of this connection")
	for ended := false; !ended; connections++ {
		socket, err := h.hub.DialSession(t.Context(), session.SessionID, history.Cursor())
		require.NoError(t, err)
		history.Reconnected()
		frames := 0
		err = socket.Run(t.Context(), func(m wire.Message) error {
			change, err := history.Apply(m)
			require.NoError(t, err)
			require.False(t, change.Reset)
			seen = append(seen, change.Events...)
			for _, e := range change.Events {
				ended = ended || e.Type == event.TypeTurnEnd
			}
			if frames++; ended || frames > 3+connections%10 {
				return errEnough
			}
			return nil
		})
		require.ErrorIs(t, err, errEnough)
	}
	require.Zero(t, history.Dropped())
	require.Zero(t, history.Gaps())
	require.Greater(t, connections, 3)
	t.Logf("%d connections", connections)
	log := onDisk(t, h, session.SessionID)
	requirePrefix(t, log, seen, "the restless client")
	require.GreaterOrEqual(t, len(seen), 12000)
}

// TestPagesAndTheFileAgreeWhileTheSessionGrows reads a growing session forwards
// over HTTP, then backwards over the socket.
func TestPagesAndTheFileAgreeWhileTheSessionGrows(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	session := h.create("demo")
	c := h.screen("screen", session, 0)
	c.prompt(session.SessionID, "p1", "/burst 12000")
	var paged []event.Event
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		page, err := h.hub.EventsAfter(ctx, session.SessionID, event.Seq(len(paged)), wire.MaxPage)
		require.NoError(t, err)
		paged = append(paged, page.Events...)
		if n := len(paged); !page.HasMore && n > 0 && paged[n-1].Type == event.TypeTurnEnd {
			break
		}
	}
	socket := c.socket()
	var backwards []event.Event
	for before := event.Seq(len(paged) + 1); before > 1; {
		page, err := socket.Load(ctx, wire.LoadEvents{SessionID: session.SessionID, BeforeSeq: &before, Limit: wire.MaxPage})
		require.NoError(t, err)
		require.NotEmpty(t, page.Events)
		backwards = append(append([]event.Event{}, page.Events...), backwards...)
		before = page.FirstSeq
	}
	log := onDisk(t, h, session.SessionID)
	requireSame(t, log, paged, "pages forwards")
	requireSame(t, log, backwards, "pages backwards")
}

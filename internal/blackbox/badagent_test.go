package blackbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestEachTurnEndsOnceAndTheNextPromptWorks runs every command of
// the built-in agent, including its faults. A turn that does not end is cancelled,
// then force-reset.
func TestEachTurnEndsOnceAndTheNextPromptWorks(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	first := h.create("demo")
	c := h.screen("commands", first, 0)
	c.prompt(first.SessionID, "p0", "/plan")
	c.untilTurnEnds("p0")
	var offered []event.Commands // sent by the agent at a time of its choosing
	c.until("the agent's commands", func(events []event.Event, _ *wire.State) bool {
		offered = payloads[event.Commands](t, events)
		return len(offered) > 0
	})
	for _, command := range offered[0].Commands {
		t.Run(command.Name, func(t *testing.T) {
			h := h.in(t)
			session := h.create("demo")
			c := h.screen(command.Name, session, 0)
			stop := answerAll(c, session.SessionID)
			defer stop()
			c.prompt(session.SessionID, "p1", "/"+command.Name+" 2")
			endTurn(t, c, session.SessionID)
			c.prompt(session.SessionID, "p2", "/plan")
			require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
			stop()
			log := onDisk(t, h, session.SessionID)
			require.Len(t, payloads[event.TurnEnd](t, log), 2)
			requirePrefix(t, log, c.seen(), c.name)
		})
	}
}

// endTurn waits for the end of p1. If it does not end, it cancels and then
// force-resets the turn.
func endTurn(t *testing.T, c *screen, session string) {
	ended := func(within time.Duration) bool {
		deadline := time.After(within)
		for {
			c.mu.Lock()
			events, changed := c.events, c.changed
			c.mu.Unlock()
			if len(payloads[event.TurnEnd](t, events)) > 0 {
				return true
			}
			select {
			case <-changed:
			case <-deadline:
				return false
			}
		}
	}
	if ended(5 * time.Second) {
		return
	}
	c.cancel(session)
	if ended(5 * time.Second) {
		return
	}
	require.NoError(t, c.socket().Send(t.Context(), &wire.ForceReset{SessionID: session}))
	require.True(t, ended(30*time.Second), "a force reset does not end the turn")
}

// answerAll allows every permission request until the returned function is called.
func answerAll(c *screen, session string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.allow(ctx, session) }()
	return func() { cancel(); <-done }
}

// TestASessionThatIsDeletedWhileOpenTakesNobodyWithIt deletes a busy session that
// two screens follow. Other sessions keep working.
func TestASessionThatIsDeletedWhileOpenTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{agents: map[string]agent{"demo": paced()}})
	doomed, other := h.create("demo"), h.create("demo")
	bystander := h.screen("bystander", other, 0)
	watcher := h.raw("/api/sessions/" + doomed.SessionID + "/ws")
	plain := h.raw("/api/ws")
	plain.write(`{"type":"observe","request_id":"r","session_id":"` + doomed.SessionID + `"}`)
	plain.next("events_loaded")
	plain.write(`{"type":"prompt","request_id":"p","session_id":"` + doomed.SessionID + `","prompt_id":"p1","text":"/slow 600"}`)
	plain.next("prompt_received")
	watcher.next("events")
	require.NoError(t, h.hub.Delete(t.Context(), doomed.SessionID))
	plain.next("session_gone")
	plain.write(`{"type":"ping","nonce":"alive"}`)
	plain.next("pong")
	require.EqualValues(t, wire.CloseSessionGone, watcher.closed())
	require.NoDirExists(t, h.data+"/sessions/"+doomed.SessionID)
	bystander.prompt(other.SessionID, "p1", "/plan")
	require.Equal(t, event.StopEndTurn, bystander.untilTurnEnds("p1").StopReason)
	require.Eventually(t, func() bool { return len(marked(h.id()+".")) <= 1 }, patience, 20*time.Millisecond, "the deleted session's agent is still running")
}

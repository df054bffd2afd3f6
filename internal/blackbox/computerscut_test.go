package blackbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestACopyIsWholeWhileTheMachinesConnectionIsCut cuts a machine's connection again and again
// while an agent there writes 500 events a second and home prompts another session. make soak
// cuts it every 300 ms for ten minutes.
func TestACopyIsWholeWhileTheMachinesConnectionIsCut(t *testing.T) {
	t.Parallel()
	c := newComputers(t, settings{})
	busy, asked := c.machine.create("demo"), c.machine.create("demo")
	c.listed(busy.SessionID)
	c.listed(asked.SessionID)
	at := []*screen{c.home.screen("busy at home", busy, 0), c.home.screen("asked at home", asked, 0)}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { // 500 events a second
		n, tick := 0, time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ { // a crowded computer refuses some: its queue is full
			if _, err := c.machine.hub.Ask(t.Context(), busy.SessionID, wire.NewPrompt{PromptID: fmt.Sprint("burst-", i), Text: fmt.Sprintf("/burst 500 (%d)", i)}); err == nil {
				n++
			} else if code := codeOf(err); code != wire.CodeConflict && code != wire.CodeBusy {
				t.Errorf("the machine refuses its own prompt: %v", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		ended <- n
	}()
	prompts, tries := make(chan int), 0
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			tries += c.ask(asked, fmt.Sprint("p-", n), fmt.Sprintf("/burst 5 (%d)", n))
		}
		prompts <- n
	}()
	cuts, began := 0, time.Now()
	if soak.On() {
		for time.Since(began) < soakTime(t) {
			rest(t.Context(), 300*time.Millisecond)
			require.NoError(t, c.network.tell("rst"))
			cuts++
		}
	} else {
		for ; cuts < 12; cuts++ {
			seen := len(at[0].seen())
			at[0].until("more events", func(events []event.Event, _ *wire.State) bool { return len(events) > seen })
			require.NoError(t, c.network.tell("rst"))
		}
	}
	took := time.Since(began)
	stop()
	bursts, sent := <-ended, <-prompts
	for i, s := range []wire.SessionInfo{busy, asked} {
		turns, next := 0, 0
		at[i].until("the end of all turns", func(events []event.Event, _ *wire.State) bool {
			turns += len(payloads[event.TurnEnd](t, events[next:]))
			next = len(events)
			return turns == []int{bursts, sent}[i]
		})
		log := onDisk(t, c.machine, s.SessionID)
		at[i].until("the whole log", func(events []event.Event, _ *wire.State) bool { return len(events) >= len(log) })
		log = onDisk(t, c.machine, s.SessionID)
		requireSame(t, log, at[i].seen(), at[i].name)
		c.requireSameFiles(s)
		in := promptsIn(t, log)
		for id, seqs := range in {
			require.Len(t, seqs, 1, "%s ran more than once", id)
		}
		require.Len(t, in, []int{bursts, sent}[i])
		t.Logf("%s: %d events, %d prompts", s.SessionID, len(log), len(in))
	}
	t.Logf("%d cuts in %s; %d prompts from home in %d tries", cuts, took.Round(time.Second), sent, tries)
}

// promptsIn are the prompts of a log.
func promptsIn(t *testing.T, log []event.Event) prompts {
	in := prompts{}
	in.add(t, log)
	return in
}

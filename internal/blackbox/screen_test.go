package blackbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// patience is the time limit for something that should happen at once.
const patience = 5 * time.Minute

// screen is a client that follows one session from its first event for the whole
// test, across reconnects, and keeps all events.
type screen struct {
	t     *testing.T
	name  string
	watch *client.Watch
	// hopeless, if set, returns why no wait can come to its end any more, or "".
	hopeless func([]event.Event) string

	mu      sync.Mutex
	events  []event.Event
	state   *wire.State
	online  int // connections so far
	resets  int
	changed chan struct{} // closed at the next change
}

// screen starts one that pauses after each frame.
func (h *hub) screen(name string, s wire.SessionInfo, pause time.Duration) *screen {
	return h.screenBy(h.hub, name, s, pause)
}

// screenBy is screen with another client.
func (h *hub) screenBy(way *client.Hub, name string, s wire.SessionInfo, pause time.Duration) *screen {
	c := &screen{
		t: h.t, name: name, changed: make(chan struct{}),
		watch: client.NewWatch(way, s.SessionID, client.Cursor{Epoch: s.Epoch}),
	}
	c.watch.LongestPause = 200 * time.Millisecond // instead of five seconds
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- c.watch.Run(ctx, func(u client.Update) error {
			c.take(u)
			if pause > 0 {
				time.Sleep(pause)
			}
			return nil
		})
	}()
	h.t.Cleanup(func() {
		cancel()
		require.ErrorIs(h.t, <-ended, context.Canceled, name)
		require.Zero(h.t, c.watch.History().Dropped(), "%s was sent events twice", name)
		require.Zero(h.t, c.watch.History().Gaps(), "%s was sent a gap", name)
		require.Zero(h.t, c.resets, "%s was reset", name)
	})
	return c
}

func (c *screen) take(u client.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.Connected != nil {
		c.online++
	}
	if u.Reset {
		c.resets++
	}
	c.events = append(c.events, u.Events...)
	if u.State != nil {
		c.state = u.State
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// seen returns all events so far.
func (c *screen) seen() []event.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// connections returns the number of connections so far.
func (c *screen) connections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.online
}

// until waits until cond is true. It calls cond at every change.
func (c *screen) until(what string, cond func(events []event.Event, state *wire.State) bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		events, state, changed := c.events, c.state, c.changed
		c.mu.Unlock()
		if cond(events, state) {
			return
		}
		why := ""
		if c.hopeless != nil {
			why = c.hopeless(events)
		}
		if why == "" {
			select {
			case <-changed:
			case <-deadline:
				why = "too late"
			}
		}
		if why != "" {
			last := ""
			for _, e := range events[max(0, len(events)-8):] {
				last += "\n" + string(e.Type) + " " + tail(string(e.Data), 300)
			}
			c.t.Fatalf("%s does not see %s (%s); %d events, state %+v, the last:%s", c.name, what, why, len(events), state, last)
		}
	}
}

// untilTurnEnds waits for the end of the prompt's turn and returns it.
func (c *screen) untilTurnEnds(promptID string) event.TurnEnd {
	c.t.Helper()
	var end event.TurnEnd
	next := 0
	c.until("the end of "+promptID, func(events []event.Event, _ *wire.State) bool {
		for ; next < len(events); next++ {
			if events[next].Type != event.TypeTurnEnd {
				continue
			}
			p, err := events[next].Payload()
			require.NoError(c.t, err)
			if end = p.(event.TurnEnd); end.PromptID == promptID {
				return true
			}
		}
		return false
	})
	return end
}

// untilAsked waits for the n-th permission request, counted from 1.
func (c *screen) untilAsked(n int) event.PermissionRequest {
	c.t.Helper()
	var asked []event.PermissionRequest
	next := 0
	c.until("a permission request", func(events []event.Event, _ *wire.State) bool {
		asked = append(asked, payloads[event.PermissionRequest](c.t, events[next:])...)
		next = len(events)
		return len(asked) >= n
	})
	return asked[n-1]
}

// socket returns the current connection.
func (c *screen) socket() *client.Socket {
	c.t.Helper()
	var s *client.Socket
	require.Eventually(c.t, func() bool { s = c.watch.Socket(); return s != nil }, patience, 5*time.Millisecond)
	return s
}

// prompt sends a prompt and waits for its outcome.
func (c *screen) prompt(session, promptID, text string) client.PromptOutcome {
	c.t.Helper()
	outcome, err := c.socket().Prompt(c.t.Context(), wire.Prompt{SessionID: session, PromptID: promptID, Text: text})
	require.NoError(c.t, err)
	return outcome
}

// promptAgain is prompt for a connection that may be lost: it resends over the next
// one.
func (c *screen) promptAgain(session, promptID, text string) client.PromptOutcome {
	c.t.Helper()
	var outcome client.PromptOutcome
	require.Eventually(c.t, func() bool {
		var err error
		outcome, err = c.socket().Prompt(c.t.Context(), wire.Prompt{SessionID: session, PromptID: promptID, Text: text})
		var refused *client.Error
		require.False(c.t, errors.As(err, &refused), "prompt %s: %v", promptID, err)
		return err == nil
	}, patience, 5*time.Millisecond, "prompt %s", promptID)
	return outcome
}

// answer settles a request with the first option of the kind.
func (c *screen) answer(session string, asked event.PermissionRequest, kind event.PermissionKind) {
	c.t.Helper()
	for _, o := range asked.Options {
		if o.Kind == kind {
			resolved, err := c.socket().Answer(c.t.Context(), wire.PermissionAnswer{SessionID: session, PermissionID: asked.PermissionID, OptionID: o.OptionID})
			require.NoError(c.t, err)
			require.Equal(c.t, event.OutcomeSelected, resolved.Outcome)
			return
		}
	}
	c.t.Fatalf("no option %s in %+v", kind, asked.Options)
}

// allow answers every request with its first option until ctx ends.
func (c *screen) allow(ctx context.Context, session string) {
	for next := 0; ctx.Err() == nil; rest(ctx, 10*time.Millisecond) {
		for _, e := range c.seen()[next:] {
			next++
			var asked event.PermissionRequest
			socket := c.watch.Socket()
			if e.Type != event.TypePermissionRequest || socket == nil || json.Unmarshal(e.Data, &asked) != nil || len(asked.Options) == 0 {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, 5*time.Second)
			// It fails if the request was withdrawn, or settled by a crash.
			_, _ = socket.Answer(limited, wire.PermissionAnswer{SessionID: session, PermissionID: asked.PermissionID, OptionID: asked.Options[0].OptionID})
			cancel()
		}
	}
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// cancel asks for the end of the turn.
func (c *screen) cancel(session string) {
	c.t.Helper()
	require.NoError(c.t, c.socket().Send(c.t.Context(), &wire.Cancel{SessionID: session}))
}

// requireTrueScreens stops the hub and reads its log, then starts it again. Every
// screen reconnects with its cursor and must hold exactly the events on disk.
func requireTrueScreens(t *testing.T, h *hub, id string, screens ...*screen) {
	t.Helper()
	h.stop()
	log := onDisk(t, h, id)
	require.NotEmpty(t, log)
	h.start()
	for _, c := range screens {
		c.until("the whole log", func(events []event.Event, _ *wire.State) bool { return len(events) >= len(log) })
	}
	log = onDisk(t, h, id)
	for _, c := range screens {
		requireSame(t, log, c.seen(), c.name)
	}
}

package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// script plays the hub on one connection. number counts the connections from 1.
// after is the client's cursor, or -1 without one.
type script func(c *connection, number int, after event.Seq)

type connection struct {
	t   *testing.T
	ctx context.Context
	ws  *websocket.Conn
}

func (c *connection) say(m wire.Message) {
	frame, err := wire.Encode(m)
	require.NoError(c.t, err)
	_ = c.ws.Write(c.ctx, websocket.MessageText, frame) // the client may have disconnected
}

func (c *connection) hear() wire.Message {
	_, frame, err := c.ws.Read(c.ctx)
	if err != nil {
		return nil
	}
	m, err := wire.DecodeClient(frame)
	require.NoError(c.t, err)
	return m
}

// hub serves a script on the session "s" for the token "t".
func hub(t *testing.T, play script) *client.Hub {
	connections := make(chan int, 1)
	connections <- 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			http.Error(w, `{"error":{"code":"unauthorized","message":"who are you"}}`, http.StatusUnauthorized)
			return
		}
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Subprotocol}})
		if err != nil {
			return
		}
		defer ws.CloseNow()
		number := <-connections + 1
		connections <- number
		after := event.Seq(-1)
		if n, err := strconv.ParseInt(r.URL.Query().Get("after_seq"), 10, 64); err == nil {
			after = event.Seq(n)
		}
		c := &connection{t: t, ctx: r.Context(), ws: ws}
		c.say(&wire.Connected{Protocol: wire.Version, HeartbeatMS: 10_000})
		play(c, number, after)
	}))
	t.Cleanup(server.Close)
	return dial(t, server.URL, "t")
}

func dial(t *testing.T, base, token string) *client.Hub {
	h, err := client.New(base, token)
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

func loaded(first, last event.Seq) *wire.EventsLoaded {
	return &wire.EventsLoaded{SessionID: "s", Verdict: wire.VerdictOK, Epoch: epoch, FirstSeq: first, LastSeq: last, MaxSeq: last, Events: events(first, last)}
}

var errEnough = errors.New("enough")

// follow watches until it has the event at last. It returns the applied events.
func follow(t *testing.T, h *client.Hub, from client.Cursor, last event.Seq) ([]event.Event, *client.Watch) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := client.NewWatch(h, "s", from)
	var applied []event.Event
	err := w.Run(ctx, func(u client.Update) error {
		applied = append(applied, u.Events...)
		if len(applied) > 0 && applied[len(applied)-1].Seq == last {
			return errEnough
		}
		return nil
	})
	require.ErrorIs(t, err, errEnough)
	return applied, w
}

func TestAWatchGoesOnByCursorWhereTheLastConnectionEnded(t *testing.T) {
	h := hub(t, func(c *connection, number int, after event.Seq) {
		if number == 1 {
			require.Equal(t, event.Seq(-1), after)
			c.say(loaded(1, 3))
			c.say(live(4, 5))
			return // the connection is lost
		}
		require.Equal(t, event.Seq(5), after)
		c.say(&wire.EventsLoaded{SessionID: "s", Verdict: wire.VerdictOK, Epoch: epoch, FirstSeq: 6, LastSeq: 5, MaxSeq: 9})
		c.say(live(6, 9))
		c.hear()
	})
	applied, w := follow(t, h, client.Cursor{}, 9)
	require.Equal(t, seqs(events(1, 9)), seqs(applied))
	require.Zero(t, w.History().Dropped())
	require.Zero(t, w.History().Gaps())
}

func TestAWatchAsksForWhatIsMissing(t *testing.T) {
	h := hub(t, func(c *connection, _ int, _ event.Seq) {
		c.say(loaded(1, 3))
		c.say(live(7, 8))
		ask, ok := c.hear().(*wire.LoadEvents)
		require.True(t, ok)
		require.Equal(t, event.Seq(3), *ask.AfterSeq)
		page := loaded(4, 6)
		page.RequestID = ask.RequestID
		c.say(page)
		c.hear()
	})
	applied, _ := follow(t, h, client.Cursor{}, 8)
	require.Equal(t, seqs(events(1, 8)), seqs(applied))
}

func TestStateIsHeldUntilTheCursorReachesIt(t *testing.T) {
	h := hub(t, func(c *connection, _ int, _ event.Seq) {
		c.say(loaded(1, 3))
		c.say(&wire.State{SessionID: "s", AtSeq: 5})
		c.say(live(4, 4))
		c.say(live(5, 5))
		c.hear()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := client.NewWatch(h, "s", client.Cursor{})
	err := w.Run(ctx, func(u client.Update) error {
		if u.State == nil {
			return nil
		}
		require.Equal(t, event.Seq(5), w.History().Cursor().Seq)
		return errEnough
	})
	require.ErrorIs(t, err, errEnough)
}

func TestAWatchEndsWhereAskingAgainIsOfNoUse(t *testing.T) {
	for name, code := range map[string]websocket.StatusCode{"revoked": wire.CloseRevoked, "scope lost": wire.CloseScopeLost, "gone": wire.CloseSessionGone} {
		t.Run(name, func(t *testing.T) {
			h := hub(t, func(c *connection, _ int, _ event.Seq) { c.ws.Close(code, name) })
			err := client.NewWatch(h, "s", client.Cursor{}).Run(t.Context(), func(client.Update) error { return nil })
			closed := (*client.ClosedError)(nil)
			require.ErrorAs(t, err, &closed)
			require.Equal(t, int(code), closed.Code)
		})
	}
	t.Run("session_gone", func(t *testing.T) {
		h := hub(t, func(c *connection, _ int, _ event.Seq) { c.say(&wire.SessionGone{SessionID: "s"}); c.hear() })
		err := client.NewWatch(h, "s", client.Cursor{}).Run(t.Context(), func(client.Update) error { return nil })
		require.ErrorIs(t, err, client.ErrSessionGone)
	})
	t.Run("wrong token", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"code":"unauthorized","message":"who are you"}}`, http.StatusUnauthorized)
		}))
		defer server.Close()
		h := dial(t, server.URL, "wrong")
		err := client.NewWatch(h, "s", client.Cursor{}).Run(t.Context(), func(client.Update) error { return nil })
		refused := (*client.RefusedError)(nil)
		require.ErrorAs(t, err, &refused)
		require.Equal(t, http.StatusUnauthorized, refused.Status)
		_, err = h.Health(t.Context())
		require.ErrorAs(t, err, &refused)
		require.Equal(t, wire.CodeUnauthorized, refused.Code)
	})
}

func TestAPromptFindsItsAnswerAmongTheEvents(t *testing.T) {
	h := hub(t, func(c *connection, _ int, _ event.Seq) {
		p, ok := c.hear().(*wire.Prompt)
		require.True(t, ok)
		c.say(live(1, 2))
		c.say(&wire.PromptReceived{RequestID: p.RequestID, SessionID: "s", PromptID: p.PromptID, Seq: 2})
		p, ok = c.hear().(*wire.Prompt)
		require.True(t, ok)
		c.say(&wire.Error{RequestID: p.RequestID, Code: wire.CodeConflict, Message: "another text", RetryAfterMS: 20})
		c.hear()
	})
	s, err := h.Dial(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, func(wire.Message) error { return nil }) }()
	outcome, err := s.Prompt(t.Context(), wire.Prompt{SessionID: "s", PromptID: "p1", Text: "hi"})
	require.NoError(t, err)
	require.Equal(t, client.PromptOutcome{Fate: wire.FateReceived, Seq: 2}, outcome)
	_, err = s.Prompt(t.Context(), wire.Prompt{SessionID: "s", PromptID: "p1", Text: "ho"})
	refused := (*client.Error)(nil)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.CodeConflict, refused.Code)
	require.Equal(t, 20*time.Millisecond, refused.RetryAfter)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	_, err = s.Prompt(t.Context(), wire.Prompt{SessionID: "s", PromptID: "p2", Text: "hi"})
	require.Error(t, err, "an unanswered request must fail")
}

func TestJoinedEventsAreAskedOfTheHub(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RawQuery
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	hub, err := client.New(server.URL, "secret")
	require.NoError(t, err)
	defer hub.Close()
	_, err = hub.JoinedAfter(t.Context(), "s", 7, 50)
	require.NoError(t, err)
	require.Equal(t, "after_seq=7&limit=50&merge=true", <-asked)
}

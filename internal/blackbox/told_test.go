package blackbox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// teller is a webhook receiver on loopback. While it holds, a request gets no
// response until its hub is gone. It ignores withdrawals.
type teller struct {
	*httptest.Server
	came chan notify.Payload // each request, accepted or not

	mu    sync.Mutex
	holds bool
	taken []notify.Payload
}

func newTeller(t *testing.T) *teller {
	s := &teller{came: make(chan notify.Payload, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p notify.Payload
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if p.Kind == notify.Withdrawn {
			return
		}
		s.mu.Lock()
		holds := s.holds
		s.mu.Unlock()
		s.came <- p
		if holds {
			<-r.Context().Done()
			return
		}
		s.mu.Lock()
		s.taken = append(s.taken, p)
		s.mu.Unlock()
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *teller) hold(holds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = holds
}

// next waits for a notification and requires its kind.
func (s *teller) next(t *testing.T, kind notify.Kind, session string) {
	t.Helper()
	select {
	case p := <-s.came:
		require.Equal(t, kind, p.Kind, p.Body)
		require.Equal(t, session, p.SessionID)
	case <-time.After(patience):
		t.Fatalf("no notification came; want %s", kind)
	}
}

// told returns the kinds of the accepted notifications about a session.
func (s *teller) told(session string) []notify.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []notify.Kind
	for _, p := range s.taken {
		if p.SessionID == session {
			kinds = append(kinds, p.Kind)
		}
	}
	return kinds
}

// ask starts a turn that asks for a permission.
func (h *hub) ask(session, id string) {
	h.t.Helper()
	_, err := h.hub.Ask(h.t.Context(), session, wire.NewPrompt{PromptID: id, Text: "/ask"})
	require.NoError(h.t, err)
}

// hub starts a hub with the receiver as its only channel.
func (s *teller) hub(t *testing.T) *hub {
	t.Helper()
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	return newHub(t, settings{more: "outgoing: {allow: [" + at.Hostname() + "]}\n" +
		"channels: {desk: {type: webhook, url: " + s.URL + ", secret: of-the-desk-and-the-hub}}\n"})
}

func TestATurnThatAnOrderlyStopCutsOffIsToldOnceAfterTheStart(t *testing.T) {
	t.Parallel()
	service := newTeller(t)
	h := service.hub(t)
	s := h.create("demo")
	h.ask(s.SessionID, "p1")
	service.next(t, notify.Permission, s.SessionID)
	h.stop()
	h.start()
	service.next(t, notify.Interrupted, s.SessionID)

	// Notifications are sent in order. Once this one has come, no earlier one is
	// pending.
	last := h.create("demo")
	h.ask(last.SessionID, "p2")
	service.next(t, notify.Permission, last.SessionID)
	require.Equal(t, []notify.Kind{notify.Permission, notify.Interrupted}, service.told(s.SessionID))
}

func TestAMessageOfAKilledHubIsSentOnceIfItStillHolds(t *testing.T) {
	t.Parallel()
	service := newTeller(t)
	h := service.hub(t)
	s := h.create("demo")

	// The notification of a question is not sent yet when the hub dies. The hub
	// sends one about the interrupted turn instead.
	service.hold(true)
	h.ask(s.SessionID, "p1")
	service.next(t, notify.Permission, s.SessionID)
	h.kill()
	h.start()
	service.next(t, notify.Interrupted, s.SessionID)

	// That notification is not sent before the next kill either. It still applies
	// after the next start, and is sent then.
	h.kill()
	service.hold(false)
	h.start()
	service.next(t, notify.Interrupted, s.SessionID)

	// The question of another session is settled before its notification could be
	// sent. It is not sent after the start.
	service.hold(true)
	other := h.create("demo")
	h.ask(other.SessionID, "p2")
	service.next(t, notify.Permission, other.SessionID)
	state, err := h.hub.State(t.Context(), other.SessionID)
	require.NoError(t, err)
	require.Len(t, state.PendingPermissions, 1)
	_, err = h.hub.Settle(t.Context(), other.SessionID, state.PendingPermissions[0], wire.PermissionChoice{OptionID: "no"})
	require.NoError(t, err)
	page, err := h.hub.EventsAfter(t.Context(), other.SessionID, 0, 100)
	for err == nil && page.Events[len(page.Events)-1].Type != event.TypeTurnEnd { // bounded by the test's context
		page, err = h.hub.EventsAfter(t.Context(), other.SessionID, 0, 100)
	}
	require.NoError(t, err)
	h.kill()
	service.hold(false)
	h.start()

	// Notifications are sent in order. Once this one has come, no earlier one is
	// pending.
	last := h.create("demo")
	h.ask(last.SessionID, "p3")
	service.next(t, notify.Permission, last.SessionID)
	require.Equal(t, []notify.Kind{notify.Interrupted}, service.told(s.SessionID))
	require.Empty(t, service.told(other.SessionID))
}

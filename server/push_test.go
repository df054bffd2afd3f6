package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// quick shortens the waits.
func quick() notify.Timing {
	return notify.Timing{LongTurn: time.Nanosecond, Ack: 50 * time.Millisecond, Retry: time.Millisecond}
}

func (h *hub) ask(s *session.BackgroundSession, id string) {
	h.t.Helper()
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: id, Text: "ask"})
	require.NoError(h.t, err)
	require.Eventually(h.t, func() bool { return len(s.State().PendingPermissions) == 1 }, patience, time.Millisecond)
}

func TestAPhoneThatSleepsIsToldOnceWhenALongTurnEnds(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick()})
	phone := h.browser("phone")
	s := h.session()
	h.prompt(s, "p1", "say 3")
	p := phone.next()
	require.Equal(t, notify.TurnOver, p.Kind)
	require.Equal(t, s.ID(), p.SessionID)
	require.Equal(t, s.Log().Metadata().MaxSeq, p.Seq)
	require.NotEmpty(t, p.Title)
	require.Nil(t, p.Answer)
	require.Eventually(t, func() bool { return h.counts().Delivered == 1 }, patience, time.Millisecond)
	require.Empty(t, phone.got)
	info, err := os.Stat(filepath.Join(h.dir, "push.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestAShortTurnIsNotTold(t *testing.T) {
	h := startHub(t, hubOptions{})
	phone := h.browser("phone")
	s := h.session()
	h.prompt(s, "p1", "say 3")
	h.ask(s, "p2")
	require.Equal(t, notify.Permission, phone.next().Kind)
}

func TestOfThreeDevicesTheOneThatShowsTheSessionIsNotPushed(t *testing.T) {
	h := startHub(t, hubOptions{notify: notify.Timing{LongTurn: time.Hour, Ack: time.Minute, Retry: time.Millisecond}})
	desk, phone, tablet := h.browser("desk"), h.browser("phone"), h.browser("tablet")
	s := h.session()
	h.prompt(s, "p1", "say 3")
	shown := h.watch(s, desk.as)
	h.ask(s, "p2")
	shown.send(&wire.Ack{SessionID: s.ID(), Seq: s.Log().Metadata().MaxSeq, Visible: true})
	onPhone, onTablet := phone.next(), tablet.next()
	require.Equal(t, notify.Permission, onPhone.Kind)
	require.Contains(t, onPhone.Body, "make", "the text lacks the command")
	require.Equal(t, []notify.Option{{OptionID: "yes", Label: "Allow once"}, {OptionID: "no", Label: "Reject"}}, onPhone.Answer.Options)
	require.Equal(t, 1, onPhone.Badge)
	require.NotEqual(t, onPhone.Answer.Token, onTablet.Answer.Token)

	require.Equal(t, 400, h.answer(onPhone.Answer.Token, "always").status, "an option that the notification did not offer")
	require.Equal(t, 404, h.answer("guess", "yes").status)
	res := h.answer(onPhone.Answer.Token, "yes")
	require.Equal(t, 200, res.status, res.body)
	outcome := h.await(s, 0, event.TypePermissionOutcome)
	require.Contains(t, string(outcome.Data), `"by":"phone"`)
	back := tablet.next()
	require.Equal(t, notify.Withdrawn, back.Kind)
	require.Equal(t, onTablet.Tag, back.Tag)
	require.Contains(t, back.Body, "phone")
	require.Equal(t, 404, h.answer(onPhone.Answer.Token, "yes").status, "used")
	require.Equal(t, 404, h.answer(onTablet.Answer.Token, "no").status, "late")

	h.ask(s, "p3")
	another := phone.next()
	require.Equal(t, 404, h.answer(onPhone.Answer.Token, "yes").status, "a token of another request")
	require.Equal(t, 200, h.answer(another.Answer.Token, "no").status)
	require.Eventually(t, func() bool { return h.counts().Withdrawn >= 1 }, patience, time.Millisecond)
	require.Empty(t, desk.got, "a push to a device that showed the request")
}

func TestOfTwoQuestionsTheOneThatStillWaitsIsToldAgain(t *testing.T) {
	h := startHub(t, hubOptions{notify: notify.Timing{LongTurn: time.Hour, Ack: time.Minute, Retry: time.Millisecond}})
	phone, tablet := h.browser("phone"), h.browser("tablet")
	s := h.session()
	_, err := s.Prompt(context.Background(), session.PromptRequest{PromptID: "p1", Text: "ask 2"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.State().PendingPermissions) == 2 }, patience, time.Millisecond)
	newest := h.await(s, 0, event.TypePermissionRequest).Seq + 1
	latest := func(b *browser) notify.Payload { // the first may have been replaced before it was sent
		p := b.next()
		if p.Seq < newest {
			p = b.next()
		}
		require.Equal(t, newest, p.Seq, "the push is not about the newest request")
		return p
	}
	second, other := latest(phone), latest(tablet)
	require.Equal(t, 200, h.answer(second.Answer.Token, "yes").status)
	again, same := phone.next(), tablet.next()
	for _, p := range []notify.Payload{again, same} {
		require.Equal(t, notify.Permission, p.Kind)
		require.Equal(t, newest-1, p.Seq, "the other request must still be pending")
		require.Equal(t, second.Tag, p.Tag)
	}
	require.Equal(t, 404, h.answer(other.Answer.Token, "no").status, "a token of an answered request")
	require.Equal(t, 200, h.answer(again.Answer.Token, "no").status)
	require.Equal(t, notify.Withdrawn, tablet.next().Kind)
	require.Empty(t, phone.got, "a push to the device that answered")
}

func TestADeviceThatAnswersBeforeItsServiceGetsNoWithdrawal(t *testing.T) {
	h := startHub(t, hubOptions{notify: notify.Timing{LongTurn: time.Hour, Ack: time.Minute, Retry: time.Millisecond}})
	phone, tablet := h.browser("phone"), h.browser("tablet")
	phone.hold = make(chan struct{})
	s, other := h.session(), h.session()
	h.ask(s, "p1")
	asked := phone.next()
	require.Equal(t, notify.Permission, tablet.next().Kind)
	require.Equal(t, 200, h.answer(asked.Answer.Token, "yes").status)
	require.Equal(t, notify.Withdrawn, tablet.next().Kind, "the tablet waits for the phone's push service")
	close(phone.hold)
	h.ask(other, "p2")
	next := phone.next()
	require.Equal(t, other.ID(), next.SessionID, "a push to the device that answered: %s", next.Kind)
}

func TestAnAnswerOfADeviceThatWasRevokedIsRefused(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick()})
	phone := h.browser("phone")
	s := h.session()
	h.ask(s, "p1")
	asked := phone.next()
	for _, g := range h.registry.Grants() {
		if g.Name == "phone" {
			require.NoError(t, h.registry.Revoke(g.ID))
		}
	}
	require.Equal(t, 404, h.answer(asked.Answer.Token, "yes").status)
	require.Len(t, s.State().PendingPermissions, 1, "the request must still be pending")
}

func TestAVisibleScreenThatDoesNotAcknowledgeIsPushedToo(t *testing.T) {
	h := startHub(t, hubOptions{notify: notify.Timing{Ack: 50 * time.Millisecond}})
	phone := h.browser("phone")
	s := h.session()
	h.watch(s, phone.as) // it froze and sends nothing any more
	h.ask(s, "p1")
	require.Equal(t, notify.Permission, phone.next().Kind)
}

func TestAQuestionThatIsAnsweredBeforeItIsSentIsNotSent(t *testing.T) {
	h := startHub(t, hubOptions{notify: notify.Timing{Ack: time.Hour}})
	phone := h.browser("phone")
	s := h.session()
	h.watch(s, phone.as)
	h.ask(s, "p1")
	_, err := s.AnswerPermission(context.Background(), session.Answer{PermissionID: "perm-1", OptionID: "yes", Actor: event.Actor{Name: "desk"}})
	require.NoError(t, err)
	require.Equal(t, 204, h.do("POST", "/api/push/subscriptions/"+phone.id+"/test", nil, phone.as).status)
	require.Equal(t, notify.Test, phone.next().Kind)
	require.EqualValues(t, 1, h.counts().Sent)
}

func TestAPushAnswerIsRetriedRecordedOrEndsTheSubscription(t *testing.T) {
	status := func(code int) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		reply            func(int, http.ResponseWriter, *http.Request)
		attempts         int
		outcome, because string
		gone             bool
	}{
		"not found": {reply: status(404), attempts: 1, outcome: "gone", gone: true},
		"gone":      {reply: status(410), attempts: 1, outcome: "gone", gone: true},
		"too many":  {reply: status(429), attempts: 5, outcome: "failed", because: "429"},
		"broken":    {reply: status(500), attempts: 5, outcome: "failed", because: "500"},
		"elsewhere": {reply: func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusTemporaryRedirect)
		}, attempts: 1, outcome: "failed", because: "307"},
		"broken once": {reply: func(n int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(map[bool]int{true: 500, false: 201}[n == 1])
		}, attempts: 2, outcome: "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, hubOptions{notify: quick()})
			phone := h.browser("phone")
			phone.answers(c.reply)
			s := h.session()
			h.prompt(s, "p1", "say 3") // the turn is not affected
			require.Eventually(t, func() bool { return h.counts().Delivered+h.counts().Failed == 1 }, patience, 5*time.Millisecond)
			require.Equal(t, c.attempts, phone.attempts())
			var state struct{ Subscriptions []wire.Subscription }
			require.NoError(t, json.Unmarshal([]byte(h.do("GET", "/api/push", nil, phone.as).body), &state))
			if c.gone {
				require.Empty(t, state.Subscriptions)
				return
			}
			require.Len(t, state.Subscriptions[0].Outcomes, 1)
			require.Equal(t, c.outcome, state.Subscriptions[0].Outcomes[0].Outcome)
			require.Contains(t, state.Subscriptions[0].Outcomes[0].Detail, c.because)
		})
	}
}

func TestAServiceThatAsksForTimeGetsIt(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick()}) // slow enough that there is no second attempt
	phone := h.browser("phone")
	var refused time.Time
	phone.answers(func(attempt int, w http.ResponseWriter, _ *http.Request) {
		if attempt == 1 {
			refused = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		phone.got <- notify.Payload{}
		w.WriteHeader(http.StatusCreated)
	})
	h.prompt(h.session(), "p1", "say 3")
	phone.next()
	require.GreaterOrEqual(t, time.Since(refused), time.Second)
}

// leadTo has all names lead to an address.
func leadTo(addr string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr(addr)}, nil
	}
}

func TestAPushServiceOnAPrivateAddressIsNeverAsked(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick(), resolve: leadTo("10.0.0.1")})
	b := newBrowser(t)
	b.as = h.device("phone")
	res := h.do("POST", "/api/push/subscriptions", subscriptionOf("https://push.example/push", b.key, b.auth), b.as)
	require.Equal(t, 201, res.status)
	h.prompt(h.session(), "p1", "say 3")
	require.Eventually(t, func() bool { return h.counts().Failed == 1 }, patience, 5*time.Millisecond)
	require.EqualValues(t, 1, h.counts().Sent)
}

func TestAServiceThatHangsKeepsNoOtherWaiting(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick()})
	slow, phone := h.browser("slow"), h.browser("phone")
	hang := make(chan struct{})
	defer close(hang)
	slow.answers(func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	for range 3 {
		h.prompt(h.session(), "p1", "say 3")
		require.Equal(t, notify.TurnOver, phone.next().Kind)
	}
	require.Equal(t, 1, slow.attempts(), "one at a time")
}

// The push services hang or fail in the middle of the turn, and the turn is not
// affected.
func TestATurnNoticesNothingOfServicesThatHangOrFail(t *testing.T) {
	h := startHub(t, hubOptions{notify: notify.Timing{LongTurn: time.Hour, Ack: time.Millisecond, Retry: time.Millisecond}})
	hanging, broken := h.browser("hanging"), h.browser("broken")
	hang := make(chan struct{})
	defer close(hang)
	hanging.answers(func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	broken.answers(func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	s := h.session()
	h.ask(s, "p1")
	require.Eventually(t, func() bool { return hanging.attempts() == 1 && broken.attempts() > 0 }, patience, time.Millisecond)
	require.Equal(t, 200, h.api("POST", "/api/sessions/"+s.ID()+"/permissions/"+s.State().PendingPermissions[0], map[string]string{"option_id": "yes"}).status)
	end := h.await(s, 0, event.TypeTurnEnd) // when clients see it
	h.prompt(s, "p2", "say 100")
	require.Greater(t, s.Log().Marks().Visible, end.Seq+100)
	require.Equal(t, 1, hanging.attempts(), "it still hangs")
}

func TestADeviceThatIsRevokedIsNotPushed(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick()})
	phone, tablet := h.browser("phone"), h.browser("tablet")
	for _, g := range h.registry.Grants() {
		if g.Name == "phone" {
			require.NoError(t, h.registry.Revoke(g.ID))
		}
	}
	h.prompt(h.session(), "p1", "say 3")
	require.Equal(t, notify.TurnOver, tablet.next().Kind)
	require.Zero(t, phone.attempts())
}

func TestADeviceTouchesItsOwnSubscriptionsOnly(t *testing.T) {
	h := startHub(t, hubOptions{})
	phone, tablet := h.browser("phone"), h.browser("tablet")
	path := "/api/push/subscriptions/" + phone.id
	require.Equal(t, 404, h.do("DELETE", path, nil, tablet.as).status)
	require.Equal(t, 404, h.do("POST", path+"/test", nil, tablet.as).status)
	require.Equal(t, 204, h.do("DELETE", path, nil, phone.as).status)
	require.Equal(t, 404, h.do("DELETE", path, nil, phone.as).status)
}

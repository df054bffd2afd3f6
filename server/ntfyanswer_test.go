package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// button is an action of a message of ntfy.
type button struct {
	Action, Label, URL, Method, Body string
	Headers                          map[string]string
	Clear                            bool
}

// topic is a hub with a channel of type ntfy, and what its server got.
func topic(t *testing.T, answers, public bool) (h *hub, got chan posted, later func(time.Duration)) {
	t.Helper()
	url, got := listener(t)
	var clock atomic.Int64
	h = startHub(t, hubOptions{
		notify: quick(), public: public, now: func() time.Time { return time.Now().Add(time.Duration(clock.Load())) },
		channels: []notify.Channel{{Name: "phone", Type: notify.Ntfy, URL: url + "/abide", Answers: answers, Choice: notify.Choice{Events: []notify.Kind{notify.Permission}}}},
	})
	return h, got, func(d time.Duration) { clock.Add(int64(d)) }
}

// buttons are those of the next message.
func buttons(t *testing.T, got chan posted) (list []button) {
	t.Helper()
	var message struct{ Actions []button }
	require.NoError(t, json.Unmarshal([]byte((<-got).body), &message))
	return message.Actions
}

// press sends the request of a button as a phone does, without a cookie or a token.
func (h *hub) press(b button) response {
	h.t.Helper()
	path, own := strings.CutPrefix(b.URL, h.origin())
	require.True(h.t, own, b.URL)
	header := http.Header{}
	for name, value := range b.Headers {
		header.Set(name, value)
	}
	return h.do(b.Method, path, json.RawMessage(b.Body), header)
}

func TestAQuestionIsAnsweredOnceByAButtonOfItsMessageInNtfy(t *testing.T) {
	for _, job := range []bool{false, true} {
		h, got, _ := topic(t, true, true)
		var s *session.BackgroundSession
		if job {
			runJobs(t, h)
			var made wire.JobInfo
			h.api("POST", "/api/jobs", map[string]any{"task": "ask", "worktree": false, "policy": map[string]any{"outside": "park"}}).decode(t, &made)
			var err error
			s, err = h.manager.Session(t.Context(), made.JobID)
			require.NoError(t, err)
		} else {
			s = h.session()
			h.ask(s, "p1")
		}
		list := buttons(t, got)
		require.Len(t, list, 2, "at most three, which ntfy shows")
		allow, reject := list[0], list[1]
		require.Equal(t, []any{"http", "Allow once", http.MethodPost, true}, []any{allow.Action, allow.Label, allow.Method, allow.Clear})
		require.Equal(t, "Reject", reject.Label)

		elsewhere := allow
		elsewhere.Headers = map[string]string{"Origin": "https://ntfy.example"}
		require.Equal(t, 403, h.press(elsewhere).status, "of a page of another host")
		other := allow
		other.Body = strings.ReplaceAll(other.Body, `"yes"`, `"always"`)
		require.Equal(t, 400, h.press(other).status, "an option that the message did not offer")
		require.Equal(t, 200, h.press(allow).status)
		require.Contains(t, string(h.await(s, 0, event.TypePermissionOutcome).Data), `"by":"a notification of channel phone"`)
		require.Equal(t, 404, h.press(allow).status, "a second time")
		require.Equal(t, 404, h.press(reject).status, "the other button, after the first")

		next := h.session()
		h.ask(next, "p2")
		require.Equal(t, 404, h.press(reject).status, "the token of another question")
		require.Len(t, next.State().PendingPermissions, 1)
		now := buttons(t, got)[1]
		require.Equal(t, 200, h.press(now).status)
		require.Contains(t, string(h.await(next, 0, event.TypePermissionOutcome).Data), `"option_id":"no"`)
	}
}

func TestAButtonInNtfyEndsWithItsQuestionItsChannelOrAfterAnHour(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(h *hub, s *session.BackgroundSession, later func(time.Duration))
		waits bool
	}{
		"answered": {func(h *hub, s *session.BackgroundSession, _ func(time.Duration)) {
			_, err := s.AnswerPermission(h.t.Context(), session.Answer{PermissionID: "perm-1", OptionID: "no", Actor: event.Actor{Name: "ann"}})
			require.NoError(h.t, err)
		}, false},
		"an hour later": {func(_ *hub, _ *session.BackgroundSession, later func(time.Duration)) { later(time.Hour) }, true},
		"the channel answers no more": {func(h *hub, _ *session.BackgroundSession, _ func(time.Duration)) {
			h.notify.Configure(&outgoing.Guard{}, []notify.Channel{{Name: "phone", Type: notify.Ntfy}}, h.origin())
		}, true},
		"the channel is gone": {func(h *hub, _ *session.BackgroundSession, _ func(time.Duration)) {
			h.notify.Configure(&outgoing.Guard{}, nil, h.origin())
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h, got, later := topic(t, true, true)
			s := h.session()
			h.ask(s, "p1")
			list := buttons(t, got)
			later(time.Hour - time.Minute)
			c.end(h, s, later)
			require.Contains(t, []int{404, 409}, h.press(list[0]).status) // 409 before the hub has seen the answer
			require.Equal(t, c.waits, len(s.State().PendingPermissions) == 1)
		})
	}
}

func TestAMessageInNtfyHasNoButtonsUnlessTheOwnerSaysSo(t *testing.T) {
	for _, c := range []struct{ answers, public bool }{{false, true}, {true, false}} {
		h, got, _ := topic(t, c.answers, c.public)
		h.ask(h.session(), "p1")
		require.NotContains(t, (<-got).body, "actions", c)
	}
}

package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// posted is a request that a webhook or ntfy receiver got.
type posted struct {
	path      string
	signature string
	access    string
	body      string
}

func listener(t *testing.T) (url string, got chan posted) {
	t.Helper()
	got = make(chan posted, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- posted{r.URL.Path, r.Header.Get("X-Abide-Signature"), r.Header.Get("Authorization"), string(body)}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

const hookSecret = "a secret of the receiver"

func TestAWebhookIsSignedWithATimeAndHearsOfTheEnd(t *testing.T) {
	url, got := listener(t)
	timing := quick()
	timing.LongTurn = time.Hour // or the end of this turn would replace the withdrawal
	h := startHub(t, hubOptions{notify: timing, channels: []notify.Channel{{Name: "desk", Type: notify.Webhook, URL: url + "/hook", Secret: hookSecret}}})
	s := h.session()
	h.ask(s, "p1")
	first := <-got
	seconds, err := strconv.ParseInt(strings.TrimPrefix(strings.Split(first.signature, ",")[0], "t="), 10, 64)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(seconds, 0), patience)
	require.Equal(t, notify.Sign(hookSecret, time.Unix(seconds, 0), []byte(first.body)), first.signature)
	require.NotEqual(t, notify.Sign(hookSecret, time.Unix(seconds+1, 0), []byte(first.body)), first.signature)
	var p notify.Payload
	require.NoError(t, json.Unmarshal([]byte(first.body), &p))
	require.Equal(t, notify.Permission, p.Kind)
	require.Nil(t, p.Answer, "an answer token outside of an encrypted push")
	_, err = s.AnswerPermission(context.Background(), session.Answer{PermissionID: "perm-1", OptionID: "yes", Actor: event.Actor{Name: "desk"}})
	require.NoError(t, err)
	require.Contains(t, (<-got).body, `"kind":"withdrawn"`)
}

func TestATopicIsToldWithItsToken(t *testing.T) {
	url, got := listener(t)
	h := startHub(t, hubOptions{notify: quick(), channels: []notify.Channel{{Name: "phone", Type: notify.Ntfy, URL: url + "/abide", Secret: "tk_1"}}})
	h.ask(h.session(), "p1")
	message := <-got
	require.Equal(t, "/", message.path)
	require.Equal(t, "Bearer tk_1", message.access)
	require.Contains(t, message.body, `"topic":"abide"`)
	require.Contains(t, message.body, `make`)
}

func TestAChannelIsToldWhatWasChosenInTheApp(t *testing.T) {
	url, got := listener(t)
	h := startHub(t, hubOptions{notify: quick(), channels: []notify.Channel{{Name: "desk", Type: notify.Webhook, URL: url, Secret: hookSecret}}})
	muted, heard := h.session(), h.session()
	require.Equal(t, 400, h.api("PUT", "/api/channels/desk", map[string]any{"events": []string{"everything"}}).status)
	require.Equal(t, 404, h.api("PUT", "/api/channels/nobody", map[string]any{}).status)
	require.Equal(t, 204, h.api("PUT", "/api/channels/desk", map[string]any{"events": []string{"permission"}, "muted": []string{muted.ID()}}).status)
	h.prompt(heard, "p1", "say 3") // ends of turns are not selected
	h.ask(muted, "p2")
	h.ask(heard, "p3")
	var p notify.Payload
	require.NoError(t, json.Unmarshal([]byte((<-got).body), &p))
	require.Equal(t, notify.Permission, p.Kind)
	require.Equal(t, heard.ID(), p.SessionID)
	require.EqualValues(t, 1, h.counts().Sent)
}

func TestInQuietHoursOnlyATestIsSent(t *testing.T) {
	url, got := listener(t)
	now := time.Now().UTC()
	quiet := notify.Quiet{From: now.Add(-time.Hour).Format("15:04"), To: now.Add(2 * time.Hour).Format("15:04"), Zone: "UTC"}
	h := startHub(t, hubOptions{notify: quick(), channels: []notify.Channel{{
		Name: "desk", Type: notify.Webhook, URL: url, Secret: hookSecret, Choice: notify.Choice{Quiet: &quiet},
	}}})
	h.ask(h.session(), "p1")
	require.Equal(t, 204, h.api("POST", "/api/channels/desk/test", nil).status)
	require.Contains(t, (<-got).body, `"kind":"test"`)
	require.EqualValues(t, 1, h.counts().Sent)
}

// stuckPhone returns a hub whose only browser has a push service that hangs.
func stuckPhone(t *testing.T) (*hub, *browser) {
	t.Helper()
	h := startHub(t, hubOptions{notify: quick()})
	phone := h.browser("phone")
	phone.answers(func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	return h, phone
}

func TestAMessageCutOffByTheEndIsSentOnceAfterTheStart(t *testing.T) {
	h, phone := stuckPhone(t)
	s := h.session()
	h.prompt(s, "p1", "fail")
	require.Eventually(t, func() bool { return phone.attempts() == 1 }, patience, time.Millisecond)
	h.stop()
	phone.answers(nil)
	again := startHub(t, hubOptions{dir: h.dir, notify: quick()})
	require.Equal(t, notify.Interrupted, phone.next().Kind)
	require.Eventually(t, func() bool { return again.counts().Delivered == 1 }, patience, time.Millisecond)
	require.Equal(t, 2, phone.attempts())
}

func TestAQuestionThatDiedWithTheHubIsNotSent(t *testing.T) {
	h, phone := stuckPhone(t)
	s := h.session()
	h.ask(s, "p1")
	require.Eventually(t, func() bool { return phone.attempts() == 1 }, patience, time.Millisecond)
	h.stop()
	phone.answers(nil)
	startHub(t, hubOptions{dir: h.dir, notify: quick()})
	require.NotEqual(t, notify.Permission, phone.next().Kind, "the request was sent after it was settled")
}

package server_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
)

// S9: a file counts as its size plus 4 KiB, so these limits allow two files of 6
// KiB.
const (
	uploadBytes = 6 << 10
	twoUploads  = 2 * (uploadBytes + 4<<10)
)

func uploadText(tag string) io.Reader {
	return strings.NewReader(tag + strings.Repeat("x", uploadBytes-len(tag)))
}

func (h *hub) uploadAs(token string, s *session.BackgroundSession, content io.Reader) response {
	own := *h
	own.token = token
	return own.upload(s, "name=a.txt", "text/plain", content)
}

func TestASessionKeepsSoMuchOfAttachmentsWhoeverUploadsThem(t *testing.T) {
	dir := t.TempDir()
	o := hubOptions{dir: dir, sessions: settings.Limits{SessionAttachmentBytes: twoUploads}}
	h := startHub(t, o)
	s, other := h.session(), h.session()
	helper := h.mint(auth.TokenRequest{Name: "helper", Scope: auth.Collaborator, SessionID: s.ID()})
	require.Equal(t, 413, h.upload(s, "", "text/plain", strings.NewReader(strings.Repeat("y", twoUploads))).status)
	require.Equal(t, 201, h.upload(s, "", "text/plain", uploadText("a")).status, "a refused upload takes space")
	require.Equal(t, 201, h.upload(s, "", "text/plain", uploadText("a")).status, "equal bytes are stored twice")
	require.Equal(t, 201, h.uploadAs(helper, s, uploadText("b")).status)
	res := h.uploadAs(helper, s, uploadText("c"))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.status)
	require.Contains(t, res.body, "continue in a new session, or raise limits.session_attachments_mib")
	require.Equal(t, 201, h.upload(other, "", "text/plain", uploadText("c")).status)

	h.stop()
	h = startHub(t, o)
	s, err := h.manager.Session(t.Context(), s.ID())
	require.NoError(t, err)
	require.Equal(t, 413, h.upload(s, "", "text/plain", uploadText("c")).status, "the limit is lost after a restart")
}

func TestACredentialUploadsSoMuchADay(t *testing.T) {
	clock := &atomic.Int64{}
	clock.Store(time.Date(2026, 2, 21, 23, 0, 0, 0, time.UTC).UnixNano())
	h := startHub(t, hubOptions{
		now: func() time.Time { return time.Unix(0, clock.Load()) }, sessions: settings.Limits{DailyAttachmentBytes: twoUploads},
	})
	s, other := h.session(), h.session()
	helper := h.mint(auth.TokenRequest{Name: "helper", Scope: auth.Collaborator, SessionID: s.ID()})

	var wait sync.WaitGroup
	var kept atomic.Int32
	for _, tag := range []string{"a", "b", "c", "d", "e"} {
		wait.Go(func() {
			if h.uploadAs(helper, s, uploadText(tag)).status == 201 {
				kept.Add(1)
			}
		})
	}
	wait.Wait()
	require.LessOrEqual(t, kept.Load(), int32(2), "uploads at once do not get past the limit")
	for _, tag := range []string{"f", "g"} {
		h.uploadAs(helper, s, uploadText(tag))
	}
	res := h.uploadAs(helper, s, uploadText("h"))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.status)
	require.Contains(t, res.body, "try again after 00:00 UTC on 22 Feb, or raise limits.daily_attachments_mib")
	require.Equal(t, 201, h.upload(s, "", "text/plain", uploadText("h")).status, "the daily limit must be per credential")
	require.Equal(t, 201, h.upload(other, "", "text/plain", uploadText("i")).status)
	require.Equal(t, 413, h.upload(other, "", "text/plain", uploadText("j")).status, "the daily limit must apply to all sessions")
	clock.Add(int64(time.Hour))
	require.Equal(t, 201, h.uploadAs(helper, s, uploadText("h2")).status)
}

// attach uploads text and returns the attachment for a prompt.
func (h *hub) attach(s *session.BackgroundSession, text string) (a event.Attachment) {
	h.t.Helper()
	res := h.upload(s, "name=a.txt", "text/plain", strings.NewReader(text))
	require.Equal(h.t, 201, res.status, res.body)
	res.decode(h.t, &a)
	return a
}

func (h *hub) has(s *session.BackgroundSession, a event.Attachment) bool {
	return h.api("GET", "/api/sessions/"+s.ID()+"/blobs/"+a.SHA256, nil).status == 200
}

func (h *hub) promptWith(s *session.BackgroundSession, id, when string, a event.Attachment) response {
	return h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{
		"prompt_id": id, "text": "look", "when": when, "attachments": []event.Attachment{a},
	})
}

// S9.
func TestAnUploadThatNoPromptNamesWithinAnHourIsRemoved(t *testing.T) {
	clock := &atomic.Int64{}
	clock.Store(time.Now().UnixNano())
	o := hubOptions{dir: t.TempDir(), now: func() time.Time { return time.Unix(0, clock.Load()) }, sweep: 5 * time.Millisecond}
	h := startHub(t, o)
	s := h.session()
	asked, waits, idle := h.attach(s, "asked"), h.attach(s, "waits"), h.attach(s, "idle")
	require.Equal(t, 200, h.promptWith(s, "p1", "auto", asked).status)
	h.await(s, 0, event.TypeTurnEnd)
	require.Equal(t, 202, h.api("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]any{
		"prompt_id": "p2", "text": "later", "attachments": []event.Attachment{waits}, "scheduled_at": time.Now().Add(48 * time.Hour),
	}).status)
	clock.Add(int64(59 * time.Minute))
	young := h.attach(s, "young")
	require.True(t, h.has(s, idle))
	clock.Add(int64(2 * time.Minute))
	require.Eventually(t, func() bool { return !h.has(s, idle) }, patience, 5*time.Millisecond)
	for name, a := range map[string]event.Attachment{"of the log": asked, "of the queue": waits, "of the last hour": young} {
		require.True(t, h.has(s, a), "the file %s stays", name)
	}
	res := h.promptWith(s, "p3", "auto", idle)
	require.Equal(t, 400, res.status)
	require.Contains(t, res.body, "was not uploaded to this session")
	idle = h.attach(s, "idle")
	require.Less(t, h.promptWith(s, "p3", "auto", idle).status, 300, "it may be uploaded again")

	h.stop()
	clock.Add(int64(time.Hour))
	h = startHub(t, o)
	s, err := h.manager.Session(t.Context(), s.ID())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !h.has(s, young) }, patience, 5*time.Millisecond, "not removed after a restart")
	for name, a := range map[string]event.Attachment{"of the log": asked, "of the queue": waits, "that was uploaded again": idle} {
		require.True(t, h.has(s, a), "the file %s stays", name)
	}
}

func TestAFileThatAPromptInFlightNamesIsNeverRemoved(t *testing.T) {
	clock := &atomic.Int64{}
	clock.Store(time.Now().UnixNano())
	h := startHub(t, hubOptions{
		now: func() time.Time { return time.Unix(0, clock.Load()) }, sweep: time.Millisecond, queue: settings.Queue{MaxSize: 100},
	})
	s := h.session()
	var named []event.Attachment
	for i := range 30 {
		a := h.attach(s, fmt.Sprint("file ", i))
		var wait sync.WaitGroup
		wait.Go(func() {
			for range 200 * (i % 3) {
				runtime.Gosched() // so that either may come first
			}
			clock.Add(int64(2 * time.Hour))
		})
		res := h.promptWith(s, fmt.Sprint("p", i), "auto", a)
		wait.Wait()
		switch res.status {
		case 200, 202:
			named = append(named, a)
		default:
			require.Contains(t, res.body, "was not uploaded to this session")
		}
	}
	sure := h.attach(s, "sure")
	require.Less(t, h.promptWith(s, "sure", "auto", sure).status, 300)
	named = append(named, sure)
	late := h.attach(s, "late")
	clock.Add(int64(2 * time.Hour))
	require.Eventually(t, func() bool { return !h.has(s, late) }, patience, time.Millisecond)
	for _, a := range named {
		require.True(t, h.has(s, a))
	}
}

package server_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
)

// S9: a file counts 4 KiB beside its bytes, so these limits take two of 6 KiB.
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
	o := hubOptions{dir: dir, sessions: session.Limits{SessionAttachmentBytes: twoUploads}}
	h := startHub(t, o)
	s, other := h.session(), h.session()
	helper := h.mint(auth.TokenRequest{Name: "helper", Scope: auth.Collaborator, SessionID: s.ID()})
	require.Equal(t, 413, h.upload(s, "", "text/plain", strings.NewReader(strings.Repeat("y", twoUploads))).status)
	require.Equal(t, 201, h.upload(s, "", "text/plain", uploadText("a")).status, "nothing is kept of one that was refused")
	require.Equal(t, 201, h.upload(s, "", "text/plain", uploadText("a")).status, "the same bytes are kept once")
	require.Equal(t, 201, h.uploadAs(helper, s, uploadText("b")).status)
	res := h.uploadAs(helper, s, uploadText("c"))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.status)
	require.Contains(t, res.body, "go on in a new session, or set limits.session_attachments_mib higher")
	require.Equal(t, 201, h.upload(other, "", "text/plain", uploadText("c")).status)

	h.stop()
	h = startHub(t, o)
	s, err := h.manager.Session(t.Context(), s.ID())
	require.NoError(t, err)
	require.Equal(t, 413, h.upload(s, "", "text/plain", uploadText("c")).status, "a hub that was started again knows")
}

func TestACredentialUploadsSoMuchADay(t *testing.T) {
	clock := &atomic.Int64{}
	clock.Store(time.Date(2026, 2, 21, 23, 0, 0, 0, time.UTC).UnixNano())
	h := startHub(t, hubOptions{
		now: func() time.Time { return time.Unix(0, clock.Load()) }, sessions: session.Limits{DailyAttachmentBytes: twoUploads},
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
	require.Contains(t, res.body, "try again after 00:00 UTC on 22 Feb, or set limits.daily_attachments_mib higher")
	require.Equal(t, 201, h.upload(s, "", "text/plain", uploadText("h")).status, "another credential has a day of its own")
	require.Equal(t, 201, h.upload(other, "", "text/plain", uploadText("i")).status)
	require.Equal(t, 413, h.upload(other, "", "text/plain", uploadText("j")).status, "whatever session it uploads to")
	clock.Add(int64(time.Hour))
	require.Equal(t, 201, h.uploadAs(helper, s, uploadText("h2")).status)
}

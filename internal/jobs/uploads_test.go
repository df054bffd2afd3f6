package jobs_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// from makes a session with an upload, that may delegate jobs.
func (h *hub) from() (*session.BackgroundSession, event.Attachment) {
	h.Helper()
	b, err := h.manager.Create(h.Context(), session.CreateRequest{Agent: "player", Workspace: h.folder, Actor: ann})
	require.NoError(h, err)
	return b, h.upload(b.ID(), "plan.txt")
}

func (h *hub) upload(id, name string) event.Attachment {
	h.Helper()
	b, err := h.manager.Session(h.Context(), id)
	require.NoError(h, err)
	a, err := b.Attach(h.Context(), ann, name, "text/plain", strings.NewReader("in "+name))
	require.NoError(h, err)
	return a
}

// text is the content of an upload of a session; empty if there is none.
func (h *hub) text(id string, a event.Attachment) string {
	h.Helper()
	b, err := h.manager.Session(h.Context(), id)
	require.NoError(h, err)
	if !b.Attached(a.SHA256) {
		return ""
	}
	blob, err := b.OpenBlob(a.SHA256)
	require.NoError(h, err)
	defer blob.Close()
	text, err := io.ReadAll(blob)
	require.NoError(h, err)
	return string(text)
}

func (h *hub) order(in wire.NewJob, key string) string {
	h.Helper()
	in.Agent, in.Workspace, in.Worktree, in.Policy = "player", h.folder, &wire.JobPlace{Here: true}, anything()
	info, _, err := h.runner.Create(h.Context(), jobs.OrderOf(in, ann, key))
	require.NoError(h, err)
	return info.SessionID
}

// later starts the hub again when each upload that nothing names is swept away, and waits
// until that is done in some sessions.
func (h *hub) later(o options, swept ...string) *hub {
	h.Helper()
	chaff := map[string]event.Attachment{}
	for _, id := range swept {
		chaff[id] = h.upload(id, "chaff.txt")
	}
	o.device = h.device.Copy()
	h.stop()
	ahead := h.ahead + 3*time.Hour
	o.clock = func() time.Time { return time.Now().Add(ahead) }
	o.cast, o.folder = h.cast, h.folder
	// A look that meets a prompt on its way leaves the session to the next one.
	o.sweep = 10 * time.Millisecond
	h = start(h.T, o)
	h.ahead = ahead
	for _, id := range swept {
		require.Eventually(h, func() bool { return h.text(id, chaff[id]) == "" }, patience, time.Millisecond)
	}
	return h
}

func TestAQueuedJobHoldsItsUploads(t *testing.T) {
	h := start(t, options{idle: true})
	b, a := h.from()
	in := wire.NewJob{Task: "say read", SessionID: b.ID(), Files: []string{a.SHA256, a.SHA256}}
	id := h.order(in, "key")
	require.Equal(t, id, h.order(in, "key"), "a repeated request finds it")
	h = h.later(options{idle: true}, b.ID(), id)
	require.NoError(t, h.manager.Delete(t.Context(), b.ID()), "its copy is its own")
	h = h.later(options{}, id)
	require.Equal(t, event.JobCompleted, h.ended(id).Status)
	require.Equal(t, []event.Attachment{a}, h.cast.files)
	require.Equal(t, "in plan.txt", h.text(id, a))

	again, _, err := h.runner.Retry(t.Context(), id, "again", ann)
	require.NoError(t, err)
	require.Equal(t, event.JobCompleted, h.ended(again.SessionID).Status)
	require.Equal(t, []event.Attachment{a, a}, h.cast.files)
	require.Equal(t, "in plan.txt", h.text(again.SessionID, a))
}

// TestAJobWhoseHubWasKilledBeforeItHadItsUploadsGetsThem makes a job as a killed hub leaves it.
func TestAJobWhoseHubWasKilledBeforeItHadItsUploadsGetsThem(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		h := start(t, options{idle: true})
		b, a := h.from()
		_, err := h.manager.Uploads(t.Context(), b.ID(), []string{a.SHA256}, true)
		require.NoError(t, err)
		id := h.job(event.Job{Task: "say read", DelegatedBy: b.ID(), Attachments: []event.Attachment{a}})
		require.Empty(t, h.text(id, a))
		h = h.later(options{idle: true}, b.ID(), id)
		if deleted {
			require.NoError(t, h.manager.Delete(t.Context(), b.ID()))
		}
		h = h.later(options{}, id)
		line := h.ended(id)
		if deleted {
			require.Equal(t, event.JobFailed, line.Status)
			require.Contains(t, line.Reason, `attachment "plan.txt" was deleted`)
			require.Empty(t, h.cast.order)
			continue
		}
		require.Equal(t, event.JobCompleted, line.Status, line.Reason)
		require.Equal(t, []event.Attachment{a}, h.cast.files)
	}
}

func TestEachAttemptHasTheUploads(t *testing.T) {
	o := options{}
	o.inRepository(t)
	h := start(t, o)
	b, a := h.from()
	in := wire.NewJob{Task: "say read", SessionID: b.ID(), Attempts: 2, Agents: []string{"player", "other"}, Files: []string{"a.txt", a.SHA256}}
	for _, id := range h.attempts(in, "") {
		require.Equal(t, event.JobCompleted, h.ended(id).Status)
		require.Equal(t, "in plan.txt", h.text(id, a))
	}
	require.Equal(t, []event.Attachment{a, a}, h.cast.files)
	require.Equal(t, 2, h.cast.told["say read\n\nFiles:\n- a.txt"])
}

func TestAJobOfAnUploadThatIsNotThereIsRefused(t *testing.T) {
	h := start(t, options{idle: true})
	b, a := h.from()
	other, _ := h.from()
	elsewhere := h.upload(other.ID(), "other.txt")
	many := make([]string, 21)
	for i := range many {
		many[i] = strings.Repeat("0", 62) + string("0123456789abcdef"[i/16]) + string("0123456789abcdef"[i%16])
	}
	for words, in := range map[string]wire.NewJob{
		"upload it there first":  {SessionID: b.ID(), Files: []string{strings.Repeat("0a", 32)}},
		"was uploaded to":        {SessionID: b.ID(), Files: []string{elsewhere.SHA256}},
		"name it in session_id":  {Files: []string{a.SHA256}},
		"at most 20 attachments": {SessionID: b.ID(), Files: many},
	} {
		in.Task, in.Workspace = "say hello", h.folder
		_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(in, ann, ""))
		require.ErrorIs(t, err, state.ErrInvalid)
		require.ErrorContains(t, err, words)
		require.Equal(t, "files", state.FieldOf(err), words)
	}
	err := h.runner.CheckNew(t.Context(), wire.NewJob{Task: "say hello", Workspace: h.folder, SessionID: b.ID(), Files: []string{a.SHA256}}, ann)
	require.ErrorContains(t, err, "a schedule's jobs have no attachments")
	require.Empty(t, h.manager.Jobs())
}

func TestTheCopiesOfUploadsCountOnTheDay(t *testing.T) {
	o := options{idle: true, limits: settings.Limits{DailyAttachmentBytes: 3 * (4<<10 + 20)}}
	o.inRepository(t)
	h := start(t, o)
	b, a := h.from()
	make := func(key string, attempts int) error {
		in := wire.NewJob{Task: "say read", SessionID: b.ID(), Attempts: attempts, Files: []string{a.SHA256}}
		_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(in, ann, key))
		return err
	}
	require.NoError(t, make("first", 0))
	err := make("second", 2)
	require.ErrorIs(t, err, state.ErrTooLarge)
	require.ErrorContains(t, err, "limits.daily_attachments_mib")
	require.Equal(t, "files", state.FieldOf(err))
	require.NoError(t, make("third", 0))
	require.ErrorIs(t, make("fourth", 0), state.ErrTooLarge)
	require.NoError(t, make("third", 0), "a repeated request finds the job")
	require.Len(t, h.manager.Jobs(), 2)
}

package session_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func TestASessionOfAnotherProcessIsFollowedThenTakenOver(t *testing.T) {
	h := newHub(t, func(_ *session.Options, o *store.Options) { o.FS = nil })
	recorder, err := store.OpenRecorder(h.dir, store.Options{})
	require.NoError(t, err)
	r, err := recorder.Create(ctxOf(t), event.SessionStart{Agent: "fake", Workspace: h.workspace})
	require.NoError(t, err)
	record := func(turn int, payloads ...event.Payload) {
		t.Helper()
		for _, p := range payloads {
			d, err := event.NewDraft(p, turn, time.Now())
			require.NoError(t, err)
			_, _, err = r.Append(ctxOf(t), d)
			require.NoError(t, err)
		}
	}
	record(1, event.UserPrompt{PromptID: "theirs", Text: "do it"}, event.TurnStart{PromptID: "theirs"}, question("q1"))
	require.Eventually(t, func() bool {
		page, err := h.manager.List(session.ListOptions{})
		return err == nil && len(page.Sessions) == 1
	}, patience, tick, "the hub does not notice the session")
	b := h.session(r.ID())
	s := await(t, b, "the request", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
	require.Equal(t, session.TurnPrompting, s.Turn.State)
	_, err = b.Prompt(ctxOf(t), ask("mine"))
	require.ErrorIs(t, err, session.ErrConflict)
	_, err = answer(b, "q1", "yes", "tab")
	require.ErrorIs(t, err, session.ErrConflict)
	record(1, event.PermissionOutcome{PermissionID: "q1", Outcome: event.OutcomeCancelled, By: "them"}, event.Mode{ModeID: "plan"})
	await(t, b, "the mode", func(s session.State) bool { return s.Mode != nil && len(s.PendingPermissions) == 0 })

	require.NoError(t, recorder.Close()) // in mid-turn
	awaitIdle(t, b)
	requireLawful(t, b, true)
	require.Equal(t, event.StopHubRestart, payloads[event.TurnEnd](t, b)[0].StopReason)
	require.Equal(t, queue.Received, prompt(t, b, "mine").Outcome)
	require.Equal(t, "mine", receive(t, h.agents.next(t).prompts, "no prompt").PromptID)
}

func TestASessionThatCannotBeTakenOverIsReopened(t *testing.T) {
	var device *failingReads
	h := newHub(t, func(_ *session.Options, o *store.Options) {
		device = &failingReads{FS: store.OS()}
		o.FS, o.FollowEvery = device, tick
	})
	recorder, err := store.OpenRecorder(h.dir, store.Options{})
	require.NoError(t, err)
	r, err := recorder.Create(ctxOf(t), event.SessionStart{Agent: "fake", Workspace: h.workspace})
	require.NoError(t, err)
	h.close() // the hub does not watch this file system: it finds the session when it starts
	h.open(func(_ *session.Options, o *store.Options) { o.FS, o.FollowEvery = device, tick })
	b := h.session(r.ID())
	_, err = b.Prompt(ctxOf(t), ask("mine"))
	require.ErrorIs(t, err, session.ErrConflict, "another process records it")
	d, err := event.NewDraft(event.UserPrompt{PromptID: "theirs", Text: "do it"}, 1, time.Now())
	require.NoError(t, err)
	device.fail.Store(true)
	_, _, err = r.Append(ctxOf(t), d)
	require.NoError(t, err)
	require.NoError(t, recorder.Close())
	require.Eventually(t, func() bool { return b.Log().Health().State == store.HealthFrozen }, patience, tick)
	_, err = b.Prompt(ctxOf(t), ask("mine"))
	require.ErrorIs(t, err, session.ErrUnavailable)
	require.ErrorContains(t, err, "reopen", "the error says what helps")
	device.fail.Store(false)
	require.NoError(t, h.manager.Reopen(ctxOf(t), b.ID()))
	b = h.session(b.ID())
	awaitIdle(t, b)
	require.Equal(t, event.StopHubRestart, payloads[event.TurnEnd](t, b)[0].StopReason)
	require.Equal(t, queue.Received, prompt(t, b, "mine").Outcome)
	require.Equal(t, "mine", receive(t, h.agents.next(t).prompts, "no prompt").PromptID)
}

// failingReads is a device on which no log that was followed can be read while
// it fails.
type failingReads struct {
	store.FS
	fail atomic.Bool
}

func (f *failingReads) OpenRW(name string) (store.File, error) {
	file, err := f.FS.OpenRW(name)
	if err != nil {
		return nil, err
	}
	return failingReader{file, f}, nil
}

func (f *failingReads) Means(name string, file store.File) (bool, error) {
	if r, ok := file.(failingReader); ok {
		file = r.File
	}
	return f.FS.Means(name, file)
}

type failingReader struct {
	store.File
	device *failingReads
}

func (f failingReader) ReadAt(p []byte, at int64) (int, error) {
	if f.device.fail.Load() {
		return 0, syscall.EIO
	}
	return f.File.ReadAt(p, at)
}

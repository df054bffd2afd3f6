package session

import (
	"context"
	"reflect"
	"time"

	"github.com/abidehub/abide/session/event"
)

// seenInterval limits how often a workspace is inspected while tools end in quick
// succession.
const seenInterval = 5 * time.Second

// workspaceWatch records the state of the workspace when a turn begins and after
// its tools end, so that the resume of an interrupted turn can compare it.
type workspaceWatch struct {
	due, busy bool
	at        time.Time
	last      event.WorkspaceSeen
}

// workspaceWatcher performs the inspections of a workspaceWatch.
type workspaceWatcher struct {
	*foldedLog
	turn    *turnRun
	helpers *helpers
}

// watch inspects the workspace when that is due. Git runs in a helper goroutine,
// and nothing waits for it.
func (w *workspaceWatcher) watch(now time.Time) {
	s := &w.turn.seen
	if !s.due || s.busy || w.hub.inspect == nil || w.fold.Recorder.Open {
		return
	}
	if next := s.at.Add(seenInterval); now.Before(next) {
		w.wake(next)
		return
	}
	s.due, s.busy, s.at = false, true, now
	folder, promptID := w.workspace, w.fold.PromptID
	w.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), workspaceBound)
		defer cancel()
		seen := w.hub.inspect(ctx, folder, false).Seen()
		w.helpers.post(func() {
			if w.fold.Open && w.fold.PromptID == promptID {
				w.saw(seen)
			}
		})
	})
}

// saw records changes of the workspace. If it cannot be written now, it is retried.
func (w *workspaceWatcher) saw(seen event.WorkspaceSeen) {
	s := &w.turn.seen
	s.busy = false
	if reflect.DeepEqual(seen, s.last) {
		return
	}
	if _, err := w.write(w.entries(seen)...); err != nil {
		s.due = true
		return
	}
	s.last = seen
}

package session_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/store"
)

func TestAWorkspaceThatIsNotAsItWasIsShownAndConfirmed(t *testing.T) {
	was := resume.Workspace{
		Folder: "1:2", Root: "r1", Remote: "https://example.invalid/a.git", Repository: true, Branch: "main", Commit: "c1",
		Changed: []string{" M a.go"},
	}
	noGit := resume.Workspace{Folder: "1:2"}
	for name, c := range map[string]struct {
		was      resume.Workspace
		change   func(w *resume.Workspace)
		mismatch []string
		told     string
	}{
		"nothing":            {was, func(*resume.Workspace) {}, nil, ""},
		"half a patch":       {was, func(w *resume.Workspace) { w.Changed = []string{" M a.go", " M b.go"} }, nil, "Changed since: M b.go"},
		"a change is undone": {was, func(w *resume.Workspace) { w.Changed = nil }, nil, "No longer changed: M a.go"},
		"HEAD moved":         {was, func(w *resume.Workspace) { w.Commit = "c2" }, nil, "HEAD was c1."},
		"another branch":     {was, func(w *resume.Workspace) { w.Branch = "fix" }, []string{"branch"}, "The branch was main."},
		"another repository": {was, func(w *resume.Workspace) { w.Root = "r2" }, []string{"repository"}, "It is another repository"},
		"another clone":      {was, func(w *resume.Workspace) { w.Folder = "1:3" }, nil, ""},
		"no repository now":  {was, func(w *resume.Workspace) { *w = noGit }, []string{"repository"}, "It is another repository"},
		"another folder":     {noGit, func(w *resume.Workspace) { w.Folder = "1:3" }, []string{"workspace"}, "It is another workspace"},
		"many files":         {was, func(w *resume.Workspace) { w.More = 9_999 }, nil, "1 files were changed, and 10000 are now."},
		"git hangs":          {was, func(w *resume.Workspace) { w.Unknown, w.Changed = "it took too long", nil }, nil, "Git could not tell: it took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Pointer[resume.Workspace]
			now.Store(&c.was)
			h := newHub(t, func(o *session.Options, to *store.Options) {
				clean(o, to)
				o.InspectWorkspace = func(context.Context, string, bool) resume.Workspace { return *now.Load() }
			})
			b, a := h.busy()
			require.Eventually(t, func() bool { return len(payloads[event.WorkspaceSeen](t, b)) == 1 }, patience, patience/1000)
			changed := c.was
			c.change(&changed)
			now.Store(&changed)
			a.die(crash)
			id := interruptionOf(t, b).InterruptionID
			offer, err := b.Interruption(ctxOf(t))
			require.NoError(t, err)
			require.Equal(t, c.mismatch, offer.Mismatch)
			require.Contains(t, offer.Prompt, c.told)
			if c.told == "" {
				require.NotContains(t, offer.Prompt, "Since your last tool call")
			}
			r := session.ResumeRequest{InterruptionID: id, Actor: person("ann")}
			if len(c.mismatch) > 0 {
				_, err = b.Resume(ctxOf(t), r)
				var needs *resume.NeedsConfirmation
				require.ErrorAs(t, err, &needs)
				require.Equal(t, c.mismatch, needs.Needs)
			}
			r.Confirm = c.mismatch
			_, err = b.Resume(ctxOf(t), r)
			require.NoError(t, err)
		})
	}
}

func TestTheWorkspaceIsSeenAgainAfterAToolThatChangedIt(t *testing.T) {
	var looks atomic.Int32
	h := newHub(t, func(o *session.Options, to *store.Options) {
		clean(o, to)
		o.InspectWorkspace = func(context.Context, string, bool) resume.Workspace {
			return resume.Workspace{Folder: "1:2", Repository: true, Commit: "c", More: int(looks.Add(1))}
		}
	})
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress)))
	require.NoError(t, a.say(toolUpdate("t1", event.ToolCompleted)))
	require.Eventually(t, func() bool { return len(payloads[event.WorkspaceSeen](t, b)) == 2 }, patience, patience/1000)
}

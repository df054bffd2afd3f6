package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// TestTheQueueIsConfiguredForEveryoneAndForAWorkspaceWhileTheHubRuns edits the
// configuration of a running hub. Valid values apply to open sessions. Invalid ones
// are refused with their line and change no setting.
func TestTheQueueIsConfiguredForEveryoneAndForAWorkspaceWhileTheHubRuns(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{more: "queue: {max_size: 2}\n"})
	own := filepath.Join(h.workspace, "own")
	require.NoError(t, os.Mkdir(own, 0o755))
	base, err := os.ReadFile(h.config)
	require.NoError(t, err)
	before, _, _ := strings.Cut(string(base), "queue:")
	edits := 0
	edit := func(queue, logged string) {
		edits++
		require.NoError(t, os.WriteFile(h.config, fmt.Appendf(nil, "%squeue: %s\n# edit %d\n", before, queue, edits), 0o600))
		require.Eventually(t, func() bool { return strings.Count(h.logged(), logged) > 0 }, patience, 10*time.Millisecond, "%s is not in the log", logged)
	}
	plain := h.create("demo")
	special, err := h.hub.Create(t.Context(), wire.NewSession{Agent: "demo", Workspace: own}, "")
	require.NoError(t, err)
	screens := map[string]*screen{}
	for _, s := range []wire.SessionInfo{plain, special} {
		c := h.screen("screen of "+s.SessionID, s, 0)
		screens[s.SessionID] = c
		c.prompt(s.SessionID, "busy", "/ask")
		c.untilAsked(1)
	}
	n := 0
	ask := func(s wire.SessionInfo) wire.Code {
		n++
		_, err := screens[s.SessionID].socket().Prompt(t.Context(), wire.Prompt{SessionID: s.SessionID, PromptID: fmt.Sprint("p", n), Text: fmt.Sprintf("/plan (%d)", n)})
		return codeOf(err)
	}
	for _, s := range []wire.SessionInfo{plain, special} {
		require.Equal(t, []wire.Code{"", "", wire.CodeConflict}, []wire.Code{ask(s), ask(s), ask(s)}, "the limit is two")
	}
	edit(fmt.Sprintf("{max_size: 2}\nprojects: {%q: {queue: {max_size: 3, titles: false, delay: 300ms}}}", own), "configuration applied")
	require.Equal(t, []wire.Code{"", wire.CodeConflict, wire.CodeConflict}, []wire.Code{ask(special), ask(special), ask(plain)})
	screens[special.SessionID].until("a prompt without a title", func(_ []event.Event, s *wire.State) bool {
		return len(s.Queue) == 3 && s.Queue[0].Title != "" && s.Queue[2].Title == ""
	})

	edit(fmt.Sprintf("{max_size: 9}\nprojects:\n  %q:\n    queue:\n      delay: sometime", own), `own.queue.delay: \"sometime\" is not a duration`)
	require.Contains(t, h.logged(), fmt.Sprintf("%s:%d: projects.", h.config, strings.Count(before, "\n")+5))
	require.Equal(t, wire.CodeConflict, ask(plain), "an invalid edit changed a setting")

	edit("{enabled: false}", "configuration applied")
	require.Eventually(t, func() bool { return ask(plain) == wire.CodeBusy }, patience, 50*time.Millisecond, "the queue is off")
	for _, s := range []wire.SessionInfo{plain, special} {
		c := screens[s.SessionID]
		c.answer(s.SessionID, c.untilAsked(1), event.AllowOnce)
		c.until("what was queued done", func(_ []event.Event, s *wire.State) bool {
			return len(s.Queue) == 0 && s.Turn.State == state.TurnIdle
		})
	}
}

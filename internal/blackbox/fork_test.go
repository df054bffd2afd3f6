package blackbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func TestASessionIsForkedByTheCommandLine(t *testing.T) {
	t.Parallel()
	h, beside := newSetupHub(t)
	require.NoError(t, os.WriteFile(filepath.Join(beside, "fixed"), nil, 0o600))
	s, err := h.hub.Create(t.Context(), wire.NewSession{Agent: "demo", Workspace: h.workspace, Prompt: "/plan"}, "")
	require.NoError(t, err)
	tab := h.screen("tab", s, 0)
	tab.until("the end of the turn", hasType(event.TypeTurnEnd))
	info, err := h.hub.Session(t.Context(), s.SessionID)
	require.NoError(t, err)

	out, errs, code := h.run("fork", s.SessionID)
	require.Zero(t, code, errs)
	made, err := h.hub.Session(t.Context(), strings.TrimSpace(out))
	require.NoError(t, err)
	require.Equal(t, &event.Forked{SessionID: s.SessionID, Seq: info.MaxSeq}, made.ForkedFrom)
	require.Equal(t, h.workspace, made.Workspace)

	out, errs, code = h.run("fork", s.SessionID, "/plan again", "--at", "2", "--worktree", "--branch", "try", "--json")
	require.Zero(t, code, errs)
	var forked wire.SessionInfo
	require.NoError(t, json.Unmarshal([]byte(out), &forked))
	require.Equal(t, &event.Forked{SessionID: s.SessionID, Seq: 2}, forked.ForkedFrom)
	require.Equal(t, "try", forked.Worktree.Branch)
	h.screen("fork", forked, 0).until("the end of its turn", hasType(event.TypeTurnEnd))
	require.FileExists(t, filepath.Join(forked.Workspace, "installed"), "its copy was not set up")
	require.NoError(t, os.WriteFile(filepath.Join(forked.Workspace, "later"), nil, 0o600))
	_, errs, code = h.run("undo", forked.SessionID, "--files", "--yes")
	require.Zero(t, code, errs)
	require.NoFileExists(t, filepath.Join(forked.Workspace, "later"))
	require.FileExists(t, filepath.Join(forked.Workspace, "installed"), "the set-up was undone with the turn")

	_, errs, code = h.run("fork", s.SessionID, "--at", "9999")
	require.NotZero(t, code)
	require.Contains(t, errs, "seq 9999 is not one of the events 1 to")
	_, errs, code = h.run("fork", s.SessionID, "--base", "main")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "--branch and --base go with --worktree")
}

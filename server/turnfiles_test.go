package server_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/playback"
)

// sheller is an agent whose prompts are shell commands, and which tells of nothing.
type sheller struct {
	*puppet
	folder string
}

func startSheller(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	a, err := startPuppet(ctx, spec, sink)
	if err != nil {
		return nil, err
	}
	return sheller{a.(*puppet), spec.Workspace}, nil
}

func (s sheller) Prompt(prompt event.UserPrompt) error {
	return s.puppet.do(func() {
		c := exec.Command("sh", "-ec", string(prompt.Text))
		c.Dir = s.folder
		reason := event.StopEndTurn
		if c.Run() != nil {
			reason = event.StopRefusal
		}
		s.puppet.end(prompt.PromptID, reason)
	})
}

// An agent that edits by a shell command tells of no file; the states of the turn know them.
func TestTheFilesOfATurnAreKnownWhateverTheAgentTold(t *testing.T) {
	keeper := filestate.New(newGit(t), t.TempDir(), nil, slog.New(slog.DiscardHandler))
	h := startHub(t, hubOptions{git: newGit(t), files: withGit(t), states: keeper, start: startSheller})
	s := h.session()
	root := s.Info().Workspace
	git(t, root, "init", "-q", "-b", "main")
	require.NoError(t, os.WriteFile(filepath.Join(root, "old"), []byte("1\n2\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "gone"), []byte("1\n"), 0o600))
	h.prompt(s, "p1", "echo 3 >> old; rm gone; echo new > made")
	h.await(s, 0, event.TypeTurnEnd)
	path := "/api/sessions/" + s.ID()
	overview := func(header map[string][]string) (o wire.Overview) {
		t.Helper()
		res := h.do("GET", path+"/overview", nil, header)
		require.Equal(t, 200, res.status, res.body)
		require.NoError(t, json.Unmarshal([]byte(res.body), &o))
		require.Len(t, o.Turns, 1)
		require.Equal(t, event.StopEndTurn, o.Turns[0].StopReason)
		return o
	}
	turn := overview(bearer(h.token)).Turns[0]
	require.True(t, turn.Compared)
	require.Equal(t, []playback.File{
		{Path: filepath.Join(root, "gone"), Removed: 1},
		{Path: filepath.Join(root, "made"), Added: 1},
		{Path: filepath.Join(root, "old"), Added: 1},
	}, turn.Files)
	collaborator := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()}))
	require.Equal(t, turn, overview(collaborator).Turns[0])
	viewer := overview(bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))).Turns[0]
	require.False(t, viewer.Compared)
	require.Empty(t, viewer.Files, "a viewer is told of the workspace only what the agent told")
}

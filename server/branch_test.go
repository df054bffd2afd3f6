package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/settings"
)

// A collaborator commits where the project says so, and an owner everywhere.
func TestTheProjectSaysWhetherACollaboratorCommits(t *testing.T) {
	h := startHub(t, hubOptions{git: newGit(t), files: withGit(t)})
	s := h.session()
	root := s.Info().Workspace
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "config", "user.name", "a")
	git(t, root, "config", "user.email", "a@b")
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("a"), 0o600))
	path := "/api/sessions/" + s.ID() + "/branch"
	collaborator := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()}))
	acts := func(header http.Header) []string {
		t.Helper()
		res := h.do("GET", path, nil, header)
		require.Equal(t, 200, res.status, res.body)
		var found wire.Branch
		require.NoError(t, json.Unmarshal([]byte(res.body), &found))
		return found.Acts
	}
	commit := map[string]any{"message": "m"}
	require.Empty(t, acts(collaborator))
	require.Contains(t, acts(bearer(h.token)), "commit")
	require.Equal(t, 403, h.do("POST", path+"/commit", commit, collaborator).status)

	now := *h.manager.Settings()
	now.Git = map[string]settings.Git{root: {Collaborators: true}}
	require.NoError(t, h.manager.Configure(now))
	require.Contains(t, acts(collaborator), "commit")
	res := h.do("POST", path+"/commit", commit, collaborator)
	require.Equal(t, 200, res.status, res.body)
	require.Equal(t, 409, h.do("POST", path+"/commit", commit, collaborator).status, "nothing differs any more")
}

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

// Where the owner has not turned it on, an owner gets the command instead.
func TestThePushIsTheOwnersAndOffUntilTheProjectAllowsIt(t *testing.T) {
	h := startHub(t, hubOptions{git: newGit(t), files: withGit(t)})
	s := h.session()
	root, remote := s.Info().Workspace, t.TempDir()
	git(t, remote, "init", "-q", "--bare")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "a"}, {"config", "user.email", "a@b"},
		{"commit", "-q", "--allow-empty", "-m", "m"}, {"remote", "add", "origin", remote},
	} {
		git(t, root, args...)
	}
	path := "/api/sessions/" + s.ID() + "/branch"
	look := func() (found wire.Branch) {
		t.Helper()
		res := h.do("GET", path, nil, bearer(h.token))
		require.Equal(t, 200, res.status, res.body)
		require.NoError(t, json.Unmarshal([]byte(res.body), &found))
		return found
	}
	found := look()
	require.NotContains(t, found.Acts, "push")
	require.Equal(t, wire.BranchPush{Remote: "origin", Command: "git -C " + root + " push -u origin main"}, *found.Push)
	res := h.do("POST", path+"/push", map[string]any{}, bearer(h.token))
	require.Equal(t, 409, res.status)
	require.Contains(t, res.body, found.Push.Command)

	now := *h.manager.Settings()
	now.Git = map[string]settings.Git{root: {Push: true, Collaborators: true, PullRequests: "gh"}}
	require.NoError(t, h.manager.Configure(now))
	collaborator := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()}))
	require.Equal(t, 403, h.do("POST", path+"/push", map[string]any{}, collaborator).status)
	require.Contains(t, look().Acts, "push")
	res = h.do("POST", path+"/push", map[string]any{}, bearer(h.token))
	require.Equal(t, 200, res.status, res.body)
	require.Contains(t, res.body, `"remote":"origin"`)
	require.True(t, look().Push.Pushed)
}

func TestABranchSaysWhetherACommitIsSigned(t *testing.T) {
	h := startHub(t, hubOptions{git: newGit(t), files: withGit(t)})
	s := h.session()
	root := s.Info().Workspace
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "config", "commit.gpgSign", "true")
	look := func() string { return h.do("GET", "/api/sessions/"+s.ID()+"/branch", nil, bearer(h.token)).body }
	require.Contains(t, look(), `"signing":"unsigned"`)
	now := *h.manager.Settings()
	now.Git = map[string]settings.Git{root: {Sign: true}}
	require.NoError(t, h.manager.Configure(now))
	require.Contains(t, look(), `"signing":"signed"`)
}

func TestASquashedBranchReadsMergedAlsoWhereTheBaseWentOn(t *testing.T) {
	h := startHub(t, hubOptions{git: newGit(t), files: withGit(t)})
	s := h.session()
	root := s.Info().Workspace
	commit := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte(text), 0o600))
		git(t, root, "add", "a")
		git(t, root, "commit", "-q", "-m", text)
	}
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "config", "user.name", "a")
	git(t, root, "config", "user.email", "a@b")
	commit("one")
	git(t, root, "switch", "-q", "-c", "work")
	commit("two")
	commit("three")
	path := "/api/sessions/" + s.ID() + "/branch"
	res := h.do("POST", path+"/merge", map[string]any{"method": "squash", "message": "all of it"}, bearer(h.token))
	require.Equal(t, 200, res.status, res.body)
	git(t, root, "switch", "-q", "main")
	commit("another three")
	git(t, root, "switch", "-q", "work")
	res = h.do("GET", path, nil, bearer(h.token))
	require.Equal(t, 200, res.status, res.body)
	var found wire.Branch
	require.NoError(t, json.Unmarshal([]byte(res.body), &found))
	require.Equal(t, []any{true, 2, 2, []string{}}, []any{found.Merged, found.Ahead, found.Behind, found.Conflicts})
}

package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
)

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	t.Cleanup(cancel)
	return ctx
}

func TestACheckTellsWhatAnAgentIsAndThatItBegins(t *testing.T) {
	c := acp.Check(bounded(t), config(t, "demo"), "")
	require.NoError(t, c.Err)
	require.Equal(t, "Demo agent", c.Name)
	require.NotEmpty(t, c.Version)
	require.Equal(t, "ask", c.Mode)
	require.Empty(t, c.Answer)
	require.False(t, c.NeedsLogin)
}

func TestACheckCancelsTheQuestionsOfAPromptAndKeepsTheAnswer(t *testing.T) {
	c := acp.Check(bounded(t), config(t, "demo"), "/ask")
	require.NoError(t, c.Err)
	require.NotEmpty(t, c.Answer)
	c = acp.Check(bounded(t), config(t, "demo"), "/error")
	require.Error(t, c.Err)
}

func TestACheckEndsWithWhatTheAgentSaid(t *testing.T) {
	cfg := config(t, "demo")
	cfg.Command = []string{"sh", "-c", "echo the key is missing >&2; exit 3"}
	c := acp.Check(bounded(t), cfg, "")
	require.ErrorIs(t, c.Err, acp.ErrGone)
	require.Equal(t, "the key is missing\n", c.Stderr)
	cfg.Command = []string{"no-such-program"}
	require.ErrorContains(t, acp.Check(bounded(t), cfg, "").Err, "not found in PATH")
}

func TestAnAgentIsLoggedInAndOutWithoutASession(t *testing.T) {
	cfg := config(t, "demo-login")
	c := acp.Check(bounded(t), cfg, "")
	require.True(t, c.NeedsLogin, "%v", c.Err)
	require.True(t, c.LogsOut)
	require.Len(t, c.Methods, 3)
	require.ErrorContains(t, acp.LogIn(bounded(t), cfg, "refused"), "refused the login")
	require.ErrorContains(t, acp.LogIn(bounded(t), cfg, "terminal"), "not a way to log in by a request")
	require.True(t, acp.Check(bounded(t), cfg, "").NeedsLogin)
	require.NoError(t, acp.LogIn(bounded(t), cfg, "here"))
	require.NoError(t, acp.Check(bounded(t), cfg, "").Err)
	require.NoError(t, acp.LogOut(bounded(t), cfg))
	require.True(t, acp.Check(bounded(t), cfg, "").NeedsLogin)
	require.ErrorIs(t, acp.LogOut(bounded(t), config(t, "demo")), acp.ErrNotOffered)
}

func TestAProgramIsFoundInTheAgentsOwnPath(t *testing.T) {
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	require.NoError(t, os.MkdirAll(bin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "my-agent"), nil, 0o700))
	cfg := acp.Config{Command: []string{"my-agent"}}
	_, err := acp.Find(cfg)
	require.Error(t, err)
	cfg.Env = map[string]string{"PATH": bin, "HOME": home}
	path, err := acp.Find(cfg)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(bin, "my-agent"), path)
	cfg.Command = []string{"~/bin/my-agent"}
	path, err = acp.Find(cfg)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(bin, "my-agent"), path)
	cfg.Command = []string{"~/bin"}
	_, err = acp.Find(cfg)
	require.ErrorContains(t, err, "is a directory")
}

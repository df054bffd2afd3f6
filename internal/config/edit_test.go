package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/config"
)

// project makes a folder in the loader's home.
func project(t *testing.T, l config.Loader, name string) string {
	t.Helper()
	dir := filepath.Join(l.Dir, name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return real
}

func content(t *testing.T, l config.Loader) string {
	t.Helper()
	data, err := os.ReadFile(l.Path)
	require.NoError(t, err)
	return string(data)
}

func TestAFolderIsWrittenWithEveryOtherByteKept(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"an empty file":     {"", "workspaces:\n  - ~/site\n"},
		"comments only":     {"# mine\n", "# mine\n\nworkspaces:\n  - ~/site\n"},
		"no line end":       {"open: false", "open: false\n\nworkspaces:\n  - ~/site\n"},
		"other options":     {"# top\nopen: false # quiet\n\nqueue: {max_size: 3}\n", "# top\nopen: false # quiet\n\nqueue: {max_size: 3}\n\nworkspaces:\n  - ~/site\n"},
		"a flow list":       {"workspaces: [~/src] # mine\nopen: false\n", "workspaces: [~/src, ~/site] # mine\nopen: false\n"},
		"an empty list":     {"workspaces: []\n", "workspaces: [~/site]\n"},
		"a spaced list":     {"workspaces: [ ~/src ]\n", "workspaces: [ ~/src, ~/site ]\n"},
		"a comma at end":    {"workspaces: [~/src,]\n", "workspaces: [~/src, ~/site]\n"},
		"long lists":        {"workspaces: [~/src,\n  ~/lib]\n", "workspaces: [~/src,\n  ~/lib, ~/site]\n"},
		"a block list":      {"workspaces:\n  # the first\n  - ~/src # mine\n\n# the rest\nopen: false\n", "workspaces:\n  # the first\n  - ~/src # mine\n  - ~/site\n\n# the rest\nopen: false\n"},
		"no indentation":    {"workspaces:\n- ~/src\nopen: false\n", "workspaces:\n- ~/src\n- ~/site\nopen: false\n"},
		"deep indentation":  {"workspaces:\n      - ~/src\n", "workspaces:\n      - ~/src\n      - ~/site\n"},
		"last, no line end": {"workspaces:\n  - ~/src", "workspaces:\n  - ~/src\n  - ~/site"},
		"nothing yet":       {"workspaces: # soon\nopen: false\n", "workspaces: # soon\n  - ~/site\nopen: false\n"},
		"line ends of DOS":  {"# ä\r\nworkspaces:\r\n  - ~/src\r\nopen: false\r\n", "# ä\r\nworkspaces:\r\n  - ~/src\r\n  - ~/site\r\nopen: false\r\n"},
		"DOS, its mark":     {"\ufeffworkspaces: [~/src]\r\nopen: false\r\n", "\ufeffworkspaces: [~/src, ~/site]\r\nopen: false\r\n"},
		"a mark":            {"\ufeff# ä\nopen: false\n", "\ufeff# ä\nopen: false\n\nworkspaces:\n  - ~/site\n"},
		"DOS, flow":         {"# ä\r\nopen: false # ö\r\nworkspaces: [~/src]\r\n", "# ä\r\nopen: false # ö\r\nworkspaces: [~/src, ~/site]\r\n"},
		"letters of more than a byte": {"channels: {}\nagents: # für später\n  a: {command: [ä]}\nworkspaces: [\"~/größe\", ~/src]\n",
			"channels: {}\nagents: # für später\n  a: {command: [ä]}\nworkspaces: [\"~/größe\", ~/src, ~/site]\n"},
		"a block of text before": {"agents:\n  a:\n    command:\n      - sh\n      - -c\n      - |\n        # no comment\n        run\nworkspaces: [~/src]\n",
			"agents:\n  a:\n    command:\n      - sh\n      - -c\n      - |\n        # no comment\n        run\nworkspaces: [~/src, ~/site]\n"},
		"a document's start": {"---\nopen: false\n", "---\nopen: false\n\nworkspaces:\n  - ~/site\n"},
		"variables":          {"workspaces: [\"${HOME}/src\"]\n", "workspaces: [\"${HOME}/src\", ~/site]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := loader(t, c.before)
			before, err := l.Load()
			require.NoError(t, err)
			site := project(t, l, "site")
			got, folder, err := l.Allow("site", nil)
			require.NoError(t, err)
			require.Equal(t, c.after, content(t, l))
			require.Equal(t, site, folder)
			require.Equal(t, append(before.Workspaces, filepath.Join(l.Dir, "site")), got.Workspaces)
			again, err := l.Load()
			require.NoError(t, err)
			require.Equal(t, got, again)
			_, _, err = l.Allow("site", nil)
			require.NoError(t, err)
			require.Equal(t, c.after, content(t, l), "once")
		})
	}
}

func TestTheExampleFileTakesAFolderAndAnAgent(t *testing.T) {
	example, err := os.ReadFile("../../config.example.yaml")
	require.NoError(t, err)
	l := loader(t, string(example))
	project(t, l, "site")
	_, _, err = l.Allow("site", nil)
	require.NoError(t, err)
	agent := config.Entry{Option: "agents", Name: "gemini", Value: "{command: [gemini, --acp]}"}
	c, err := l.Add(agent, func(c config.Config) bool { return c.Agents[len(c.Agents)-1].Name == "gemini" })
	require.NoError(t, err)
	require.Equal(t, []string{"gemini", "--acp"}, c.Agents[len(c.Agents)-1].Command)
	text := content(t, l)
	require.Contains(t, text, "workspaces: [~/src, ~/site]\n")
	rest := strings.Replace(strings.Replace(text, ", ~/site", "", 1), "  gemini: {command: [gemini, --acp]}\n", "", 1)
	require.Equal(t, string(example), rest, "every other byte is kept")

	_, err = l.Add(agent, func(config.Config) bool { return true })
	var edit *config.EditError
	require.ErrorAs(t, err, &edit, "an agent is not written twice")
	require.Equal(t, text, content(t, l))
}

func TestAFileThatWouldNotReadBackIsNotWritten(t *testing.T) {
	for name, c := range map[string]struct{ yaml, env, reason string }{
		"a flow file":            {yaml: "{open: false}\n", reason: "form"},
		"an anchor":              {yaml: "workspaces: &mine [~/src]\n", reason: "form"},
		"a comment in a list":    {yaml: "workspaces: [\n  ~/src # mine\n]\n", reason: "form"},
		"a document's end":       {yaml: "open: false\n...\n", reason: "form"},
		"a list over many lines": {yaml: "workspaces: [\n  ~/src\n]\n", reason: "form"},
		"the environment":        {yaml: "open: false\n", env: "ABIDE_WORKSPACES=/elsewhere", reason: "overrides"},
	} {
		t.Run(name, func(t *testing.T) {
			l := loader(t, c.yaml, c.env)
			project(t, l, "site")
			_, _, err := l.Allow("site", nil)
			var edit *config.EditError
			require.ErrorAs(t, err, &edit)
			require.Equal(t, "workspaces:\n  - ~/site\n", edit.Lines)
			require.ErrorContains(t, err, c.reason)
			require.ErrorContains(t, err, l.Path)
			require.Equal(t, c.yaml, content(t, l))
		})
	}
	l := loader(t, "bogus: 1\n")
	project(t, l, "site")
	_, _, err := l.Allow("site", nil)
	var wrong *config.Error
	require.ErrorAs(t, err, &wrong, "a file with a fault is not edited")
	require.Equal(t, 1, wrong.Line)
}

func TestAFileThatMayNotBeWrittenSaysWhichLinesToAdd(t *testing.T) {
	l := loader(t, "open: false\n")
	project(t, l, "site")
	require.NoError(t, os.Chmod(l.Path, 0o400))
	_, _, err := l.Allow("site", nil)
	require.ErrorIs(t, err, os.ErrPermission)
	var edit *config.EditError
	require.ErrorAs(t, err, &edit)
	require.Equal(t, "workspaces:\n  - ~/site\n", edit.Lines)
	require.ErrorContains(t, err, l.Path+" was not changed (permission denied): add the lines by hand")
	require.Equal(t, "open: false\n", content(t, l))
}

func TestAFileBehindALinkIsWrittenThereWithItsMode(t *testing.T) {
	l := loader(t, "")
	project(t, l, "site")
	elsewhere := filepath.Join(t.TempDir(), "abide.yaml")
	require.NoError(t, os.WriteFile(elsewhere, []byte("open: false\n"), 0o600))
	require.NoError(t, os.Chmod(elsewhere, 0o640))
	require.NoError(t, os.Remove(l.Path))
	require.NoError(t, os.Symlink(elsewhere, l.Path))
	_, _, err := l.Allow("site", nil)
	require.NoError(t, err)
	info, err := os.Lstat(l.Path)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Stat(elsewhere)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	require.Contains(t, content(t, l), "~/site")
}

func TestAFileThatIsNotThereIsMade(t *testing.T) {
	home := t.TempDir()
	l, err := config.NewLoader("", config.Flags{}, []string{"HOME=" + home}, home)
	require.NoError(t, err)
	project(t, l, "site")
	_, _, err = l.Allow("~/site", nil)
	require.NoError(t, err)
	require.Equal(t, "workspaces:\n  - ~/site\n", content(t, l))
	info, err := os.Stat(l.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestAStrangeNameIsReadBackAsItIs(t *testing.T) {
	for _, name := range []string{"a b", "a: b", "#x", "{x}", "${HOME}", "ü", "-", "'", `"`, "a,b", "true", "1", "*x", "\\n", "a\tb", "\u00a0", "x\u2028y", "[", "~"} {
		l := loader(t, "workspaces: [~/src]\n")
		site := project(t, l, name)
		c, folder, err := l.Allow("~/"+name, nil)
		require.NoError(t, err, "%q", name)
		require.Equal(t, site, folder)
		require.Equal(t, filepath.Join(l.Dir, name), c.Workspaces[1], "%q", name)
	}
}

func TestNeitherHomeNorTheMachineNorTheHubIsAllowed(t *testing.T) {
	l := loader(t, "")
	data := project(t, l, ".local/share/abide")
	own := []string{data, filepath.Dir(l.Path)}
	link := filepath.Join(l.Dir, "link")
	require.NoError(t, os.Symlink(l.Dir, link))
	require.NoError(t, os.WriteFile(filepath.Join(l.Dir, "file"), nil, 0o600))
	for folder, reason := range map[string]string{
		"/": "whole machine", "~": "home directory", ".": "home directory", link: "home directory", filepath.Dir(l.Dir): "holds your home",
		"~/missing": "make it first", "~/file": "not a folder",
		"~/.local/share/abide": "the hub itself", "~/.config/abide": "the hub itself", "~/.local": "the hub's own files", "~/.config": "the hub's own files",
	} {
		_, _, err := l.Allow(folder, own)
		var unfit *config.UnfitError
		require.True(t, errors.As(err, &unfit), "%s: %v", folder, err)
		require.Contains(t, unfit.Reason, reason, folder)
	}
	require.Empty(t, content(t, l))
}

func TestAPublicNameIsWritten(t *testing.T) {
	l := loader(t, "public_names: []   # through a tunnel\n")
	c, err := l.AddPublicName("Desk.tailnet-name.ts.net")
	require.NoError(t, err)
	require.Equal(t, []string{"desk.tailnet-name.ts.net"}, c.PublicNames)
	require.Equal(t, "public_names: [desk.tailnet-name.ts.net]   # through a tunnel\n", content(t, l))
	_, err = l.AddPublicName("https://desk")
	require.ErrorContains(t, err, "host name")
}

func TestAnAgentIsWrittenWithEveryOtherByteKept(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"no file":       {"", "agents:\n  gemini: {command: [gemini, --acp]}\n"},
		"comments":      {"# mine\nopen: false # quiet\n", "# mine\nopen: false # quiet\n\nagents:\n  gemini: {command: [gemini, --acp]}\n"},
		"another agent": {"agents: # all\n  # the first\n  a:\n    command: [a] # mine\n\n# the rest\nopen: false\n", "agents: # all\n  # the first\n  a:\n    command: [a] # mine\n  gemini: {command: [gemini, --acp]}\n\n# the rest\nopen: false\n"},
		"a mark":        {"\ufeffagents:\n  a: {command: [a]}\n", "\ufeffagents:\n  a: {command: [a]}\n  gemini: {command: [gemini, --acp]}\n"},
		"line ends":     {"agents:\r\n  a: {command: [a]}\r\n", "agents:\r\n  a: {command: [a]}\r\n  gemini: {command: [gemini, --acp]}\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := loader(t, c.before)
			got, lines, err := l.AddAgent(config.Agent{Name: "gemini", Command: []string{"gemini", "--acp"}})
			require.NoError(t, err)
			require.Equal(t, c.after, content(t, l))
			require.Equal(t, "agents:\n  gemini: {command: [gemini, --acp]}\n", lines)
			require.Equal(t, []string{"gemini", "--acp"}, got.Agents[len(got.Agents)-1].Command)
		})
	}
	l := loader(t, "")
	strange := config.Agent{
		Name: "strange", Command: []string{"~/bin/a b", "--x=1", "a, b", "[c]", "${HOME}", "true", "---", "#d", "e: f", "-", ""},
		Env: map[string]string{"A_B": "1", "X": "a, b: {c}"},
	}
	got, _, err := l.AddAgent(strange)
	require.NoError(t, err)
	require.Equal(t, strange.Command, got.Agents[0].Command)
	require.Equal(t, strange.Env, got.Agents[0].Env)
	_, _, err = l.AddAgent(config.Agent{Name: "Not a name", Command: []string{"x"}})
	require.ErrorContains(t, err, "not an agent's name")
}

package blackbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// gitIn runs git like a person does.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
}

func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// makeRepository makes a repository of one commit with a changed file.
func makeRepository(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	gitIn(t, dir, "init", "-q")
	writeIn(t, dir, "a.go", "package a\n")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "one")
	writeIn(t, dir, "a.go", "package b\n")
}

// TestAResumeSaysWhatBecameOfTheRepository interrupts turns, changes their
// repositories while the hub is down, and reads the text of each resume.
func TestAResumeSaysWhatBecameOfTheRepository(t *testing.T) {
	t.Parallel()
	trap := filepath.Join(t.TempDir(), "trap")
	mark := trap + ".ran"
	require.NoError(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755))
	cases := map[string]struct {
		change   func(dir string)
		mismatch []string
		told     string
	}{
		"nothing":      {func(string) {}, nil, "- Changed files:\n   M a.go\n"},
		"half a patch": {func(dir string) { writeIn(t, dir, "b.go", "package b\n") }, nil, "Changed since: ?? b.go"},
		"branch":       {func(dir string) { gitIn(t, dir, "checkout", "-q", "-b", "fix") }, []string{"branch"}, "The branch was main."},
		"commit":       {func(dir string) { gitIn(t, dir, "commit", "-q", "-a", "-m", "two") }, nil, "HEAD was "},
		"replaced": {func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
			writeIn(t, dir, "a.go", "package other\n")
			gitIn(t, dir, "init", "-q")
			gitIn(t, dir, "add", ".")
			gitIn(t, dir, "commit", "-q", "-m", "of another time")
		}, []string{"repository"}, "It is another repository"},
		"no git": {func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git"))) }, []string{"repository"}, "It is another repository"},
		"a thousand": {func(dir string) {
			for i := range 1_000 {
				writeIn(t, dir, fmt.Sprintf("new%05d", i), "")
			}
		}, nil, ""}, // TestChangedFilesAreCountedAndFiftyNamed checks the count
		"hostile": {func(dir string) {
			writeIn(t, dir, ".gitattributes", "* filter=evil diff=evil\n")
			config, err := os.OpenFile(filepath.Join(dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			defer config.Close()
			_, err = config.WriteString(strings.ReplaceAll("\n[filter \"evil\"]\n clean = TRAP\n smudge = TRAP\n required = true\n[core]\n fsmonitor = TRAP\n[diff]\n external = TRAP\n[diff \"evil\"]\n textconv = TRAP\n", "TRAP", trap))
			require.NoError(t, err)
			for _, hook := range []string{"post-checkout", "post-index-change", "pre-commit"} {
				require.NoError(t, os.Symlink(trap, filepath.Join(dir, ".git/hooks", hook)))
			}
		}, nil, "Changed since: ?? .gitattributes"},
	}
	h := newHub(t, settings{agents: map[string]agent{"demo": paced()}})
	began := map[string]wire.SessionInfo{}
	for name := range cases {
		dir := filepath.Join(h.workspace, name)
		makeRepository(t, dir)
		for known := false; !known; { // else git took longer than it may: on a busy machine
			info, err := h.hub.Create(t.Context(), wire.NewSession{Agent: "demo", Workspace: dir}, "")
			require.NoError(t, err)
			began[name] = info
			tab := h.screen(name, info, 0)
			tab.prompt(info.SessionID, "p1", "/slow 600")
			tab.until("the workspace is seen", hasType(event.TypeWorkspaceSeen))
			known = payloads[event.WorkspaceSeen](t, tab.seen())[0].Root != ""
		}
	}
	h.kill()
	for name, c := range cases {
		c.change(filepath.Join(h.workspace, name))
	}
	h.start()
	for name, c := range cases {
		var offer wire.Offer
		require.Eventually(t, func() bool {
			var err error
			offer, err = h.hub.Interruption(t.Context(), began[name].SessionID)
			require.NoError(t, err)
			return !strings.Contains(offer.Prompt, "it took too long") && len(offer.Mismatch) == len(c.mismatch)
		}, patience, 100*time.Millisecond, name)
		require.Equal(t, append([]string{}, c.mismatch...), offer.Mismatch, name)
		require.Contains(t, offer.Prompt, c.told, name)
		r := wire.Resume{InterruptionID: offer.InterruptionID, Prompt: "/plan"}
		if len(c.mismatch) > 0 {
			_, err := h.hub.Resume(t.Context(), began[name].SessionID, r)
			var refused *client.RefusedError
			require.ErrorAs(t, err, &refused, name)
			r.Confirm = c.mismatch
		}
		_, err := h.hub.Resume(t.Context(), began[name].SessionID, r)
		require.NoError(t, err, name)
	}
	require.NoFileExists(t, mark, "a program from the repository ran")
	hostile := filepath.Join(h.workspace, "hostile")
	cmd := exec.Command("git", "status")
	cmd.Dir = hostile
	_ = cmd.Run() // it fails: the filter has no output
	require.FileExists(t, mark, "plain git does not run the program: the test proves nothing")
}

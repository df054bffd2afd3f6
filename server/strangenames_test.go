package server_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/workspace"
)

// strangeNames are file names with characters that a URL, a shell, HTML or git treats specially.
var strangeNames = []string{
	"new\nline", "a\ttab", "carriage\rreturn", "bell\aescape\x1b[31m", "\x7fdelete", "line\u2028separator",
	`"double"`, "'single'", "`back`$(x)", `back\slash`, `c:\d`,
	"<img src=x onerror=alert(1)>.png", "a&amp;b", "<a>b<\\a>",
	"\u202egnp.exe", "zero\u200bwidth", "\ufeffmark", "🌱🌷", "👩‍👩‍👧.md", "e\u0301", "é", "Z̸̢̛a̵l̷g̶o̶",
	"-rf", "--help", ".hidden", "...", " leading", "trailing ", "trailing.", "two  spaces",
	"%2e%2e", "%2e%2e%2fhub.json", "%00", "%", "100%25", "hash#1", "query?a=b", "and&b=c", "a+b", "a=b", "semi;colon", "colon:1", "~", "~root",
	"*", "[a-z]", "{a,b}", "!bang", "^caret", ":(top)magic", "@here",
	"con", "nul.txt", "__proto__", "constructor",
	strings.Repeat("n", 251) + ".txt", strings.Repeat("ü", 127),
}

// Each is listed, completed, named among the changes and opened by the name that the list has.
func TestAStrangeNameLeadsToItsFile(t *testing.T) {
	state, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	h := startHub(t, hubOptions{files: workspace.New(state, nil)})
	s := h.session()
	root, one := s.Info().Workspace, "/api/sessions/"+s.ID()
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		git := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		git.Dir = root
		out, err := git.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, name := range strangeNames {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("in "+name), 0o600), "%q", name)
	}
	unnamed := "not\xffutf8"
	require.NoError(t, os.WriteFile(filepath.Join(root, unnamed), []byte("x"), 0o600))
	get := func(path string, answer any) {
		t.Helper()
		res := h.api("GET", one+path, nil)
		require.Equal(t, 200, res.status, "%s: %s", path, res.body)
		require.NoError(t, jsonUnmarshal(res.body, answer))
	}

	var list struct {
		Entries []struct {
			Name, Kind string
			Unreadable bool
		}
	}
	get("/files", &list)
	listed := map[string]bool{}
	for _, e := range list.Entries {
		listed[e.Name] = true
		require.Equal(t, e.Name == "not\ufffdutf8", e.Unreadable, "%q", e.Name)
	}
	require.True(t, listed["not\ufffdutf8"], "a name that no list can have is shown as such")
	var changes struct {
		Files []struct{ Path, Code string }
	}
	get("/changes", &changes)
	changed := map[string]string{}
	for _, f := range changes.Files {
		changed[f.Path] = f.Code
	}

	for _, name := range strangeNames {
		require.True(t, listed[name], "%q is listed", name)
		require.Equal(t, "??", changed[name], "%q is new", name)
		var found struct{ Paths []string }
		get("/complete?q="+url.QueryEscape(name[:min(len(name), 250)]), &found)
		require.Contains(t, found.Paths, name, "%q is completed", name)
		res := h.api("GET", one+"/file?path="+url.QueryEscape(name), nil)
		require.Equal(t, 200, res.status, "%q is opened", name)
		require.Equal(t, "in "+name, res.body)
	}
	require.Equal(t, 404, h.api("GET", one+"/file?path="+url.QueryEscape("not\ufffdutf8"), nil).status)
}

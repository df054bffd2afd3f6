package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

func TestAFileIsSentInPartsOfTwoMebibytes(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	root, one := s.Info().Workspace, "/api/sessions/"+s.ID()+"/file?path="
	large, err := os.Create(filepath.Join(root, "large.bin"))
	require.NoError(t, err)
	require.NoError(t, large.Truncate(100<<20))
	require.NoError(t, large.Close())
	require.NoError(t, os.WriteFile(filepath.Join(root, "page.html"), []byte("<script>"), 0o600))
	part := func(path, asked string) response {
		header := bearer(h.token)
		header.Set("Range", asked)
		return h.do("GET", one+url.QueryEscape(path), nil, header)
	}

	require.Equal(t, http.StatusRequestEntityTooLarge, h.api("GET", one+"large.bin", nil).status)
	res := part("large.bin", "bytes=0-")
	require.Equal(t, http.StatusPartialContent, res.status)
	require.Len(t, res.body, 2<<20)
	require.Equal(t, "bytes 0-2097151/104857600", res.header.Get("Content-Range"))
	require.Equal(t, "application/octet-stream", res.header.Get("Content-Type"))
	require.Len(t, part("large.bin", "bytes=-5").body, 5)
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, part("large.bin", "bytes=104857600-").status)
	for _, asked := range []string{"bytes=0-1,3-4", "bytes=x-", "bytes=5-3", "bytes=9223372036854775807-"} {
		require.GreaterOrEqual(t, part("large.bin", asked).status, 400, asked)
	}
	res = h.api("GET", one+"page.html", nil)
	require.Equal(t, "<script>", res.body)
	require.Equal(t, "attachment", res.header.Get("Content-Disposition"), "markup is never shown by the browser")
	require.Equal(t, "default-src 'none'; sandbox", res.header.Get("Content-Security-Policy"))
}

func TestFilesOutsideOfTheWorkspaceDoNotExist(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	one := "/api/sessions/" + s.ID()
	require.NoError(t, os.WriteFile(filepath.Join(s.Info().Workspace, "..", "beside"), []byte("x"), 0o600))
	for _, path := range []string{"../beside", "/etc/passwd", "..", "a\x00"} {
		for _, route := range []string{"/files", "/file", "/change"} {
			require.Equal(t, 404, h.api("GET", one+route+"?path="+url.QueryEscape(path), nil).status, "%s %q", route, path)
		}
		require.Equal(t, 404, h.api("GET", "/api/folders?path="+url.QueryEscape(path), nil).status)
	}
	viewer := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	for _, route := range []string{"/files", "/file?path=a", "/complete", "/changes", "/change?path=a"} {
		require.Equal(t, 403, h.do("GET", one+route, nil, viewer).status, route)
	}
	// A link that takes the folder's place leads nowhere.
	folder := s.Info().Workspace
	require.Equal(t, 200, h.api("GET", one+"/files", nil).status)
	require.NoError(t, os.Rename(folder, folder+"-aside"))
	require.NoError(t, os.Symlink(folder+"-aside", folder))
	for _, route := range []string{"/files", "/file?path=a", "/complete?q=a", "/changes", "/change?path=a"} {
		require.Equal(t, 404, h.api("GET", one+route, nil).status, route)
	}
	// A session that was recorded where no session may run shows no files.
	recording, err := h.manager.Record(t.Context(), session.CreateRequest{Agent: "other", Workspace: t.TempDir(), Actor: event.Actor{Name: "ann"}})
	require.NoError(t, err)
	for _, route := range []string{"/files", "/file?path=a", "/complete", "/changes", "/change?path=a"} {
		require.Equal(t, 404, h.api("GET", "/api/sessions/"+recording.Session.ID()+route, nil).status, route)
	}
}

// git runs git as a person does, without a person's configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
}

func withGit(t *testing.T) *workspace.Files {
	t.Helper()
	return workspace.New(newGit(t), nil)
}

func newGit(t *testing.T) *gitstate.Git {
	t.Helper()
	g, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	return g
}

// changeOf is the text in the commit and the present one. "-" stands for a side that
// has no such file.
func changeOf(t *testing.T, h *hub, session, path string) (before, after, unknown string) {
	t.Helper()
	res := h.api("GET", "/api/sessions/"+session+"/change?path="+url.QueryEscape(path), nil)
	require.Equal(t, http.StatusOK, res.status, "%q: %s", path, res.body)
	var got wire.FileChange
	require.NoError(t, json.Unmarshal([]byte(res.body), &got))
	side := func(text *string) string {
		if text == nil {
			return "-"
		}
		return *text
	}
	return side(got.Before), side(got.After), got.Unknown
}

func TestTheChangeOfAFileIsItsCommittedAndItsPresentText(t *testing.T) {
	h := startHub(t, hubOptions{files: withGit(t)})
	s := h.session()
	root := s.Info().Workspace
	put := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	large := strings.Repeat("x", 2<<20)
	strange := "-a #?&% ü\n\"'*:(top)"
	git(t, root, "init", "-q", "-b", "main")
	put("beds/main.go", "one\n")
	expect := func(path, before, after, unknown string) {
		t.Helper()
		b, a, u := changeOf(t, h, s.ID(), path)
		require.Equal(t, []string{before, after, unknown}, []string{b, a, u}, "%q", path)
	}
	expect("beds/main.go", "-", "one\n", "") // no commit yet

	put("gone", "was\n")
	put("old", "same\n")
	put("became a folder", "file\n")
	put("became a file/below", "below\n")
	put("full", large)
	put("too full", large+"x")
	put("grew", "short")
	put("seeds.bin", "text\n")
	put(strange, "strange\n")
	put("empty", "")
	put("was a link", "")
	require.NoError(t, os.Remove(filepath.Join(root, "was a link")))
	require.NoError(t, os.Symlink("gone", filepath.Join(root, "was a link")))
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "first")
	expect("beds/main.go", "one\n", "one\n", "")
	put("beds/main.go", "one\ntwo\n")
	put("new", "new\n")
	put(strange, "stranger\n")
	put("seeds.bin", "a\x00b")
	put("latin", "\xe9")
	put("grew", large+"x")
	put("too full", "short")
	put("full", large)
	require.NoError(t, os.Remove(filepath.Join(root, "gone")))
	require.NoError(t, os.Rename(filepath.Join(root, "old"), filepath.Join(root, "renamed")))
	require.NoError(t, os.Remove(filepath.Join(root, "became a folder")))
	put("became a folder/below", "below\n")
	require.NoError(t, os.RemoveAll(filepath.Join(root, "became a file")))
	put("became a file", "file\n")
	require.NoError(t, os.Remove(filepath.Join(root, "was a link")))
	put("was a link", "text\n")
	require.NoError(t, os.Symlink("new", filepath.Join(root, "link")))

	expect("beds/main.go", "one\n", "one\ntwo\n", "")
	expect("new", "-", "new\n", "")
	expect("gone", "was\n", "-", "")
	expect("old", "same\n", "-", "")
	expect("renamed", "-", "same\n", "")
	expect(strange, "strange\n", "stranger\n", "")
	expect("empty", "", "", "")
	expect("became a folder", "file\n", "-", "")
	expect("became a folder/below", "-", "below\n", "")
	expect("became a file/below", "below\n", "-", "")
	expect("full", large, large, "")
	for path, unknown := range map[string]string{
		"too full": "it has more than 2 MiB", "grew": "it has more than 2 MiB",
		"seeds.bin": "it is binary", "latin": "it is binary",
		"link": "it is a link", "was a link": "it is a link",
	} {
		expect(path, "-", "-", unknown)
	}
	for _, path := range []string{"", ".", "beds", "never", "beds/main.go/below", "new/below"} {
		require.Equal(t, 404, h.api("GET", "/api/sessions/"+s.ID()+"/change?path="+url.QueryEscape(path), nil).status, "%q", path)
	}

	// A session below the repository's top has paths of its own.
	below, err := h.manager.Create(t.Context(), session.CreateRequest{Agent: s.Info().Agent, Workspace: filepath.Join(root, "beds"), Actor: event.Actor{Name: "ann"}})
	require.NoError(t, err)
	before, after, _ := changeOf(t, h, below.ID(), "main.go")
	require.Equal(t, []string{"one\n", "one\ntwo\n"}, []string{before, after})
	require.Equal(t, 404, h.api("GET", "/api/sessions/"+below.ID()+"/change?path="+url.QueryEscape("../gone"), nil).status)
}

func TestAHostileRepositoryTellsNoChangeOutsideAndRunsNothing(t *testing.T) {
	h := startHub(t, hubOptions{files: withGit(t)})
	s := h.session()
	root, one := s.Info().Workspace, "/api/sessions/"+s.ID()+"/change?path="
	at := func(name string) string { return filepath.Join(root, name) }
	put := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	outside, mark, trap := t.TempDir(), filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "trap")
	require.NoError(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o700))
	put(filepath.Join(outside, "main.go"), "secret")
	git(t, root, "init", "-q", "-b", "main")
	put(at("beds/main.go"), "one\n")
	put(at("paths/main.go"), "one\n")
	put(at("pipe"), "one\n")
	put(at("main.go"), "one\n")
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "first")

	put(at("main.go"), "two\n")
	require.NoError(t, os.RemoveAll(at("beds")))
	require.NoError(t, os.Symlink(outside, at("beds")))
	require.NoError(t, os.RemoveAll(at("paths")))
	require.NoError(t, os.Mkdir(at("others"), 0o700))
	require.NoError(t, os.Symlink("others", at("paths")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "main.go"), at("link")))
	require.NoError(t, os.Remove(at("pipe")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	put(at(".gitattributes"), "* diff=evil filter=evil text eol=lf\n")
	config, err := os.OpenFile(at(".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprintf(config, "[core]\n\tfsmonitor = %[1]s\n[diff]\n\texternal = %[1]s\n[diff \"evil\"]\n\tcommand = %[1]s\n\ttextconv = %[1]s\n"+
		"[filter \"evil\"]\n\tclean = %[1]s\n\tsmudge = %[1]s\n", trap)
	require.NoError(t, err)
	require.NoError(t, config.Close())

	before, after, _ := changeOf(t, h, s.ID(), "main.go")
	require.Equal(t, []string{"one\n", "two\n"}, []string{before, after})
	require.NoFileExists(t, mark, "a program of the repository ran")
	for _, path := range []string{"beds/main.go", "paths/main.go", "pipe", ".git/config", ".GIT/HEAD", ".git"} {
		require.Equal(t, 404, h.api("GET", one+url.QueryEscape(path), nil).status, "%q", path)
	}
	_, _, unknown := changeOf(t, h, s.ID(), "link")
	require.Equal(t, "it is a link", unknown)
	git(t, root, "status") // the trap is a real one
	require.FileExists(t, mark)
}

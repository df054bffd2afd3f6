package server_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
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
		for _, route := range []string{"/files", "/file"} {
			require.Equal(t, 404, h.api("GET", one+route+"?path="+url.QueryEscape(path), nil).status, "%s %q", route, path)
		}
		require.Equal(t, 404, h.api("GET", "/api/folders?path="+url.QueryEscape(path), nil).status)
	}
	viewer := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	for _, route := range []string{"/files", "/file?path=a", "/complete", "/changes"} {
		require.Equal(t, 403, h.do("GET", one+route, nil, viewer).status, route)
	}
	// A link that takes the folder's place leads nowhere.
	folder := s.Info().Workspace
	require.Equal(t, 200, h.api("GET", one+"/files", nil).status)
	require.NoError(t, os.Rename(folder, folder+"-aside"))
	require.NoError(t, os.Symlink(folder+"-aside", folder))
	for _, route := range []string{"/files", "/file?path=a", "/complete?q=a", "/changes"} {
		require.Equal(t, 404, h.api("GET", one+route, nil).status, route)
	}
	// A session that was recorded where no session may run shows no files.
	recording, err := h.manager.Record(t.Context(), session.CreateRequest{Agent: "other", Workspace: t.TempDir(), Actor: event.Actor{Name: "ann"}})
	require.NoError(t, err)
	for _, route := range []string{"/files", "/file?path=a", "/complete", "/changes"} {
		require.Equal(t, 404, h.api("GET", "/api/sessions/"+recording.Session.ID()+route, nil).status, route)
	}
}

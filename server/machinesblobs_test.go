package server_test

import (
	"archive/zip"
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session/event"
)

// noisyPicture is a picture of which there is a preview.
func noisyPicture(t *testing.T) []byte {
	t.Helper()
	noise := image.NewNRGBA(image.Rect(0, 0, 1000, 20))
	rand.NewChaCha8([32]byte{}).Read(noise.Pix)
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, noise))
	return data.Bytes()
}

// The files of a machine's session are read at home as there: a file that a person attached by
// those who may act, also while the machine is away, and none that was not opened before.
func TestABlobOfAMachineIsKeptOnFirstUseWithTheRightsOfTheMachine(t *testing.T) {
	home, machine := joined(t, "act")
	there := machine.session()
	picture := noisyPicture(t)
	file, err := there.Attach(t.Context(), event.Actor{ID: "t"}, "shot.png", "image/png", bytes.NewReader(picture))
	require.NoError(t, err)
	put := func(text string) event.Blob {
		blob, err := there.Log().PutBlobFrom(t.Context(), "text/plain", strings.NewReader(text))
		require.NoError(t, err)
		return blob
	}
	said, unread, byViewer := put("a long answer"), put("another answer"), put("what a viewer reads first")
	machine.promptWith(there, "p0", "queue", file)
	listed(t, home, "", 1)
	home.dial("/api/sessions/" + there.ID() + "/ws")
	copiedWhole(t, home, machine, there.ID())
	viewer := bearer(home.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: there.ID()}))
	helper := bearer(home.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: there.ID()}))
	get := func(sum string, as http.Header, query string) response {
		return home.do("GET", "/api/sessions/"+there.ID()+"/blobs/"+sum+query, nil, as)
	}
	kept := func(sum string) string { return filepath.Join(copyOf(home, machine, there.ID()), "blobs", sum) }

	require.NoFileExists(t, kept(file.SHA256))
	require.Equal(t, 403, get(file.SHA256, viewer, "").status)
	require.NoFileExists(t, kept(file.SHA256), "a viewer's refused request keeps nothing")
	require.Equal(t, string(picture), get(file.SHA256, helper, "").body)
	require.FileExists(t, kept(file.SHA256))
	require.Equal(t, 403, get(file.SHA256, viewer, "").status, "though it is kept")
	require.Equal(t, "a long answer", get(said.SHA256, helper, "").body)
	require.Equal(t, byViewer.Bytes, int64(len(get(byViewer.SHA256, viewer, "").body)))
	require.Equal(t, 404, get(strings.Repeat("0", 64), helper, "").status)
	small := get(file.SHA256, helper, "?preview=true")
	require.Less(t, len(small.body), len(picture)/2)
	export := home.do("GET", "/api/sessions/"+there.ID()+"/export?format=zip", nil, bearer(home.token))
	require.Equal(t, string(picture), zipped(t, export.body, "blobs/"+file.SHA256))

	machine.stop()
	machineIs(t, home, "away")
	require.Equal(t, string(picture), get(file.SHA256, helper, "").body)
	require.Equal(t, small.body, get(file.SHA256, helper, "?preview=true").body)
	part := helper.Clone()
	part.Set("Range", "bytes=10-19")
	require.Equal(t, string(picture[10:20]), get(file.SHA256, part, "").body)
	require.Equal(t, 403, get(file.SHA256, viewer, "").status)
	require.Equal(t, "a long answer", get(said.SHA256, viewer, "").body, "the machine gives it to viewers")
	require.Equal(t, "what a viewer reads first", get(byViewer.SHA256, helper, "").body)
	for _, as := range []http.Header{viewer, helper} {
		res := get(unread.SHA256, as, "")
		require.Equal(t, http.StatusServiceUnavailable, res.status)
		require.Contains(t, res.body, "the machine is away, and this hub has no copy of the file")
	}
	export = home.do("GET", "/api/sessions/"+there.ID()+"/export?format=zip", nil, bearer(home.token))
	require.Equal(t, string(picture), zipped(t, export.body, "blobs/"+file.SHA256), "of the copy")
	other := startHub(t, hubOptions{})
	_, _, err = other.manager.Import(context.Background(), strings.NewReader(export.body))
	require.NoError(t, err)
}

// A machine that lets home read only gives it no file, and so does the copy.
func TestAFileOfAMachineThatLetsHomeReadOnlyIsNotKept(t *testing.T) {
	home, machine := joined(t, "read")
	there := machine.session()
	file, err := there.Attach(t.Context(), event.Actor{ID: "t"}, "notes.txt", "text/plain", strings.NewReader("private notes"))
	require.NoError(t, err)
	machine.promptWith(there, "p0", "queue", file)
	listed(t, home, "", 1)
	home.dial("/api/sessions/" + there.ID() + "/ws")
	copiedWhole(t, home, machine, there.ID())
	res := home.do("GET", "/api/sessions/"+there.ID()+"/blobs/"+file.SHA256, nil, bearer(home.token))
	require.Equal(t, 403, res.status, res.body)
	require.NoDirExists(t, filepath.Join(copyOf(home, machine, there.ID()), "blobs"))
}

// zipped is a file in an archive.
func zipped(t *testing.T, archive, name string) string {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	f, err := z.Open(name)
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(data)
}

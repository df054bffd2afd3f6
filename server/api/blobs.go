package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/preview"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// blobRows are the routes of this file.
func blobRows() section {
	return section{
		title: "Blobs",
		rows: []route{
			{
				"GET", one + "/blobs/{sha256}", auth.Credential, auth.Read, false, blobRoute,
				doc{
					summary: "A value that was too large for the log.", status: 200, stream: "application/octet-stream",
					query: []param{{"preview", "of a large picture, one of at most 480 pixels a side", false}},
				},
			},
			{
				"POST", one + "/blobs/{sha256}/address", auth.Credential, auth.Read, false, blobAddressRoute,
				doc{summary: "An address of a blob that a browser may fetch with the device's cookie and no page token, for images and downloads. It is good for ten minutes.", out: wire.SignedAddress{}, status: 200},
			},
		},
	}
}

// blobRoute returns a value that was too large for the log. Its bytes came from an
// agent: a browser may show them only as text or as a plain image.
func blobRoute(s *API, c *call) error {
	sum, err := c.blobHash()
	if err != nil {
		return err
	}
	own, err := c.readable()
	if err != nil {
		return err
	}
	if !c.grant.May(auth.Act, own.ID()) && own.Attached(sum) {
		return Forbidden() // a viewer may read messages, not files
	}
	blob, err := own.OpenBlob(sum)
	if errors.Is(err, state.ErrNotFound) {
		return &Problem{Code: wire.CodeNotFound, Message: "the session has no blob " + sum +
			"; if one of its events names it, `abide check " + own.ID() + "` says so: put the file back from a backup"}
	}
	if err != nil {
		return err
	}
	return s.serveBlob(c, sum, blob)
}

// serveBlob answers with a blob, and closes it.
func (s *API) serveBlob(c *call, sum string, blob io.ReadSeekCloser) error {
	defer blob.Close()
	kind, inline, err := sniff(blob)
	if err != nil {
		return fmt.Errorf("reading blob %s: %w", sum, err)
	}
	var content io.ReadSeeker = blob
	tag := sum
	if c.r.URL.Query().Get("preview") == "true" && strings.HasPrefix(kind, "image/") {
		small, smallKind, err := s.previews.of(c.r.Context(), blob)
		if err == nil {
			content, kind, tag = bytes.NewReader(small), smallKind, sum+"-preview"
		} else if !errors.Is(err, preview.ErrNone) {
			return fmt.Errorf("making a preview of blob %s: %w", sum, err)
		}
	}
	h := c.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	// The bytes of an address never change, but a revoked device must not cache
	// them for long.
	h.Set("Cache-Control", "private, max-age=3600")
	h.Set("ETag", `"`+tag+`"`)
	if !inline {
		h.Set("Content-Disposition", `attachment; filename="`+sum[:16]+`"`)
	}
	c.boundAnswer()
	// A large damaged blob fails before its last bytes: the response is shorter
	// than its Content-Length, and the client sees a failed download.
	http.ServeContent(c.w, c.r, "", time.Time{}, content)
	return nil
}

func (c *call) blobHash() (string, error) {
	sum, err := c.param("sha256")
	if err == nil && !sha256Hex.MatchString(sum) {
		err = Invalid("that is not the hash of a blob")
	}
	return sum, err
}

// blobAddressRoute signs the address of a blob, because images and downloads cannot
// send a page token. It does not check that the blob exists.
func blobAddressRoute(s *API, c *call) error {
	sum, err := c.blobHash()
	if err != nil {
		return err
	}
	path := "/api/sessions/" + mux.Vars(c.r)["id"] + "/blobs/" + sum
	address, until := s.door.SignAddress(c.r, c.grant, path)
	return c.reply(http.StatusOK, wire.SignedAddress{Address: address, ExpiresAt: until})
}

// sniff returns the media type of the bytes, and whether a browser may show them
// inline. A type that can contain a script, such as SVG or HTML, is a download.
func sniff(r io.ReadSeeker) (kind string, inline bool, err error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", false, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", false, err
	}
	switch kind := http.DetectContentType(head[:n]); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind, true, nil
	case "text/plain; charset=utf-8":
		// The detection does not know SVG, so bytes that begin like markup are a
		// download.
		return kind, !bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))), []byte("<")), nil
	}
	return "application/octet-stream", false, nil
}

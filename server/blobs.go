package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// blobRoute answers with a value that was too large for the log. Its bytes came
// from an agent: a browser may show them only as text or as a plain image.
func blobRoute(s *Server, c *call) error {
	sum, err := c.param("sha256")
	if err != nil {
		return err
	}
	if !sha256Hex.MatchString(sum) {
		return invalid("that is not the hash of a blob")
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	blob, err := own.OpenBlob(sum)
	if errors.Is(err, session.ErrNotFound) {
		return &problem{code: wire.CodeNotFound, message: "the session has no blob " + sum +
			"; if one of its events names it, `abide check " + own.ID() + "` says so: put the file back from a backup"}
	}
	if err != nil {
		return err
	}
	defer blob.Close()
	kind, inline, err := sniff(blob)
	if err != nil {
		return fmt.Errorf("reading blob %s: %w", sum, err)
	}
	h := c.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	// The name says what the bytes are, so they never change.
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("ETag", `"`+sum+`"`)
	if !inline {
		h.Set("Content-Disposition", `attachment; filename="`+sum[:16]+`"`)
	}
	c.boundAnswer()
	// A large blob that turns out damaged fails before its last bytes: the answer
	// is shorter than it said, and the client sees a download that failed.
	http.ServeContent(c.w, c.r, "", time.Time{}, blob)
	return nil
}

// sniff says what the bytes are, and whether a browser may show them in place.
// What could hold a script, SVG and HTML first of all, is a download.
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
		// The detection does not know SVG; whatever begins as markup is none.
		return kind, !bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))), []byte("<")), nil
	}
	return "application/octet-stream", false, nil
}

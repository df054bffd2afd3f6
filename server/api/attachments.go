package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// uploadBound limits the time of an upload.
	uploadBound = 5 * time.Minute
	// maxFileName limits the client's file name, in bytes.
	maxFileName = 1024
)

// attachmentRows are the routes of this file.
func attachmentRows() section {
	return section{
		title: "Attachments",
		about: []string{
			"At most 20 to a prompt. The bytes are on disk before the answer. Of an attachment in a prompt its `sha256` counts, and name and type if the same bytes were uploaded under several: the agent and the log get the uploaded file's own facts. `GET …/blobs/{sha256}` downloads.",
		},
		rows: []route{
			{
				"POST", one + "/attachments", auth.Credential, auth.Act, false, attachRoute,
				doc{
					raw:     true,
					summary: "Store the body as a file that prompts of this session may name: at most 25 MiB, its media type as Content-Type. The name in the answer is the server's.",
					out:     event.Attachment{}, status: 201,
					query: []param{{"name", "the file's own name", ""}},
				},
			},
		},
	}
}

// attachRoute stores the request's body as a file for prompts of this session. The
// file is on the device before the response.
func attachRoute(s *API, c *call) error {
	name := c.r.URL.Query().Get("name")
	if len(name) > maxFileName || !utf8.ValidString(name) {
		return Invalid("the file's name is not text of at most %d bytes", maxFileName)
	}
	kind, err := mediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	attachment, err := c.upload(own, name, kind, s.manager.Settings().Limits.AttachmentBytes)
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, attachment)
}

// upload stores a body of at most limit bytes as it arrives. It keeps nothing of a
// larger one.
func (c *call) upload(to *session.BackgroundSession, name, kind string, limit int) (event.Attachment, error) {
	control := http.NewResponseController(c.w)
	if err := control.SetReadDeadline(time.Now().Add(uploadBound)); err != nil {
		return event.Attachment{}, fmt.Errorf("reading the attachment: %w", err)
	}
	if c.r.ContentLength > int64(limit) {
		c.skip(limit)
		return event.Attachment{}, fmt.Errorf("%w: the attachment has %d bytes, at most %d are accepted", state.ErrTooLarge, c.r.ContentLength, limit)
	}
	attachment, err := to.Attach(c.r.Context(), c.grant.By(), name, kind, c.r.Body)
	if errors.Is(err, state.ErrTooLarge) {
		c.skip(limit)
	}
	if err != nil {
		return event.Attachment{}, err
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return event.Attachment{}, fmt.Errorf("reading the attachment: %w", err)
	}
	return attachment, nil
}

// skip reads the rest of a refused body, up to twice the limit. Otherwise a client
// that is still writing when the connection closes would see a reset instead of the
// response.
func (c *call) skip(limit int) {
	_, _ = io.CopyN(io.Discard, c.r.Body, 2*int64(limit)) // the response is a refusal in any case
}

// mediaType is the client's Content-Type without parameters. Only the agent gets
// it: downloads are sniffed.
func mediaType(header string) (string, error) {
	if header == "" {
		return "application/octet-stream", nil
	}
	kind, _, err := mime.ParseMediaType(header)
	switch {
	case err != nil || len(kind) > 100:
		return "", Invalid("the Content-Type is not a media type")
	case kind == "multipart/form-data" || kind == "application/x-www-form-urlencoded":
		return "", Invalid("send the file's bytes as the body, with its media type as Content-Type; forms are not read")
	}
	return kind, nil
}

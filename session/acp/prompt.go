package acp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// attachmentLimit is how much of one attachment is embedded in a prompt. Larger
// files are linked by their path.
const attachmentLimit = 16 << 20

// promptBlocks returns the prompt in the protocol's form. Attachments have the form
// that the agent supports, while there is space: together they fill at most half of
// the write queue, so that a cancel or an answer fits after the prompt. The others
// are linked.
func (a *Agent) promptBlocks(p event.UserPrompt, account string) ([]sdk.ContentBlock, error) {
	var blocks []sdk.ContentBlock
	if account != "" {
		blocks = append(blocks, sdk.TextBlock(account))
	}
	blocks = append(blocks, sdk.TextBlock(string(p.Text)))
	a.mu.Lock()
	offers := a.offers
	a.mu.Unlock()
	room := a.cfg.Limits.StdinBytes / 2
	for _, attached := range p.Attachments {
		block, size, err := a.attachment(attached, offers, room)
		if err != nil {
			return nil, fmt.Errorf("attach %s: %w", attached.Name, err)
		}
		blocks = append(blocks, block)
		room -= size
	}
	return blocks, nil
}

// sentText is the text of a prompt's blocks, spaced.
func sentText(blocks []sdk.ContentBlock) string {
	var texts []string
	for _, b := range blocks {
		if b.Text != nil {
			texts = append(texts, b.Text.Text)
		}
	}
	return spaced(strings.Join(texts, "\n"))
}

// attachment is one file for the agent, and the space that its block takes.
func (a *Agent) attachment(att event.Attachment, o offers, room int) (block sdk.ContentBlock, size int, err error) {
	if a.cfg.OpenBlob == nil {
		return block, 0, fmt.Errorf("no attachments here")
	}
	blob, err := a.cfg.OpenBlob(att.SHA256)
	if err != nil {
		return block, 0, err
	}
	defer blob.Close()
	var head [512]byte
	n, err := io.ReadFull(blob, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return block, 0, fmt.Errorf("read: %w", err)
	}
	picture := pictureType(head[:n])
	att.MediaType = toldType(att.MediaType, head[:n])
	if o.takes(att.MediaType, picture) && att.Bytes <= int64(min(attachmentLimit, room)) {
		data, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), blob), attachmentLimit+1))
		if err != nil {
			return block, 0, fmt.Errorf("read: %w", err)
		}
		if block, size = o.embed(att, picture, data); len(data) <= attachmentLimit && size <= room {
			return block, size, nil
		}
	}
	named, ok := blob.(interface{ Name() string })
	if !ok {
		return block, 0, fmt.Errorf("the agent does not take this %s, and there is no file to link", att.MediaType)
	}
	link := sdk.ResourceLinkBlock(att.Name, (&url.URL{Scheme: "file", Path: filepath.ToSlash(named.Name())}).String())
	link.ResourceLink.MimeType = &att.MediaType
	return link, 0, nil
}

// pictureType returns the media type of a picture that models read, told by its
// first bytes; empty for any other file. A name or a type that a client gives may be
// wrong: a model's service refuses a request with such a picture, and the whole talk
// with it from then on.
func pictureType(head []byte) string {
	switch kind := http.DetectContentType(head); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

// toldType is the media type of a file: that of its bytes where these are a picture that
// models read, or where a client says that of other bytes.
func toldType(claimed string, head []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch claimed, _, _ := strings.Cut(strings.ToLower(claimed), ";"); strings.TrimSpace(claimed) {
	case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp":
		return kind
	}
	if pictureType(head) != "" {
		return kind
	}
	return claimed
}

// takes reports whether the agent takes a file in a prompt. picture is the type that
// the file's bytes have.
func (o offers) takes(mediaType, picture string) bool {
	return o.embedded || o.image && picture != "" || o.audio && strings.HasPrefix(mediaType, "audio/")
}

// embed puts a file's content into a block, and returns the maximum number of bytes
// in the line.
func (o offers) embed(att event.Attachment, picture string, data []byte) (block sdk.ContentBlock, size int) {
	image := picture != "" && o.image
	audio := strings.HasPrefix(att.MediaType, "audio/") && o.audio
	if !image && !audio && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return textResource(att, string(data)), quotedLen(data)
	}
	base := base64.StdEncoding.EncodeToString(data)
	switch {
	case image:
		block = sdk.ImageBlock(base, picture)
	case audio:
		block = sdk.AudioBlock(base, att.MediaType)
	default:
		block = sdk.ResourceBlock(sdk.EmbeddedResourceResource{BlobResourceContents: &sdk.BlobResourceContents{
			MimeType: &att.MediaType, Blob: base, Uri: attachmentURI(att),
		}})
	}
	return block, len(base)
}

func textResource(att event.Attachment, text string) sdk.ContentBlock {
	return sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{
		MimeType: &att.MediaType, Text: text, Uri: attachmentURI(att),
	}})
}

func attachmentURI(att event.Attachment) string {
	return (&url.URL{Scheme: "attachment", Opaque: url.PathEscape(att.Name)}).String()
}

// quotedLen is the maximum length of text as a JSON string: one byte may become
// six.
func quotedLen(text []byte) int {
	n := 2
	for _, c := range text {
		switch {
		case c < ' ', c == '<', c == '>', c == '&':
			n += len(`\u0000`)
		case c == '"', c == '\\':
			n += 2
		case c == 0xe2: // may begin U+2028, which is escaped too
			n += 4
		default:
			n++
		}
	}
	return n
}

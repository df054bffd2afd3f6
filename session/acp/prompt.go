package acp

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// attachmentLimit is how much of one attachment goes into a prompt. What is
// larger is pointed at.
const attachmentLimit = 16 << 20

// promptBlocks is the prompt as the protocol spells it. Attachments go in the
// form the agent said it takes.
func (a *Agent) promptBlocks(p event.UserPrompt, account string) ([]sdk.ContentBlock, error) {
	var blocks []sdk.ContentBlock
	if account != "" {
		blocks = append(blocks, sdk.TextBlock(account))
	}
	blocks = append(blocks, sdk.TextBlock(string(p.Text)))
	a.mu.Lock()
	offers := a.offers
	a.mu.Unlock()
	for _, attached := range p.Attachments {
		block, err := a.attachment(attached, offers)
		if err != nil {
			return nil, fmt.Errorf("attach %s: %w", attached.Name, err)
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

func (a *Agent) attachment(att event.Attachment, o offers) (sdk.ContentBlock, error) {
	if a.cfg.OpenBlob == nil {
		return sdk.ContentBlock{}, fmt.Errorf("no attachments here")
	}
	blob, err := a.cfg.OpenBlob(att.SHA256)
	if err != nil {
		return sdk.ContentBlock{}, err
	}
	defer blob.Close()
	image := strings.HasPrefix(att.MediaType, "image/") && o.image
	audio := strings.HasPrefix(att.MediaType, "audio/") && o.audio
	if (image || audio || o.embedded) && att.Bytes <= attachmentLimit {
		data, err := io.ReadAll(io.LimitReader(blob, attachmentLimit+1))
		if err != nil {
			return sdk.ContentBlock{}, fmt.Errorf("read: %w", err)
		}
		switch {
		case len(data) > attachmentLimit:
		case image:
			return sdk.ImageBlock(base64.StdEncoding.EncodeToString(data), att.MediaType), nil
		case audio:
			return sdk.AudioBlock(base64.StdEncoding.EncodeToString(data), att.MediaType), nil
		default:
			return embedded(att, data), nil
		}
	}
	named, ok := blob.(interface{ Name() string })
	if !ok {
		return sdk.ContentBlock{}, fmt.Errorf("the agent takes no %s, and there is no file to point at", att.MediaType)
	}
	link := sdk.ResourceLinkBlock(att.Name, (&url.URL{Scheme: "file", Path: filepath.ToSlash(named.Name())}).String())
	link.ResourceLink.MimeType = &att.MediaType
	return link, nil
}

// embedded puts a file's content into the prompt: text as it is, else base64.
func embedded(att event.Attachment, data []byte) sdk.ContentBlock {
	uri := (&url.URL{Scheme: "attachment", Opaque: url.PathEscape(att.Name)}).String()
	if utf8.Valid(data) && !strings.ContainsRune(string(data), 0) {
		return sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{
			MimeType: &att.MediaType, Text: string(data), Uri: uri,
		}})
	}
	return sdk.ResourceBlock(sdk.EmbeddedResourceResource{BlobResourceContents: &sdk.BlobResourceContents{
		MimeType: &att.MediaType, Blob: base64.StdEncoding.EncodeToString(data), Uri: uri,
	}})
}

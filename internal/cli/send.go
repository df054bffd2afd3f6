package cli

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/session/event"
)

// maxPrompt bounds a prompt read from stdin.
const maxPrompt = 1 << 20

// upload stores files for a prompt.
func upload(ctx context.Context, hub *client.Hub, session string, files []string) ([]event.Attachment, error) {
	var list []event.Attachment
	for _, path := range files {
		kept, err := uploadOne(ctx, hub, session, path)
		if err != nil {
			return nil, err
		}
		list = append(list, kept)
	}
	return list, nil
}

func uploadOne(ctx context.Context, hub *client.Hub, session, path string) (event.Attachment, error) {
	f, err := open(path)
	if err != nil {
		return event.Attachment{}, err
	}
	defer f.Close()
	kind := mime.TypeByExtension(filepath.Ext(path))
	if kind == "" {
		kind = "application/octet-stream"
	}
	kept, err := hub.Attach(ctx, session, filepath.Base(path), kind, f)
	if err != nil {
		return event.Attachment{}, fmt.Errorf("attaching %s: %w", path, err)
	}
	return kept, nil
}

func open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, withCode(ExitNotFound, "there is no file %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %s", path, causeOf(errors.Unwrap(err)))
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, Usagef("%s is not a file", path)
	}
	return f, nil
}

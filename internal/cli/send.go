package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/session/event"
)

const (
	// attempts and attemptPause bound how often a request is sent again after its
	// answer was lost, as when the hub is being started again.
	attempts     = 20
	attemptPause = 500 * time.Millisecond
	// maxPrompt bounds a prompt read from stdin.
	maxPrompt = 1 << 20
)

// again sends something until an answer comes. A request carries a key of its own,
// so that sending it twice does it once.
func again[T any](ctx context.Context, send func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		answer, err := send()
		lost := (*url.Error)(nil)
		if !errors.As(err, &lost) || try == attempts {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(attemptPause):
		}
	}
}

func newKey() string {
	key := make([]byte, 16)
	rand.Read(key)
	return hex.EncodeToString(key)
}

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

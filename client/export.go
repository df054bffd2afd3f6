package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/abidehub/abide/server/wire"
)

// Export is the form that a session is written in. The zero value is all of its
// events. From and To are seqs or times.
type Export struct {
	Format   string
	From, To string
	Redact   []string
}

// Export writes a session as a file to w.
func (h *Hub) Export(ctx context.Context, id string, e Export, w io.Writer) error {
	q := url.Values{}
	for name, value := range map[string]string{"format": e.Format, "from": e.From, "to": e.To, "redact": strings.Join(e.Redact, ",")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	place, err := h.locate(ctx)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(place.Base, "/")+session(id)+"/export?"+q.Encode(), nil)
	if err != nil {
		return fmt.Errorf("ask for an export: %w", err)
	}
	req.Header = place.header()
	res, err := h.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask for an export: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return errors.Join(refusal(res.StatusCode, data), err)
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("the export was interrupted: %w", err)
	}
	return nil
}

// Import brings back an export.
func (h *Hub) Import(ctx context.Context, file io.Reader) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.request(ctx, http.MethodPost, "/api/import", http.Header{"Content-Type": {"application/octet-stream"}}, file, &info)
	return info, err
}

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// maxAnswer bounds the body of an HTTP answer that is read into memory. A page
// of 500 events of the largest size is far below it.
const maxAnswer = 256 << 20

// Place is where a hub listens, such as "http://127.0.0.1:22433", and the token
// it is spoken to with. An empty token sends none.
type Place struct {
	Base, Token string
}

func (p Place) header() http.Header {
	header := http.Header{}
	if p.Token != "" {
		header.Set("Authorization", "Bearer "+p.Token)
	}
	return header
}

func (p Place) url() (*url.URL, error) {
	u, err := url.Parse(p.Base)
	if err != nil {
		return nil, fmt.Errorf("parse hub address: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("hub address %q is not http://HOST:PORT", p.Base)
	}
	return u, nil
}

// Hub is a hub to speak to. It is safe for concurrent use.
type Hub struct {
	// locate is asked for each request and each connection.
	locate func(context.Context) (Place, error)
	// renews says that a credential which ended is followed by another.
	renews bool
	http   *http.Client
}

// New returns the hub at base. It does not connect. The token is one made by `abide
// token`.
func New(base, token string) (*Hub, error) {
	place := Place{Base: base, Token: token}
	if _, err := place.url(); err != nil {
		return nil, err
	}
	h := Locate(func(context.Context) (Place, error) { return place, nil })
	h.renews = false
	return h, nil
}

// Locate returns a hub whose address is looked up for each request and each
// connection: after a restart it may listen elsewhere, and its token may be
// another. It does not connect.
func Locate(locate func(context.Context) (Place, error)) *Hub {
	// A transport of its own: closing its idle connections disturbs no other
	// client.
	return &Hub{locate: locate, renews: true, http: &http.Client{Transport: &http.Transport{}}}
}

// Close drops the connections kept for HTTP requests. Sockets are not touched.
func (h *Hub) Close() { h.http.CloseIdleConnections() }

// Health asks whether the hub is there and takes the token. A *RefusedError
// says it is there and does not.
func (h *Hub) Health(ctx context.Context) (wire.Health, error) {
	var answer wire.Health
	err := h.do(ctx, http.MethodGet, "/api/health", nil, &answer)
	return answer, err
}

// Create makes a session. The key is the caller's own name for the request, and the
// id of its prompt: the same key again makes nothing new and prompts nothing twice,
// so after a lost answer the call is simply repeated. An empty key is another
// request each time. A *RefusedError with code conflict says that the key made a
// session of something else.
func (h *Hub) Create(ctx context.Context, n wire.NewSession, key string) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.send(ctx, http.MethodPost, "/api/sessions", keyed(key), n, &info)
	return info, err
}

// Fork makes a session that continues from an event of another one. The key is as in
// Create.
func (h *Hub) Fork(ctx context.Context, id string, n wire.NewFork, key string) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.send(ctx, http.MethodPost, "/api/sessions/"+url.PathEscape(id)+"/fork", keyed(key), n, &info)
	return info, err
}

// keyed is the header that makes a repeated request harmless.
func keyed(key string) http.Header {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return header
}

// Session asks for one session's line of the list.
func (h *Hub) Session(ctx context.Context, id string) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.do(ctx, http.MethodGet, "/api/sessions/"+url.PathEscape(id), nil, &info)
	return info, err
}

// Sessions asks for up to limit sessions, newest first, after cursor. A limit
// of 0 takes the hub's page.
func (h *Hub) Sessions(ctx context.Context, limit int, cursor string) (wire.SessionPage, error) {
	return h.List(ctx, ListQuery{Limit: limit, Cursor: cursor})
}

// Overview asks for the session at a glance.
func (h *Hub) Overview(ctx context.Context, id string) (wire.Overview, error) {
	var o wire.Overview
	err := h.do(ctx, http.MethodGet, session(id)+"/overview", nil, &o)
	return o, err
}

// Branch asks where the session's branch stands.
func (h *Hub) Branch(ctx context.Context, id string) (wire.Branch, error) {
	var branch wire.Branch
	err := h.do(ctx, http.MethodGet, "/api/sessions/"+url.PathEscape(id)+"/branch", nil, &branch)
	return branch, err
}

// Worktrees asks for the working copies.
func (h *Hub) Worktrees(ctx context.Context) (wire.Worktrees, error) {
	var all wire.Worktrees
	err := h.do(ctx, http.MethodGet, "/api/worktrees", nil, &all)
	return all, err
}

// PruneWorktrees removes the working copies that are safe to remove.
func (h *Hub) PruneWorktrees(ctx context.Context) (wire.Worktrees, error) {
	var all wire.Worktrees
	err := h.do(ctx, http.MethodPost, "/api/worktrees/prune", nil, &all)
	return all, err
}

// RemoveWorktree removes a working copy. A *RefusedError says what is to be confirmed.
func (h *Hub) RemoveWorktree(ctx context.Context, r wire.RemoveWorktree) error {
	return h.do(ctx, http.MethodPost, "/api/worktrees/remove", r, nil)
}

// Delete puts a session into the trash, or removes it and all it holds where the hub has none.
func (h *Hub) Delete(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodDelete, "/api/sessions/"+url.PathEscape(id), nil, nil)
}

// DeleteForever removes a session and all it holds.
func (h *Hub) DeleteForever(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodDelete, "/api/sessions/"+url.PathEscape(id)+"?forever=true", nil, nil)
}

// Trash lists the deleted sessions that can be restored, the last deleted first.
func (h *Hub) Trash(ctx context.Context) (t wire.Trash, err error) {
	err = h.do(ctx, http.MethodGet, "/api/trash", nil, &t)
	return t, err
}

// Storage says what all sessions take, here or on the machine of an id or a name.
func (h *Hub) Storage(ctx context.Context, machine string) (s wire.StorageReport, err error) {
	path := "/api/storage"
	if machine != "" {
		path += "?machine=" + url.QueryEscape(machine)
	}
	err = h.do(ctx, http.MethodGet, path, nil, &s)
	return s, err
}

// CleanStorage puts old sessions into the trash, or lists them with in.DryRun.
func (h *Hub) CleanStorage(ctx context.Context, in wire.CleanStorage) (c wire.CleanedStorage, err error) {
	err = h.do(ctx, http.MethodPost, "/api/storage/clean", in, &c)
	return c, err
}

// Restore brings a deleted session back, as it was.
func (h *Hub) Restore(ctx context.Context, id string) (s wire.SessionInfo, err error) {
	err = h.do(ctx, http.MethodPost, "/api/trash/"+url.PathEscape(id)+"/restore", nil, &s)
	return s, err
}

// Purge removes a deleted session from the trash, for good.
func (h *Hub) Purge(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodDelete, "/api/trash/"+url.PathEscape(id), nil, nil)
}

// EventsAfter asks for a page of at most limit events after seq, oldest first.
func (h *Hub) EventsAfter(ctx context.Context, id string, after event.Seq, limit int) (wire.EventsLoaded, error) {
	return h.events(ctx, id, after, limit, "")
}

// JoinedAfter is EventsAfter with runs of chunks of one message joined. The limit is
// of the events before that.
func (h *Hub) JoinedAfter(ctx context.Context, id string, after event.Seq, limit int) (wire.EventsLoaded, error) {
	return h.events(ctx, id, after, limit, "&merge=true")
}

// JoinedBefore asks for the newest events before a seq, or of all where that is 0, as
// JoinedAfter does.
func (h *Hub) JoinedBefore(ctx context.Context, id string, before event.Seq, limit int) (wire.EventsLoaded, error) {
	place := ""
	if before > 0 {
		place = fmt.Sprintf("before_seq=%d&", before)
	}
	return h.page(ctx, id, fmt.Sprintf("%slimit=%d&merge=true", place, limit))
}

func (h *Hub) events(ctx context.Context, id string, after event.Seq, limit int, more string) (wire.EventsLoaded, error) {
	return h.page(ctx, id, fmt.Sprintf("after_seq=%d&limit=%d%s", after, limit, more))
}

func (h *Hub) page(ctx context.Context, id, query string) (wire.EventsLoaded, error) {
	var page wire.EventsLoaded
	path := fmt.Sprintf("/api/sessions/%s/events?%s", url.PathEscape(id), query)
	err := h.do(ctx, http.MethodGet, path, nil, &page)
	return page, err
}

// do makes one request. A body that is not nil is sent as JSON; answer, unless
// nil, is filled from the answer's JSON. Refusals are *RefusedError.
func (h *Hub) do(ctx context.Context, method, path string, body, answer any) error {
	return h.send(ctx, method, path, http.Header{}, body, answer)
}

// send is do with headers of the request's own, which it may change.
func (h *Hub) send(ctx context.Context, method, path string, header http.Header, body, answer any) error {
	if body == nil {
		return h.request(ctx, method, path, header, nil, answer)
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // a recording keeps the bytes of its agent
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("encode request for %s: %w", path, err)
	}
	header.Set("Content-Type", "application/json")
	return h.request(ctx, method, path, header, bytes.NewReader(encoded.Bytes()), answer)
}

func (h *Hub) request(ctx context.Context, method, path string, header http.Header, content io.Reader, answer any) error {
	place, err := h.locate(ctx)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(place.Base, "/")+path, content)
	if err != nil {
		return fmt.Errorf("make request for %s: %w", path, err)
	}
	req.Header = header
	maps.Copy(req.Header, place.header())
	res, err := h.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the hub: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	if res.StatusCode >= 300 {
		return refusal(res.StatusCode, data)
	}
	if answer == nil {
		return nil
	}
	if text, whole := answer.(*[]byte); whole {
		*text = data
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}

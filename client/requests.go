package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// ListQuery chooses sessions. The zero value is the hub's first page of those
// that are not archived.
type ListQuery struct {
	// Status keeps one status; "archived" and "all" are possible, too.
	Status string
	// Lifecycle keeps those that are so far; empty keeps all.
	Lifecycle string
	// Resumable keeps those that wait to be resumed.
	Resumable bool
	// Said keeps those in which something was said.
	Said bool
	// Project keeps the sessions with this project root or workspace.
	Project string
	// Tags keeps the sessions that have all of them.
	Tags []string
	// Text keeps the sessions with all its words in their line.
	Text string
	// Machine keeps the sessions of the machine with this id, or here for the hub's own.
	Machine string
	// Sort is the order: updated, created or name; empty is updated.
	Sort string
	// Limit is the size of the page, 200 at most; 0 takes the hub's.
	Limit int
	// Cursor is the NextCursor of the page before.
	Cursor string
}

// List asks for one page of sessions.
func (h *Hub) List(ctx context.Context, q ListQuery) (wire.SessionPage, error) {
	query := url.Values{}
	for name, value := range map[string]string{"status": q.Status, "lifecycle": q.Lifecycle, "project": q.Project, "q": q.Text, "machine": q.Machine, "sort": q.Sort, "cursor": q.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for _, tag := range q.Tags {
		query.Add("tag", tag)
	}
	if q.Resumable {
		query.Set("resumable", "true")
	}
	if q.Said {
		query.Set("said", "true")
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page wire.SessionPage
	err := h.do(ctx, http.MethodGet, "/api/sessions?"+query.Encode(), nil, &page)
	return page, err
}

// FollowList rings for each line of the session list that changed, and once at first,
// until the connection or ctx ends. A *RefusedError says that the hub did not let it in.
func (h *Hub) FollowList(ctx context.Context, ring func()) error {
	socket, err := h.Dial(ctx)
	if err != nil {
		return err
	}
	ring()
	return socket.Run(ctx, func(m wire.Message) error {
		switch m.(type) {
		case *wire.Session, *wire.SessionGone:
			ring()
		}
		return nil
	})
}

// Update changes a session's labels.
func (h *Hub) Update(ctx context.Context, id string, p wire.SessionPatch) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.do(ctx, http.MethodPatch, session(id), p, &info)
	return info, err
}

// Agents lists the configured agents.
func (h *Hub) Agents(ctx context.Context) (wire.Agents, error) {
	var answer wire.Agents
	err := h.do(ctx, http.MethodGet, "/api/agents", nil, &answer)
	return answer, err
}

// AgentSetup lists the agents that there are, and those that could be added.
func (h *Hub) AgentSetup(ctx context.Context) (wire.AgentSetup, error) {
	var answer wire.AgentSetup
	err := h.do(ctx, http.MethodGet, "/api/agents/setup", nil, &answer)
	return answer, err
}

// PastSessions lists a page of the sessions that an agent stores.
func (h *Hub) PastSessions(ctx context.Context, agent, folder, cursor string) (wire.PastSessions, error) {
	query := url.Values{}
	if folder != "" {
		query.Set("folder", folder)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	var answer wire.PastSessions
	err := h.do(ctx, http.MethodGet, "/api/agents/"+url.PathEscape(agent)+"/sessions?"+query.Encode(), nil, &answer)
	return answer, err
}

// Adopt continues a session that an agent stores.
func (h *Hub) Adopt(ctx context.Context, agent string, in wire.Adopt) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.do(ctx, http.MethodPost, "/api/agents/"+url.PathEscape(agent)+"/adopt", in, &info)
	return info, err
}

// Rules lists the rules that answer in a session.
func (h *Hub) Rules(ctx context.Context, id string) ([]wire.Rule, error) {
	var answer wire.Rules
	err := h.do(ctx, http.MethodGet, session(id)+"/rules", nil, &answer)
	return answer.Rules, err
}

// Devices lists the devices and tokens.
func (h *Hub) Devices(ctx context.Context) ([]wire.Device, error) {
	var answer wire.Devices
	err := h.do(ctx, http.MethodGet, "/api/devices", nil, &answer)
	return answer.Devices, err
}

// Revoke ends a device or a token.
func (h *Hub) Revoke(ctx context.Context, device string) error {
	return h.do(ctx, http.MethodDelete, "/api/devices/"+url.PathEscape(device), nil, nil)
}

// SearchQuery is what a search is restricted to; empty fields restrict nothing.
type SearchQuery struct {
	Session, Project, Agent, Lifecycle, Kind, By string
	// From and To are the first and the last day, as YYYY-MM-DD.
	From, To string
}

// Search looks for a text in sessions, from a cursor on.
func (h *Hub) Search(ctx context.Context, text string, q SearchQuery, limit int, cursor string) (wire.FoundPage, error) {
	query := url.Values{"q": {text}, "limit": {strconv.Itoa(limit)}}
	for name, value := range map[string]string{
		"cursor": cursor, "session": q.Session, "project": q.Project, "agent": q.Agent, "lifecycle": q.Lifecycle, "kind": q.Kind, "by": q.By, "from": q.From, "to": q.To,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var found wire.FoundPage
	err := h.do(ctx, http.MethodGet, "/api/search?"+query.Encode(), nil, &found)
	return found, err
}

// Ask hands a prompt to a session. The same PromptID again changes nothing.
func (h *Hub) Ask(ctx context.Context, id string, p wire.NewPrompt) (wire.PromptAnswer, error) {
	var answer wire.PromptAnswer
	err := h.do(ctx, http.MethodPost, session(id)+"/prompt", p, &answer)
	return answer, err
}

// Attach uploads a file that prompts of the session may name.
func (h *Hub) Attach(ctx context.Context, id, name, mediaType string, body io.Reader) (event.Attachment, error) {
	var kept event.Attachment
	header := http.Header{"Content-Type": {mediaType}}
	path := session(id) + "/attachments?" + url.Values{"name": {name}}.Encode()
	err := h.request(ctx, http.MethodPost, path, header, body, &kept)
	return kept, err
}

// Settle answers a permission request by one of its options.
func (h *Hub) Settle(ctx context.Context, id, permission string, c wire.PermissionChoice) (wire.PermissionResolved, error) {
	var resolved wire.PermissionResolved
	err := h.do(ctx, http.MethodPost, session(id)+"/permissions/"+url.PathEscape(permission), c, &resolved)
	return resolved, err
}

// Comments lists the review comments of a session, oldest first.
func (h *Hub) Comments(ctx context.Context, id string) (wire.CommentList, error) {
	var out wire.CommentList
	return out, h.do(ctx, http.MethodGet, session(id)+"/comments", nil, &out)
}

// Comment adds a review comment.
func (h *Hub) Comment(ctx context.Context, id string, c wire.NewComment) (wire.Comment, error) {
	var out wire.Comment
	return out, h.do(ctx, http.MethodPost, session(id)+"/comments", c, &out)
}

// Cancel asks the agent to end its turn.
func (h *Hub) Cancel(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodPost, session(id)+"/cancel", nil, nil)
}

// Pause pauses a session.
func (h *Hub) Pause(ctx context.Context, id string) (wire.Paused, error) {
	var paused wire.Paused
	err := h.do(ctx, http.MethodPost, session(id)+"/pause", nil, &paused)
	return paused, err
}

// End closes a session; a later prompt makes it live again. Waiting prompts are removed
// with DropQueue, and a conflict without.
func (h *Hub) End(ctx context.Context, id string, e wire.EndSession) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := h.do(ctx, http.MethodPost, session(id)+"/end", e, &info)
	return info, err
}

// Queue lists the prompts that wait, in their order.
func (h *Hub) Queue(ctx context.Context, id string) ([]wire.QueueItem, error) {
	return h.queue(ctx, http.MethodGet, session(id)+"/queue", nil)
}

// Requeue changes a waiting prompt and returns the queue as it is then.
func (h *Hub) Requeue(ctx context.Context, id, prompt string, c wire.QueuePatch) ([]wire.QueueItem, error) {
	return h.queue(ctx, http.MethodPatch, session(id)+"/queue/"+url.PathEscape(prompt), c)
}

// Unqueue takes a prompt out of the queue.
func (h *Hub) Unqueue(ctx context.Context, id, prompt string) error {
	return h.do(ctx, http.MethodDelete, session(id)+"/queue/"+url.PathEscape(prompt), nil, nil)
}

func (h *Hub) queue(ctx context.Context, method, path string, body any) ([]wire.QueueItem, error) {
	var answer wire.Queue
	err := h.do(ctx, method, path, body, &answer)
	return answer.Queue, err
}

func session(id string) string { return "/api/sessions/" + url.PathEscape(id) }

// OpenedBy is the address of a session's page.
func (h *Hub) OpenedBy(ctx context.Context, id string) (string, error) {
	place, err := h.locate(ctx)
	if err != nil {
		return "", fmt.Errorf("finding the hub: %w", err)
	}
	return place.Base + "/s/" + url.PathEscape(id), nil
}

// EventsBefore asks for a page of at most limit events before seq, oldest first.
func (h *Hub) EventsBefore(ctx context.Context, id string, before event.Seq, limit int) (wire.EventsLoaded, error) {
	var page wire.EventsLoaded
	path := fmt.Sprintf("%s/events?before_seq=%d&limit=%d", session(id), before, limit)
	err := h.do(ctx, http.MethodGet, path, nil, &page)
	return page, err
}

// errSeen ends a socket that was opened for one frame.
var errSeen = errors.New("seen")

// State asks how a session is now.
func (h *Hub) State(ctx context.Context, id string) (wire.State, error) {
	socket, err := h.DialSession(ctx, id, Cursor{})
	if err != nil {
		return wire.State{}, err
	}
	var state wire.State
	err = socket.Run(ctx, func(m wire.Message) error {
		switch m := m.(type) {
		case *wire.State:
			state = *m
			return errSeen
		case *wire.SessionGone:
			return ErrSessionGone
		case *wire.Error:
			return refused(m)
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		return wire.State{}, err
	}
	return state, nil
}

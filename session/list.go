package session

import (
	"container/list"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// Pages of the session list.
const (
	defaultListPage = 30
	maxListPage     = 500
)

// Info is one line of the session list.
type Info struct {
	SessionID   string
	Name        string
	Agent       string
	Workspace   string
	ProjectRoot string
	CreatedAt   time.Time
	// UpdatedAt is the time of the newest event.
	UpdatedAt  time.Time
	Status     state.Status
	EventCount int64
	MinSeq     event.Seq
	MaxSeq     event.Seq
	Epoch      string
	Archived   bool
	Pinned     bool
	ForkedFrom *store.Forked
	Forks      []store.Forked
	Imported   bool // from another hub, read-only
	// LastLine is the open request if the session needs a person, the problem if it
	// failed, else the last line of the newest message.
	LastLine string
}

func infoOf(m store.Metadata) Info {
	status := state.Status(m.Status)
	if status == "" {
		status = state.StatusIdle
	}
	return Info{
		SessionID:   m.SessionID,
		Name:        m.Name,
		Agent:       m.Agent,
		Workspace:   m.Workspace,
		ProjectRoot: m.ProjectRoot,
		CreatedAt:   m.CreatedAt,
		UpdatedAt:   m.UpdatedAt,
		Status:      status,
		EventCount:  m.EventCount,
		MinSeq:      m.MinSeq,
		MaxSeq:      m.MaxSeq,
		Epoch:       m.Epoch,
		Archived:    m.Archived,
		Pinned:      m.Pinned,
		Imported:    m.Imported,
		ForkedFrom:  m.ForkedFrom,
		Forks:       m.Forks,
		LastLine:    m.LastLine,
	}
}

// ListOptions selects a page of the session list. The zero value is the first page
// of all sessions that are not archived.
type ListOptions struct {
	// Status selects sessions with this status. "archived" selects archived
	// sessions, which no other status includes. "all" selects every session.
	Status string
	// Project selects sessions with this project root or workspace.
	Project string
	// Query selects sessions that contain all its words, in any case, in their
	// name, last line, agent, project root, workspace or id.
	Query string
	// Limit is the page's size: 30 if 0, at most 500.
	Limit int
	// Cursor is the NextCursor of the previous page.
	Cursor string
}

// ListPage is a page of the session list, newest first.
type ListPage struct {
	Sessions []Info
	// NextCursor is empty on the last page.
	NextCursor string
}

// listCursor is the end of a page. It is a position in the order and not a session,
// so it stays valid when sessions come, go and move.
type listCursor struct {
	UpdatedAt time.Time `json:"u"`
	SessionID string    `json:"s"`
}

func (c listCursor) encode() string {
	data, err := json.Marshal(c)
	if err != nil { // a time out of range; there is no later page then
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func decodeCursor(text string) (listCursor, error) {
	var c listCursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.SessionID == "" {
		return c, fmt.Errorf("%w: cursor %q is not one of this list", state.ErrInvalid, text)
	}
	return c, nil
}

// page returns a page of the entries of newest after a cursor. line makes the line
// of an entry.
func (o ListOptions) page(newest func(store.Place) iter.Seq[store.Metadata], line func(store.Metadata) Info) (ListPage, error) {
	limit := o.Limit
	if limit <= 0 {
		limit = defaultListPage
	}
	limit = min(limit, maxListPage)
	var from listCursor
	if o.Cursor != "" {
		var err error
		if from, err = decodeCursor(o.Cursor); err != nil {
			return ListPage{}, err
		}
	}
	words := strings.Fields(strings.ToLower(o.Query))
	page := ListPage{Sessions: []Info{}}
	for m := range newest(store.Place(from)) {
		info := line(m)
		if !o.keeps(m, info.Status) || !hasWords(m, words) {
			continue
		}
		if len(page.Sessions) == limit {
			last := page.Sessions[limit-1]
			page.NextCursor = listCursor{last.UpdatedAt, last.SessionID}.encode()
			break
		}
		page.Sessions = append(page.Sessions, info)
	}
	return page, nil
}

func (o ListOptions) keeps(m store.Metadata, status state.Status) bool {
	switch o.Status {
	case "all":
	case "archived":
		if !m.Archived {
			return false
		}
	case "":
		if m.Archived {
			return false
		}
	default:
		if m.Archived || string(status) != o.Status {
			return false
		}
	}
	if o.Project != "" && o.Project != m.ProjectRoot && o.Project != m.Workspace {
		return false
	}
	return true
}

// hasWords reports whether a line contains all words, which must be lower case.
func hasWords(m store.Metadata, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(strings.Join([]string{m.Name, m.LastLine, m.Agent, m.ProjectRoot, m.Workspace, m.SessionID}, "\n"))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// rememberedGone limits the deleted sessions that ChangesSince reports.
const rememberedGone = 1000

// news are the changes of the session list. Only the last change of each session is
// kept.
type news struct {
	bell bell.Bell

	mu      sync.Mutex
	version uint64
	changed timeline
	gone    timeline
}

func newNews() *news {
	return &news{changed: newTimeline(), gone: newTimeline()}
}

func (n *news) touch(id string) {
	n.mu.Lock()
	if !n.gone.has(id) {
		n.version++
		n.changed.put(id, n.version)
	}
	n.mu.Unlock()
	n.bell.Ring()
}

func (n *news) remove(id string) {
	n.mu.Lock()
	n.version++
	n.changed.drop(id)
	n.gone.put(id, n.version)
	n.gone.keep(rememberedGone)
	n.mu.Unlock()
	n.bell.Ring()
}

func (n *news) since(v uint64) (changed, gone []string, now uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed.since(v), n.gone.since(v), n.version
}

// timeline records when each session changed last. The cost of a query depends on
// the number of changes, not of sessions.
type timeline struct {
	order *list.List // moments in order of their version
	at    map[string]*list.Element
}

// moment is the version in which a session changed last.
type moment struct {
	id      string
	version uint64
}

func newTimeline() timeline { return timeline{list.New(), map[string]*list.Element{}} }

func (t timeline) has(id string) bool { return t.at[id] != nil }

func (t timeline) put(id string, version uint64) {
	t.drop(id)
	t.at[id] = t.order.PushBack(moment{id, version})
}

func (t timeline) drop(id string) {
	if e := t.at[id]; e != nil {
		t.order.Remove(e)
		delete(t.at, id)
	}
}

// keep removes all but the latest entries.
func (t timeline) keep(most int) {
	for t.order.Len() > most {
		t.drop(t.order.Front().Value.(moment).id)
	}
}

// since returns the sessions that changed after a version, in order of their
// change.
func (t timeline) since(version uint64) (ids []string) {
	for e := t.order.Back(); e != nil && e.Value.(moment).version > version; e = e.Prev() {
		ids = append(ids, e.Value.(moment).id)
	}
	slices.Reverse(ids)
	return ids
}

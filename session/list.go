package session

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
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
	Status     Status
	EventCount int64
	MinSeq     event.Seq
	MaxSeq     event.Seq
	Epoch      string
	Archived   bool
	Pinned     bool
	// LastLine is the newest thing said, cut to a line.
	LastLine string
}

func infoOf(m store.Metadata) Info {
	status := Status(m.Status)
	if status == "" {
		status = StatusIdle
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
		LastLine:    m.LastLine,
	}
}

// ListOptions choose a page of the session list. The zero value is the first
// page of all sessions that are not archived.
type ListOptions struct {
	// Status keeps sessions with this status; "archived" keeps archived ones,
	// which no other status does, and "all" keeps everything.
	Status string
	// Project keeps sessions whose project root or workspace this is.
	Project string
	// Query keeps sessions in whose name, last line, agent, workspace or id all
	// its words occur, whatever their case.
	Query string
	// Limit is the page's size: 30 if 0, at most 500.
	Limit int
	// Cursor is the NextCursor of the page before.
	Cursor string
}

// ListPage is a page of the session list, newest first.
type ListPage struct {
	Sessions []Info
	// NextCursor is empty on the last page.
	NextCursor string
}

// listCursor is where a page ended. It names a place in the order, not a
// session, so it stays good when sessions come, go and move.
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
		return c, fmt.Errorf("%w: cursor %q is not one of this list", ErrInvalid, text)
	}
	return c, nil
}

// before reports whether a line comes before the cursor's place or at it.
func (c listCursor) before(m store.Metadata) bool {
	if d := m.UpdatedAt.Compare(c.UpdatedAt); d != 0 {
		return d > 0
	}
	return m.SessionID >= c.SessionID
}

// page makes a page of metadata that is ordered newest first; line makes a line
// of each.
func (o ListOptions) page(all []store.Metadata, line func(store.Metadata) Info) (ListPage, error) {
	limit := o.Limit
	if limit <= 0 {
		limit = defaultListPage
	}
	limit = min(limit, maxListPage)
	if o.Cursor != "" {
		c, err := decodeCursor(o.Cursor)
		if err != nil {
			return ListPage{}, err
		}
		all = slices.DeleteFunc(all, c.before)
	}
	page := ListPage{Sessions: []Info{}}
	for _, m := range all {
		info := line(m)
		if !o.keeps(m, info.Status) {
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

func (o ListOptions) keeps(m store.Metadata, status Status) bool {
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
	text := strings.ToLower(strings.Join([]string{m.Name, m.LastLine, m.Agent, m.Workspace, m.SessionID}, "\n"))
	for _, word := range strings.Fields(strings.ToLower(o.Query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// rememberedGone is how many sessions that are no more are told of.
const rememberedGone = 1000

// news is what changed in the session list: the latest wins, so only the number
// of the last change of each session is kept.
type news struct {
	bell bell

	mu      sync.Mutex
	version uint64
	changed map[string]uint64
	gone    map[string]uint64
	order   []string // of gone, oldest first
}

func newNews() *news {
	return &news{changed: map[string]uint64{}, gone: map[string]uint64{}}
}

func (n *news) touch(id string) {
	n.mu.Lock()
	if _, gone := n.gone[id]; !gone {
		n.version++
		n.changed[id] = n.version
	}
	n.mu.Unlock()
	n.bell.ring()
}

func (n *news) remove(id string) {
	n.mu.Lock()
	n.version++
	delete(n.changed, id)
	n.gone[id] = n.version
	n.order = append(n.order, id)
	if len(n.order) > rememberedGone {
		delete(n.gone, n.order[0])
		n.order = n.order[1:]
	}
	n.mu.Unlock()
	n.bell.ring()
}

func (n *news) since(v uint64) (changed, gone []string, now uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, at := range n.changed {
		if at > v {
			changed = append(changed, id)
		}
	}
	for id, at := range n.gone {
		if at > v {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(changed, func(a, b string) int { return int(n.changed[a]) - int(n.changed[b]) })
	slices.Sort(gone)
	return changed, gone, n.version
}

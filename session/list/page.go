package list

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// The default and the largest size of a page.
const (
	defaultPage = 30
	maxPage     = 500
)

// Options selects a page of the session list. The zero value is the first page
// of all sessions that are not archived.
type Options struct {
	// Status selects sessions with this status. "archived" selects archived
	// sessions, which no other status includes. "all" selects every session.
	Status string
	// Project selects sessions with this project root or workspace.
	Project string
	// Query selects sessions that contain all its words, in any case, in their
	// name, last line, agent, project root, workspace or id.
	Query string
	// Jobs selects the jobs with this status, AnyJob all jobs. Empty selects every
	// session.
	Jobs event.JobStatus
	// DelegatedBy selects the jobs that this session delegated, Schedule those that this
	// schedule made.
	DelegatedBy, Schedule string
	// Resumable selects the sessions in which a pause or an interruption waits to be resumed.
	Resumable bool
	// Limit is the page's size: 30 if 0, at most 500.
	Limit int
	// Cursor is the NextCursor of the previous page.
	Cursor string
}

// AnyJob selects all jobs.
const AnyJob event.JobStatus = "any"

// Page is a page of the session list, newest first.
type Page struct {
	Sessions []Info
	// NextCursor is empty on the last page.
	NextCursor string
}

// cursor is the end of a page. It is a position in the order and not a session,
// so it stays valid when sessions come, go and move.
type cursor struct {
	UpdatedAt time.Time `json:"u"`
	SessionID string    `json:"s"`
}

func (c cursor) encode() string {
	data, err := json.Marshal(c)
	if err != nil { // a time out of range; there is no later page then
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// CheckStatus reports a status that Options does not know, as state.ErrInvalid.
func CheckStatus(status string) error {
	known := append(state.Status("").Values(), "archived", "all")
	if status == "" || slices.Contains(known, status) {
		return nil
	}
	return fmt.Errorf("%w: status is one of %s", state.ErrInvalid, strings.Join(known, ", "))
}

func decodeCursor(text string) (cursor, error) {
	var c cursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.SessionID == "" {
		return c, fmt.Errorf("%w: cursor %q is not one of this list", state.ErrInvalid, text)
	}
	return c, nil
}

// Page returns the page that o selects. newest lists the sessions after a place,
// newest first; line makes the line of one. A cursor that is not of this list is
// state.ErrInvalid.
func (o Options) Page(newest func(journal.Place) iter.Seq[journal.Metadata], line func(journal.Metadata) Info) (Page, error) {
	limit := o.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	var from cursor
	if o.Cursor != "" {
		var err error
		if from, err = decodeCursor(o.Cursor); err != nil {
			return Page{}, err
		}
	}
	words := strings.Fields(strings.ToLower(o.Query))
	page := Page{Sessions: []Info{}}
	for m := range newest(journal.Place(from)) {
		info := line(m)
		if o.Resumable && !info.Resumable || !o.keepsJob(info.Job) || !o.keeps(m, info.Status) || !hasWords(m, words) {
			continue
		}
		if len(page.Sessions) == limit {
			last := page.Sessions[limit-1]
			page.NextCursor = cursor{last.UpdatedAt, last.SessionID}.encode()
			break
		}
		page.Sessions = append(page.Sessions, info)
	}
	return page, nil
}

func (o Options) keepsJob(job *event.JobLine) bool {
	if o.Jobs == "" {
		return true
	}
	return job != nil && (o.Jobs == AnyJob || o.Jobs == job.Status) &&
		(o.DelegatedBy == "" || o.DelegatedBy == job.DelegatedBy) && (o.Schedule == "" || o.Schedule == job.ScheduleID)
}

func (o Options) keeps(m journal.Metadata, status state.Status) bool {
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
func hasWords(m journal.Metadata, words []string) bool {
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

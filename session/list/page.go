package list

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"
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
	// Lifecycle selects sessions that are so far; empty selects every one.
	Lifecycle state.Lifecycle
	// Project selects sessions with this project root or workspace.
	Project string
	// Query selects sessions that contain all its words, in any case, in their
	// name, tags, last line, agent, project root, workspace, machine or id.
	Query string
	// Tags selects sessions with all of these tags.
	Tags []string
	// Jobs selects the jobs with this status, AnyJob all jobs. Empty selects every
	// session.
	Jobs event.JobStatus
	// DelegatedBy selects the jobs that this session delegated, Schedule those that this
	// schedule made.
	DelegatedBy, Schedule string
	// AttemptsOf selects the jobs that attempt the task of this first one, and it.
	AttemptsOf string
	// Resumable selects the sessions that wait to be resumed.
	Resumable bool
	// Said selects the sessions in which something was said.
	Said bool
	// Machine selects the sessions of the machine with this id, Here those of this hub.
	Machine string
	// Others are the lines of other machines' sessions; nil if there are none.
	Others OtherLines
	// Sort is the order; empty is ByUpdated.
	Sort Sort
	// Bytes is what a session takes. Only BySize uses it, and needs it.
	Bytes func(Info) int64
	// Limit is the page's size: 30 if 0, at most 500.
	Limit int
	// Cursor is the NextCursor of the previous page.
	Cursor string
}

// Here is the Machine of this hub's own sessions.
const Here = "here"

// AnyJob selects all jobs.
const AnyJob event.JobStatus = "any"

// Sort is an order of the session list.
type Sort string

// The orders: the newest activity first, the newest session first, by name without
// regard to case, and the one that takes most first.
const (
	ByUpdated Sort = "updated"
	ByCreated Sort = "created"
	ByName    Sort = "name"
	BySize    Sort = "size"
)

// Values are the orders.
func (Sort) Values() []string {
	return []string{string(ByUpdated), string(ByCreated), string(ByName), string(BySize)}
}

// Page is a page of the session list.
type Page struct {
	Sessions []Info
	// Total counts the sessions of all pages. Only the first page, which has no cursor,
	// has it.
	Total int
	// NextCursor is empty on the last page.
	NextCursor string
}

// cursor is the end of a page. It is a position in the order and not a session,
// so it stays valid when sessions come, go and move.
type cursor struct {
	// At is the time by which the list is sorted; zero if it is sorted by Name or Bytes.
	At        time.Time `json:"u,omitzero"`
	Name      string    `json:"n,omitempty"`
	Bytes     int64     `json:"b,omitempty"`
	SessionID string    `json:"s"`
	// Sort is the order; empty is ByUpdated.
	Sort Sort `json:"o,omitempty"`
}

// cursorOf returns the place of a session in the order.
func (o Options) cursorOf(info Info) cursor {
	switch o.Sort {
	case ByCreated:
		return cursor{At: info.CreatedAt, SessionID: info.SessionID, Sort: o.Sort}
	case ByName:
		return cursor{Name: strings.ToLower(info.Name), SessionID: info.SessionID, Sort: o.Sort}
	case BySize:
		return cursor{Bytes: o.Bytes(info), SessionID: info.SessionID, Sort: o.Sort}
	}
	return cursor{At: info.UpdatedAt, SessionID: info.SessionID}
}

// compare orders places: times newest first, names from a to z, the most bytes first.
func (c cursor) compare(other cursor) int {
	if by := cmp.Compare(other.Bytes, c.Bytes); by != 0 {
		return by
	}
	if by := strings.Compare(c.Name, other.Name); by != 0 {
		return by
	}
	return journal.Place{UpdatedAt: c.At, SessionID: c.SessionID}.Compare(journal.Place{UpdatedAt: other.At, SessionID: other.SessionID})
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

// CheckLifecycle reports a lifecycle that there is not, as state.ErrInvalid.
func CheckLifecycle(l state.Lifecycle) error {
	if l == "" || slices.Contains(l.Values(), string(l)) {
		return nil
	}
	return fmt.Errorf("%w: lifecycle is one of %s", state.ErrInvalid, strings.Join(l.Values(), ", "))
}

func decodeCursor(text string, sort Sort) (cursor, error) {
	var c cursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.SessionID == "" || c.Sort != sort {
		return c, fmt.Errorf("%w: cursor %q is not one of this list", state.ErrInvalid, text)
	}
	return c, nil
}

// Page returns the page that o selects. newest lists the sessions after a place,
// newest first; line makes the line of one. A cursor that is not of this list and an
// unknown order are state.ErrInvalid.
func (o Options) Page(newest func(journal.Place) iter.Seq[journal.Metadata], line func(journal.Metadata) Info) (Page, error) {
	limit := o.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	switch o.Sort {
	case ByUpdated:
		o.Sort = ""
	case "", ByCreated, ByName, BySize:
	default:
		return Page{}, fmt.Errorf("%w: sort is one of %s", state.ErrInvalid, strings.Join(o.Sort.Values(), ", "))
	}
	var from cursor
	if o.Cursor != "" {
		var err error
		if from, err = decodeCursor(o.Cursor, o.Sort); err != nil {
			return Page{}, err
		}
	}
	var page Page
	if o.Sort == "" {
		page = o.cut(o.kept(o.all(newest, line, journal.Place{UpdatedAt: from.At, SessionID: from.SessionID})), limit)
	} else {
		page = o.cut(o.sorted(o.kept(o.all(newest, line, journal.Place{})), from), limit)
	}
	if o.Cursor != "" {
		page.Total = 0
	}
	return page, nil
}

// OtherLines are lines of sessions, newest activity first. They do not change.
type OtherLines interface {
	Len() int
	// Place is the place of a line in the order.
	Place(i int) journal.Place
	// Line is a line; false if it is not to be listed.
	Line(i int) (Info, bool)
}

// all are the lines after a place, newest activity first: this hub's and the others'.
func (o Options) all(newest func(journal.Place) iter.Seq[journal.Metadata], line func(journal.Metadata) Info, after journal.Place) iter.Seq[Info] {
	return func(yield func(Info) bool) {
		others, next, count := o.Others, 0, 0
		if others != nil {
			count = others.Len()
		}
		if after != (journal.Place{}) {
			next = sort.Search(count, func(i int) bool { return others.Place(i).Compare(after) > 0 })
		}
		// before yields the others that come before a place, or all.
		before := func(place journal.Place, all bool) bool {
			for ; next < count && (all || others.Place(next).Compare(place) < 0); next++ {
				if info, listed := others.Line(next); listed && !yield(info) {
					return false
				}
			}
			return true
		}
		for m := range newest(after) {
			info := line(m)
			if !before(placeOf(info), false) || !yield(info) {
				return
			}
		}
		before(journal.Place{}, true)
	}
}

func placeOf(i Info) journal.Place {
	return journal.Place{UpdatedAt: i.UpdatedAt, SessionID: i.SessionID}
}

// kept are the lines that o selects, in the given order.
func (o Options) kept(all iter.Seq[Info]) iter.Seq[Info] {
	words := strings.Fields(strings.ToLower(o.Query))
	return func(yield func(Info) bool) {
		for info := range all {
			if o.Resumable && !info.Resumable || o.Lifecycle != "" && o.Lifecycle != info.Lifecycle || o.Said && info.LastLine == "" || !o.keepsJob(info.SessionID, info.Job) || !o.keeps(info) || !hasWords(info, words) {
				continue
			}
			if !yield(info) {
				return
			}
		}
	}
}

// sorted are the lines in the order of o, after a place.
func (o Options) sorted(lines iter.Seq[Info], from cursor) iter.Seq[Info] {
	type placed struct {
		at   cursor // asked once: sizes change while it is sorted
		line *Info
	}
	var list []placed
	for info := range lines {
		if at := o.cursorOf(info); from.SessionID == "" || at.compare(from) > 0 {
			list = append(list, placed{at, &info})
		}
	}
	slices.SortFunc(list, func(a, b placed) int { return a.at.compare(b.at) })
	return func(yield func(Info) bool) {
		for _, one := range list {
			if !yield(*one.line) {
				return
			}
		}
	}
}

// cut returns the first lines as a page. On the first page it counts the others.
func (o Options) cut(lines iter.Seq[Info], limit int) Page {
	page := Page{Sessions: []Info{}}
	for info := range lines {
		page.Total++
		if len(page.Sessions) < limit {
			page.Sessions = append(page.Sessions, info)
			continue
		}
		if page.NextCursor == "" {
			page.NextCursor = o.cursorOf(page.Sessions[limit-1]).encode()
		}
		if o.Cursor != "" {
			break
		}
	}
	return page
}

func (o Options) keepsJob(id string, job *event.JobLine) bool {
	if o.Jobs == "" {
		return true
	}
	if first := o.AttemptsOf; first != "" && first != id && (job == nil || first != job.AttemptOf) {
		return false
	}
	return job != nil && (o.Jobs == AnyJob || o.Jobs == job.Status) &&
		(o.DelegatedBy == "" || o.DelegatedBy == job.DelegatedBy) && (o.Schedule == "" || o.Schedule == job.ScheduleID)
}

func (o Options) keeps(m Info) bool {
	if o.Machine == Here && m.Machine != nil || o.Machine != "" && o.Machine != Here && (m.Machine == nil || o.Machine != m.Machine.ID) {
		return false
	}
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
		if m.Archived || string(m.Status) != o.Status {
			return false
		}
	}
	if o.Project != "" && o.Project != m.ProjectRoot && o.Project != m.Workspace {
		return false
	}
	return !slices.ContainsFunc(o.Tags, func(tag string) bool {
		return !slices.ContainsFunc(m.Tags, func(has string) bool { return state.SameTag(has, tag) })
	})
}

// hasWords reports whether a line contains all words, which must be lower case.
func hasWords(m Info, words []string) bool {
	if len(words) == 0 {
		return true
	}
	texts := []string{m.Name, m.LastLine, m.Agent, m.ProjectRoot, m.Workspace, m.SessionID, strings.Join(m.Tags, "\n")}
	if m.Machine != nil {
		texts = append(texts, m.Machine.Name)
	}
	text := strings.ToLower(strings.Join(texts, "\n"))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

package usage

import (
	"cmp"
	"slices"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// By is what a table has one row for.
type By string

// The groups.
const (
	ByTurn    By = "turn"
	BySession By = "session"
	ByProject By = "project"
	ByAgent   By = "agent"
	ByDay     By = "day"
)

// Groups are all of them.
func Groups() []By { return []By{ByTurn, BySession, ByProject, ByAgent, ByDay} }

// Question asks what was used.
type Question struct {
	By By
	// From and To bound the times at which turns began: From is the first, To the first no
	// longer. Zero means no bound.
	From, To time.Time
	// Zone is the time zone of days.
	Zone *time.Location
	// Project, Agent and Session restrict the answer to one; empty is all.
	Project, Agent, Session string
	// Most is how many rows the answer has at most, at least 1.
	Most int
}

// touches reports whether a session may have turns that the question is about.
func (q Question) touches(md journal.Metadata) bool {
	return (q.Session == "" || md.SessionID == q.Session) && (q.Project == "" || ProjectOf(md) == q.Project) &&
		(q.From.IsZero() || !md.UpdatedAt.Before(q.From))
}

// ProjectOf is the folder that a session's use counts for: the repository of a working copy,
// or else the project root, or the workspace.
func ProjectOf(md journal.Metadata) string {
	if md.Worktree != nil && md.Worktree.Of != "" {
		return md.Worktree.Of
	}
	return cmp.Or(md.ProjectRoot, md.Workspace)
}

// Row is a group of turns. Of its names it has those that all of its turns share: of a turn
// all, of a session all but Turn, of the others their own.
type Row struct {
	Day       string // YYYY-MM-DD
	SessionID string
	Name      string
	Turn      int
	At        time.Time // the begin of the first turn
	Project   string
	Agent     string
	Sum
}

// Answer is a table of what was used.
type Answer struct {
	// Rows are ordered: days, and turns, the newest first; others by tokens, the most first.
	Rows  []Row
	Total Sum
	// LeftOut counts rows beyond Most; Total has them.
	LeftOut int
	// Behind counts the sessions with events that are not counted yet.
	Behind int
}

// table makes an Answer.
type table struct {
	q      Question
	rows   map[rowKey]*Row
	answer Answer
}

func newTable(q Question) *table { return &table{q: q, rows: map[rowKey]*Row{}} }

func (t *table) add(md journal.Metadata, turns []Turn) {
	for _, one := range turns {
		agent := cmp.Or(one.Agent, md.Agent)
		if !t.q.From.IsZero() && one.At.Before(t.q.From) || !t.q.To.IsZero() && !one.At.Before(t.q.To) || t.q.Agent != "" && agent != t.q.Agent {
			continue
		}
		t.answer.Total.Add(one.Sum)
		k := rowKey{}
		row := Row{At: one.At}
		switch t.q.By {
		case ByDay:
			k.name = one.At.In(t.q.Zone).Format(time.DateOnly)
			row.Day = k.name
		case ByProject:
			k.name = ProjectOf(md)
			row.Project = k.name
		case ByAgent:
			k.name = agent
			row.Agent = agent
		case ByTurn:
			k = rowKey{md.SessionID, one.Turn}
			row.Turn, row.Day = one.Turn, one.At.In(t.q.Zone).Format(time.DateOnly)
			row.SessionID, row.Name, row.Project, row.Agent = md.SessionID, md.Name, ProjectOf(md), agent
		default:
			k.name = md.SessionID
			row.SessionID, row.Name, row.Project, row.Agent = md.SessionID, md.Name, ProjectOf(md), md.Agent
		}
		r := t.rows[k]
		if r == nil {
			r = &row
			t.rows[k] = r
		}
		if one.At.Before(r.At) {
			r.At = one.At
		}
		r.Add(one.Sum)
	}
}

// rowKey tells groups apart.
type rowKey struct {
	name string
	turn int
}

func (t *table) done() Answer {
	a := t.answer
	a.Rows = make([]Row, 0, len(t.rows))
	for _, r := range t.rows {
		a.Rows = append(a.Rows, *r)
	}
	slices.SortFunc(a.Rows, func(x, y Row) int {
		names := cmp.Or(cmp.Compare(x.SessionID, y.SessionID), cmp.Compare(x.Turn, y.Turn), cmp.Compare(x.Project, y.Project), cmp.Compare(x.Agent, y.Agent))
		switch t.q.By {
		case ByDay:
			return cmp.Compare(y.Day, x.Day)
		case ByTurn:
			return cmp.Or(y.At.Compare(x.At), names)
		}
		return cmp.Or(cmp.Compare(y.Tokens.Total, x.Tokens.Total), y.At.Compare(x.At), names)
	})
	if over := len(a.Rows) - t.q.Most; over > 0 {
		a.Rows, a.LeftOut = slices.Clip(a.Rows[:t.q.Most]), over
	}
	return a
}

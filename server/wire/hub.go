package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Health is the hub's health. A response also means that the credential is valid.
type Health struct {
	Status   string    `json:"status"`
	Protocol int       `json:"protocol"`
	Version  string    `json:"version"`
	HubID    string    `json:"hub_id"`
	Scope    string    `json:"scope"`
	Time     time.Time `json:"time"`
	UptimeMS int64     `json:"uptime_ms"`
	// Limits are those of a socket with this credential.
	Limits Limits `json:"limits"`
	// Clients counts open sockets and event streams. The counts are told to who may
	// manage all sessions.
	Clients *int `json:"clients,omitempty"`
	// IgnoredMessages counts messages of types this hub does not know.
	IgnoredMessages *int64        `json:"ignored_messages,omitempty"`
	Notifications   *NotifyCounts `json:"notifications,omitempty"`
	// Interruptions counts interrupted turns.
	Interruptions *ResumeCounts `json:"interruptions,omitempty"`
	// Schedules says why no schedule runs; absent if nothing is wrong.
	Schedules string `json:"schedules,omitempty"`
	// Storage says that the quota is nearly reached; absent otherwise.
	Storage string `json:"storage,omitempty"`
	// Snapshots says that a snapshot of a session cannot be saved; absent otherwise.
	Snapshots string `json:"snapshots,omitempty"`
	// Budgets are sentences about the projects' budgets of today that are nearly used up.
	Budgets []string `json:"budgets,omitempty"`
	// Index is how far the search index is.
	Index *IndexProgress `json:"index,omitempty"`
	// Derived is how far what is derived from the logs is behind them.
	Derived []Derived `json:"derived,omitempty"`
	// Sessions are those with a problem that the credential may read, newest first.
	Sessions []SessionProblem `json:"sessions"`
}

// Derived is how far something that is derived from the logs is behind them. It makes up for it
// by itself, or when it is asked for.
type Derived struct {
	// Kind is usage, sizes, index or snapshots.
	Kind string `json:"kind"`
	// Sessions have events that are not in it yet, and Events are these; those of snapshots
	// are not counted.
	Sessions int   `json:"sessions"`
	Events   int64 `json:"events,omitempty"`
}

// IndexProgress is how far the search index is. A search reads from the files what it does not
// have.
type IndexProgress struct {
	// Sessions are in the index.
	Sessions int `json:"sessions"`
	// Behind have events that are not in it yet.
	Behind int `json:"behind"`
	// Problem says why it does not go on; absent if it does.
	Problem string `json:"problem,omitempty"`
	// Again says why it is made again; absent if it is whole.
	Again string `json:"again,omitempty"`
}

// ResumeCounts counts the interrupted turns in the logs of all sessions and their
// outcomes. Imported sessions do not count.
type ResumeCounts struct {
	Interrupted map[event.TurnPhase]int `json:"interrupted"`
	// Resumed counts by phase, then by way.
	Resumed    map[event.TurnPhase]map[event.ResumeWay]int `json:"resumed"`
	Dismissed  int                                         `json:"dismissed"`
	Superseded int                                         `json:"superseded"`
	// Succeeded counts resumed turns that the agent ended, Failed those that were
	// interrupted again. A cancelled one, and one that waits for a choice, are neither.
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	// MedianMS is the median time from the last event of an interrupted turn to its
	// resume, of each session's newest 32; 0 if there was none.
	MedianMS int64 `json:"median_ms"`
}

// ProblemKind is what is wrong with a session.
type ProblemKind string

// Values lists the set.
func (ProblemKind) Values() []string { return []string{"unreadable", "damaged", "frozen", "blocked"} }

// SessionProblem is the problem of one session.
type SessionProblem struct {
	SessionID string      `json:"session_id"`
	Kind      ProblemKind `json:"kind"`
	// The problem (What) and its remedy (Do).
	What string `json:"what"`
	Do   string `json:"do"`
}

// Ready only says whether the hub responds.
type Ready struct {
	Ready bool `json:"ready"`
}

// AuditPage is a page of the audit trail, oldest first, of at most 1,000 records.
type AuditPage struct {
	Records []AuditRecord `json:"records"`
}

// AuditRecord is one grant, answer, deletion or refusal.
type AuditRecord struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	// Verb is what was done, such as pairing_link or token_made.
	Verb string `json:"verb"`
	// By is the actor's name at that time, ByID the credential's id.
	By   string `json:"by,omitempty"`
	ByID string `json:"by_id,omitempty"`
	// Peer is the address that the request came from.
	Peer      string `json:"peer,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Detail    string `json:"detail,omitempty"`
}

// FoundPage is the result of one call of a search.
type FoundPage struct {
	// Titles are sessions whose titles have the words, one letter of a word perhaps wrong:
	// on the first page of a search in all sessions, at most 10.
	Titles []FoundTitle `json:"titles,omitempty"`
	Hits   []Hit        `json:"hits"`
	// NextCursor continues where this call's time or limit ended.
	NextCursor string `json:"next_cursor,omitempty"`
	// Searched is the number of bytes of events that this call read.
	Searched int64 `json:"searched"`
	// Sessions is the number of sessions to search.
	Sessions int `json:"sessions"`
	// SessionsLeft is how many of them are not fully searched yet.
	SessionsLeft int `json:"sessions_left"`
	// Skipped are the sessions that this call could not read fully.
	Skipped []string `json:"skipped,omitempty"`
	// Done means that everything was searched.
	Done bool `json:"done"`
}

// FoundTitle is a session that a search found by its title.
type FoundTitle struct {
	SessionID string    `json:"session_id"`
	Name      string    `json:"name"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Hit is one place of a text in a session.
type Hit struct {
	SessionID string `json:"session_id"`
	Name      string `json:"name"`
	// Seq is the event in which the match begins.
	Seq  event.Seq  `json:"seq"`
	Type event.Type `json:"type"`
	Time time.Time  `json:"time"`
	// Snippet is the text around the match.
	Snippet string `json:"snippet"`
	// Ranges are the matches in Snippet: from and to, in UTF-16 code units as
	// JavaScript counts.
	Ranges [][2]int `json:"ranges,omitempty"`
}

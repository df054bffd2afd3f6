package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Usage is what GET /api/usage answers: what turns used, in rows.
type Usage struct {
	// By is what there is one row for: turn, session, project, agent or day.
	By string `json:"by"`
	// From and To are the first and the last day that was asked for, as in the request.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Zone is the hub's time zone, in which days begin, such as CET +01:00.
	Zone string `json:"zone"`
	// Rows are ordered: days and turns with the newest first, others by tokens, the most first.
	Rows []UsageRow `json:"rows"`
	// LeftOut counts the rows beyond the limit. Total has them.
	LeftOut int      `json:"left_out,omitempty"`
	Total   UsageSum `json:"total"`
	// Behind counts the sessions with events that are not counted yet: ask again.
	Behind int `json:"behind,omitempty"`
	// Budgets are those of projects that have one, by folder, for a credential of all
	// sessions. They are of today, whatever the question is.
	Budgets []UsageBudget `json:"budgets,omitempty"`
}

// UsageBudget is how much a project may use on a day, and what it used today.
type UsageBudget struct {
	// Project is the folder that has the budget.
	Project string `json:"project"`
	// Tokens and Cost are the budget; absent is no bound of that kind. Cost is in the
	// currency that the agents report.
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	// WarnAt is the part from which the hub warns. Stop means that nothing new begins on a
	// day on which all is used.
	WarnAt float64  `json:"warn_at"`
	Stop   bool     `json:"stop,omitempty"`
	Used   UsageSum `json:"used"`
	// Part is how much is used: 1 is all. Of tokens and cost it is the larger part.
	Part float64 `json:"part"`
	// Until is when the next day begins.
	Until time.Time `json:"until"`
	// Text says it in a sentence.
	Text string `json:"text"`
}

// UsageRow is what a group of turns used. It has the names that all of its turns share.
type UsageRow struct {
	Day       string `json:"day,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Turn      int    `json:"turn,omitempty"`
	Project   string `json:"project,omitempty"`
	Agent     string `json:"agent,omitempty"`
	// At is when the first of the turns began.
	At   time.Time `json:"at"`
	Used UsageSum  `json:"used"`
}

// UsageSum is what some turns used.
type UsageSum struct {
	Turns int `json:"turns"`
	// Unreported are the turns whose agent gave no account of its tokens.
	Unreported int `json:"unreported,omitempty"`
	// Tokens are all of them, as the agents count them. The others are parts of it.
	Tokens       int64 `json:"tokens"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CachedRead   int64 `json:"cached_read_tokens"`
	CachedWrite  int64 `json:"cached_write_tokens"`
	// Costs are by currency.
	Costs []event.Cost `json:"costs"`
	// ToolCalls counts them. DurationMS is the time from prompt to end of all turns, in
	// milliseconds.
	ToolCalls  int   `json:"tool_calls"`
	DurationMS int64 `json:"duration_ms"`
}

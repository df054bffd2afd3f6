package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Interruption is a turn that was cut off. It waits for a person to resume it, to
// dismiss it or to send another prompt.
type Interruption struct {
	InterruptionID string                `json:"interruption_id"`
	Turn           int                   `json:"turn"`
	Reason         event.InterruptReason `json:"reason"`
	Phase          event.TurnPhase       `json:"phase"`
	AtSeq          event.Seq             `json:"at_seq"`
	At             time.Time             `json:"at"`
	// Held says that prompts wait in the queue meanwhile.
	Held bool `json:"held"`
}

// Offer is a turn that was cut off, and how it can be resumed.
type Offer struct {
	Interruption
	AgeS int64 `json:"age_s"`
	// Stale says that a resume has to be confirmed because of the age.
	Stale bool `json:"stale"`
	// Mismatch names the changes since: workspace, repository, branch, agent (its
	// configured command). A resume has to confirm it.
	Mismatch []string `json:"mismatch"`
	// Drift lists the settings with which the agent came back that differ from the
	// recorded ones. A resume says whether to apply the recorded or to keep the
	// current ones.
	Drift []Drift `json:"drift"`
	// LostQuestion is the question that waited for an answer.
	LostQuestion *LostQuestion `json:"lost_question,omitempty"`
	// Prompt is the prompt that the agent is given.
	Prompt string `json:"prompt"`
	Ways   []Way  `json:"ways"`
}

// Drift is a setting that differs from the recorded one.
type Drift struct {
	// Field is agent, version, mode, model, mcp_servers, or options.ID.
	Field    string `json:"field"`
	Recorded string `json:"recorded"`
	Current  string `json:"current"`
	// AllowsMore says that the agent may do more, or that the hub cannot tell.
	AllowsMore bool `json:"allows_more"`
}

// LostQuestion is a permission request that can no longer be answered.
type LostQuestion struct {
	PermissionID string `json:"permission_id"`
	Title        string `json:"title"`
	// Options are the answers that were offered.
	Options []event.PermissionOption `json:"options"`
}

// Way is a way to resume, and why it is not available if it is not.
type Way struct {
	Way       event.ResumeWay `json:"way"`
	Available bool            `json:"available"`
	Why       string          `json:"why,omitempty"`
	// Tokens is about how many tokens the agent would be told, in so many Segments.
	Tokens   int `json:"tokens,omitempty"`
	Segments int `json:"segments,omitempty"`
}

// Restore is how far an agent was told the session so far.
type Restore struct {
	Way event.ResumeWay `json:"way"`
	// Done of Total segments were told.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Tokens is about how many tokens all segments have, and Percent how much of them
	// was told.
	Tokens  int `json:"tokens"`
	Percent int `json:"percent"`
}

// Resume goes on with a turn that was cut off.
type Resume struct {
	InterruptionID string `json:"interruption_id"`
	// Way is auto, server, local or segmented; absent is auto.
	Way string `json:"way,omitempty"`
	// Prompt replaces the offered one.
	Prompt string `json:"prompt,omitempty"`
	// Drift is apply or keep: the recorded settings or the current ones.
	Drift string `json:"drift,omitempty"`
	// Confirm lists the confirmed warnings: stale, and the names in mismatch.
	Confirm []string `json:"confirm,omitempty"`
}

// Resumed is the prompt that goes on.
type Resumed struct {
	PromptID string          `json:"prompt_id"`
	Way      event.ResumeWay `json:"way"`
}

// Dismiss settles an interruption without going on.
type Dismiss struct {
	InterruptionID string `json:"interruption_id"`
}

// Settled names the first to settle an interruption.
type Settled struct {
	Outcome event.SettledAs `json:"outcome"`
	By      string          `json:"by"`
	ByID    string          `json:"by_id,omitempty"`
	At      time.Time       `json:"at"`
}

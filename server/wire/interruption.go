package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Interruption is an interrupted turn. It waits until a person resumes or dismisses
// it, or sends another prompt.
type Interruption struct {
	InterruptionID string                `json:"interruption_id"`
	Turn           int                   `json:"turn"`
	Reason         event.InterruptReason `json:"reason"`
	Phase          event.TurnPhase       `json:"phase"`
	AtSeq          event.Seq             `json:"at_seq"`
	At             time.Time             `json:"at"`
	// Held means that prompts wait in the queue meanwhile.
	Held bool `json:"held"`
}

// Offer is an interrupted turn and the ways to resume it.
type Offer struct {
	Interruption
	AgeS int64 `json:"age_s"`
	// Stale means that a resume must be confirmed because of the age.
	Stale bool `json:"stale"`
	// Mismatch lists the changes since: workspace, repository, branch, agent (its
	// configured command). A resume must confirm them.
	Mismatch []string `json:"mismatch"`
	// Drift lists the settings of the restarted agent that differ from the recorded
	// ones. A resume says whether to apply the recorded settings or to keep the
	// current ones.
	Drift []Drift `json:"drift"`
	// LostQuestion is the question that waited for an answer.
	LostQuestion *LostQuestion `json:"lost_question,omitempty"`
	// Prompt is the prompt that the agent would get.
	Prompt string `json:"prompt"`
	Ways   []Way  `json:"ways"`
}

// Drift is a setting that differs from the recorded one.
type Drift struct {
	// Field is agent, version, mode, model, mcp_servers, or options.ID.
	Field    string `json:"field"`
	Recorded string `json:"recorded"`
	Current  string `json:"current"`
	// AllowsMore means that the agent may do more, or that the hub cannot tell.
	AllowsMore bool `json:"allows_more"`
}

// LostQuestion is a permission request that can no longer be answered.
type LostQuestion struct {
	PermissionID string `json:"permission_id"`
	Title        string `json:"title"`
	// Options are the answers that were offered.
	Options []event.PermissionOption `json:"options"`
}

// Way is a way to resume, with the reason if it is not available.
type Way struct {
	Way       event.ResumeWay `json:"way"`
	Available bool            `json:"available"`
	Why       string          `json:"why,omitempty"`
	// Tokens is about how many tokens the agent would get, in how many Segments.
	Tokens   int `json:"tokens,omitempty"`
	Segments int `json:"segments,omitempty"`
}

// Restore is the progress of sending the session to an agent.
type Restore struct {
	Way event.ResumeWay `json:"way"`
	// Done is the number of segments sent, of Total.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Tokens is the approximate size of all segments. Percent is the part of it
	// that was sent.
	Tokens  int `json:"tokens"`
	Percent int `json:"percent"`
}

// Resume resumes an interrupted turn.
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

// Resumed is the prompt that resumes the turn.
type Resumed struct {
	PromptID string          `json:"prompt_id"`
	Way      event.ResumeWay `json:"way"`
}

// Dismiss settles an interruption without a resume.
type Dismiss struct {
	InterruptionID string `json:"interruption_id"`
}

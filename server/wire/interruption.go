package wire

import (
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Interruption, Drift, Way, Restore and Paused are package state's.
type (
	Interruption = state.Interruption
	Drift        = state.Drift
	Way          = state.Way
	Restore      = state.Restore
	Paused       = state.Paused
)

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
	// Setup is the working copy's set-up command that failed. A resume runs it again, unless
	// it says without_setup.
	Setup *Setup `json:"setup,omitempty"`
	// LostQuestion is the question that waited for an answer.
	LostQuestion *LostQuestion `json:"lost_question,omitempty"`
	// Prompt is the prompt that the agent would get.
	Prompt string `json:"prompt"`
	Ways   []Way  `json:"ways"`
}

// Setup is a set-up command, and how it failed.
type Setup struct {
	Command []string `json:"command"`
	Failed  string   `json:"failed"`
}

// LostQuestion is a permission request that can no longer be answered.
type LostQuestion struct {
	PermissionID string `json:"permission_id"`
	Title        string `json:"title"`
	// Options are the answers that were offered.
	Options []event.PermissionOption `json:"options"`
}

// Resume resumes an interrupted turn. Without InterruptionID it ends a pause and brings the
// agent back without a prompt; then only Way may be given.
type Resume struct {
	InterruptionID string `json:"interruption_id,omitempty"`
	// Way is auto, server, local or segmented; absent is auto.
	Way string `json:"way,omitempty"`
	// Prompt replaces the offered one.
	Prompt string `json:"prompt,omitempty"`
	// Drift is apply or keep: the recorded settings or the current ones.
	Drift string `json:"drift,omitempty"`
	// Confirm lists the confirmed warnings: stale, and the names in mismatch.
	Confirm []string `json:"confirm,omitempty"`
	// WithoutSetup leaves out a set-up command that failed.
	WithoutSetup bool `json:"without_setup,omitempty"`
}

// Resumed is the prompt that resumes the turn. Without an interruption there is none.
type Resumed struct {
	PromptID string          `json:"prompt_id,omitempty"`
	Way      event.ResumeWay `json:"way"`
}

// Dismiss settles an interruption without a resume.
type Dismiss struct {
	InterruptionID string `json:"interruption_id"`
}

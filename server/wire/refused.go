package wire

import "time"

// Refused is the body of every HTTP error.
type Refused struct {
	Error Refusal `json:"error"`
}

// Refusal is the error of a request.
type Refusal struct {
	Code Code `json:"code"`
	// Message is for a person.
	Message string `json:"message"`
	// Field is what the error is about in the body of a request for a session or a job,
	// such as workspace or policy.preset.
	Field string `json:"field,omitempty"`
	// RetryAfterMS is how long to wait before the same request may succeed.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	// Winner comes with already_resolved.
	Winner *Winner `json:"winner,omitempty"`
	// Needs are the warnings that the same request must confirm.
	Needs []string `json:"needs,omitempty"`
	// Challenge is to be signed by the page of a paired device: POST /api/page.
	Challenge string `json:"challenge,omitempty"`
}

// Winner says how a request or an interruption was settled before.
type Winner struct {
	// SessionID, PermissionID and OptionID are of a request.
	SessionID    string `json:"session_id,omitempty"`
	PermissionID string `json:"permission_id,omitempty"`
	// Outcome is the outcome of the request, or of the interruption.
	Outcome  string `json:"outcome"`
	OptionID string `json:"option_id,omitempty"`
	By       string `json:"by"`
	ByID     string `json:"by_id,omitempty"`
	// At is when the interruption was settled.
	At *time.Time `json:"at,omitempty"`
}

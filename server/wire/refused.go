package wire

// Refused is the body of every HTTP error.
type Refused struct {
	Error Refusal `json:"error"`
}

// Refusal is the error of a request.
type Refusal struct {
	Code Code `json:"code"`
	// Message is for a person.
	Message string `json:"message"`
	// RetryAfterMS is how long to wait before the same request may succeed.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	// Winner comes with already_resolved: a PermissionResolved, or a Settled.
	Winner any `json:"winner,omitempty"`
	// Needs are the warnings that a resume must confirm.
	Needs []string `json:"needs,omitempty"`
	// Challenge is to be signed by the page of a paired device: POST /api/page.
	Challenge string `json:"challenge,omitempty"`
}

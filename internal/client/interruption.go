package client

import (
	"context"
	"net/http"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Interruption is a turn that was cut off, and how it can be resumed.
type Interruption struct {
	InterruptionID string    `json:"interruption_id"`
	Turn           int       `json:"turn"`
	Reason         string    `json:"reason"`
	Phase          string    `json:"phase"`
	AtSeq          event.Seq `json:"at_seq"`
	At             time.Time `json:"at"`
	AgeS           int64     `json:"age_s"`
	Stale          bool      `json:"stale"`
	Mismatch       []string  `json:"mismatch"`
	// Prompt is what the agent would be told.
	Prompt string `json:"prompt"`
	// Held says that prompts wait in the queue meanwhile.
	Held bool  `json:"held"`
	Ways []Way `json:"ways"`
}

// Way is a way to resume.
type Way struct {
	Way       string `json:"way"`
	Available bool   `json:"available"`
	Why       string `json:"why,omitempty"`
}

// Interruption asks for the interruption of a session that no person has settled.
// Without one the hub answers 404.
func (h *Hub) Interruption(ctx context.Context, id string) (Interruption, error) {
	var open Interruption
	err := h.do(ctx, http.MethodGet, session(id)+"/interruption", nil, &open)
	return open, err
}

// Resume goes on with an interrupted turn.
type Resume struct {
	InterruptionID string   `json:"interruption_id"`
	Way            string   `json:"way,omitempty"`
	Confirm        []string `json:"confirm,omitempty"`
}

// Resumed is the prompt that goes on.
type Resumed struct {
	PromptID string `json:"prompt_id"`
	Way      string `json:"way"`
}

// Resume settles an interruption by going on. A *RefusedError with Needs names
// what has to be confirmed first.
func (h *Hub) Resume(ctx context.Context, id string, r Resume) (Resumed, error) {
	var resumed Resumed
	err := h.do(ctx, http.MethodPost, session(id)+"/resume", r, &resumed)
	return resumed, err
}

// Dismiss settles an interruption by leaving it.
func (h *Hub) Dismiss(ctx context.Context, id, interruption string) error {
	body := struct {
		InterruptionID string `json:"interruption_id"`
	}{interruption}
	return h.do(ctx, http.MethodPost, session(id)+"/dismiss", body, nil)
}

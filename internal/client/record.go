package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/abidehub/abide/session/event"
)

// NewRecording is the request for a session that the caller records.
type NewRecording struct {
	Agent     string `json:"agent"`
	Workspace string `json:"workspace"`
	Name      string `json:"name,omitempty"`
	Recorder  bool   `json:"recorder"`
	// Key makes a resend harmless, as that of NewSession does.
	Key string `json:"-"`
}

// Recording is a session that the caller records.
type Recording struct {
	SessionID  string    `json:"session_id"`
	RecorderID string    `json:"recorder_id"`
	MaxSeq     event.Seq `json:"max_seq"`
}

// Recorded is an event that a recorder reports.
type Recorded struct {
	Type event.Type      `json:"type"`
	Data json.RawMessage `json:"data"`
}

// BeginRecording makes a session that the caller records.
func (h *Hub) BeginRecording(ctx context.Context, n NewRecording) (Recording, error) {
	n.Recorder = true
	var made Recording
	header := http.Header{}
	if n.Key != "" {
		header.Set("Idempotency-Key", n.Key)
	}
	err := h.send(ctx, http.MethodPost, "/api/sessions", header, n, &made)
	return made, err
}

// Record reports a batch that follows the seq after, and returns the log's end. The
// same again writes nothing twice; an empty batch says that the recorder is there.
func (h *Hub) Record(ctx context.Context, r Recording, after event.Seq, batch []Recorded) (event.Seq, error) {
	body := struct {
		RecorderID string     `json:"recorder_id"`
		AfterSeq   event.Seq  `json:"after_seq,omitempty"`
		Events     []Recorded `json:"events,omitempty"`
	}{r.RecorderID, after, batch}
	var answer struct {
		MaxSeq event.Seq `json:"max_seq"`
	}
	err := h.do(ctx, http.MethodPost, session(r.SessionID)+"/record", body, &answer)
	return answer.MaxSeq, err
}

// EndRecording ends a recording and its session.
func (h *Hub) EndRecording(ctx context.Context, r Recording, reason string) error {
	body := map[string]string{"recorder_id": r.RecorderID, "reason": reason}
	return h.do(ctx, http.MethodPost, session(r.SessionID)+"/record/end", body, nil)
}

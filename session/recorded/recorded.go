// Package recorded holds the rules for events that a program reports of its own
// agent: which it may report, as whose, and how they are written without a hub.
package recorded

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// mostOfType limits the name of an event's type, in bytes: every line repeats it.
const mostOfType = 100

// Event is an event that a recorder reports.
type Event struct {
	Type event.Type      `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Payloads decodes a batch and refuses events that a recorder may not report.
func Payloads(batch []Event) ([]event.Payload, error) {
	payloads := make([]event.Payload, 0, len(batch))
	for i, r := range batch {
		if r.Type == "" || len(r.Type) > mostOfType || !state.Printable(string(r.Type)) {
			return nil, fmt.Errorf("%w: event %d of the batch: an event has a type of at most %d printable bytes", state.ErrInvalid, i, mostOfType)
		}
		p, err := event.Event{Type: r.Type, Data: r.Data}.Payload()
		if err != nil {
			return nil, fmt.Errorf("%w: event %d of the batch: %w", state.ErrInvalid, i, err)
		}
		if why := notReported(p); why != "" {
			return nil, fmt.Errorf("%w: event %d of the batch: %s", state.ErrInvalid, i, why)
		}
		payloads = append(payloads, p)
	}
	return payloads, nil
}

// ReportedBy sets the credential id of the recording in an event with an actor,
// because the recorder chose the actor's name.
func ReportedBy(p event.Payload, byID string) event.Payload {
	of := func(by string) string {
		if by == "" {
			return ""
		}
		return byID
	}
	switch p := p.(type) {
	case event.UserPrompt:
		p.ByID, p.AuthorID = of(p.Actor), of(p.Author)
		return p
	case event.TurnEnd:
		p.ByID = of(p.By)
		return p
	case event.PermissionOutcome:
		p.ByID = of(p.By)
		return p
	case event.Mode:
		p.ByID = of(p.By)
		return p
	case event.Config:
		p.ByID = of(p.By)
		return p
	case event.TurnStart:
		p.Files, p.NoUndo = "", "" // the hub kept none
		return p
	case event.Note:
		p.ByID = of(p.By)
		return p.Heard(event.FromRecorder)
	}
	return p
}

// notReported returns why a recorder may not report an event; empty if it may.
func notReported(p event.Payload) string {
	switch p := p.(type) {
	case event.SessionStart, event.SessionEnd, event.SegmentStart, event.Epoch, event.LogTruncated, event.Corrupt,
		event.TurnInterrupted, event.InterruptionSettled, event.SessionPaused, event.SessionResumed, event.SessionResumable:
		return "the hub writes " + string(p.EventType()) + " itself"
	case event.Note:
		if p.Stated() {
			return "the hub writes notes of method abide/… itself: one that an agent sent has from: agent"
		}
	case event.UserPrompt:
		if err := state.CheckID("a prompt", p.PromptID); err != nil {
			return err.Error()
		}
	case event.Unknown:
		if !bytes.HasPrefix(bytes.TrimSpace(p.Raw), []byte("{")) {
			return "the data of an event is an object"
		}
	}
	return ""
}

// Same reports whether an event of the log has this payload. A value stored as
// a blob is compared by its checksum.
func Same(there event.Event, p event.Payload) bool {
	draft, err := event.NewDraft(p, 0, time.Time{})
	if err != nil || draft.Type != there.Type {
		return false
	}
	if bytes.Equal(draft.Data, there.Data) {
		return true
	}
	var want, got map[string]json.RawMessage
	if json.Unmarshal(draft.Data, &want) != nil || json.Unmarshal(there.Data, &got) != nil || len(want) != len(got) {
		return false
	}
	for name, value := range want {
		if !bytes.Equal(value, got[name]) && !sameBlob(got[name], value) {
			return false
		}
	}
	return true
}

func sameBlob(reference, value json.RawMessage) bool {
	var ref event.BlobRef
	if json.Unmarshal(reference, &ref) != nil || ref.Blob.SHA256 == "" {
		return false
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		value = []byte(text)
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:]) == ref.Blob.SHA256
}

// Note returns the statement that a program records the session, with a new id for it.
func Note(actor event.Actor) event.Note {
	id := make([]byte, 16)
	rand.Read(id)
	raw, err := json.Marshal(state.Recorder{ID: hex.EncodeToString(id), Open: true})
	if err != nil { // a struct of strings never fails
		panic(err)
	}
	return event.Note{Method: state.NoteRecording, Text: event.Text("Recorded by " + actor.Name + "."), Raw: raw, By: actor.Name, ByID: actor.ID}
}

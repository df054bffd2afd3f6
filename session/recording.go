package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// recorderSilence is how long a recorder may be silent before the session is closed
// as after a crash.
const recorderSilence = 30 * time.Second

// mostOfType limits the name of an event's type, in bytes: every line repeats it.
const mostOfType = 100

// Recorded is an event that a recorder reports.
type Recorded struct {
	Type event.Type      `json:"type"`
	Data json.RawMessage `json:"data"`
}

// recording takes the reports of a recorder.
type recording struct {
	*foldedLog
	turn  *turnRun
	heard time.Time // time of the last report
}

// begin writes the note about the recorder, once.
func (r *recording) begin(actor event.Actor) error {
	if r.fold.Recorder.Open {
		return nil // a repeated request
	}
	if r.fold.Recorder.ID != "" || r.fold.Turn > 0 {
		return fmt.Errorf("%w: this key made a session whose recording has ended", state.ErrConflict)
	}
	id := make([]byte, 16)
	rand.Read(id)
	raw, err := json.Marshal(state.Recorder{ID: hex.EncodeToString(id), Open: true})
	if err != nil { // a struct of strings never fails
		panic(err)
	}
	note := event.Note{Method: state.NoteRecording, Text: event.Text("Recorded by " + actor.Name + "."), Raw: raw, By: actor.Name, ByID: actor.ID}
	if _, err := r.write(r.entries(note)...); err != nil {
		return fmt.Errorf("begin recording: %w", r.stuck(err))
	}
	r.heard = time.Now()
	return nil
}

// payloadsOf decodes a batch and refuses events that a recorder may not report.
func payloadsOf(batch []Recorded) ([]event.Payload, error) {
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

// reportedBy sets the credential id of the recording in an event with an actor,
// because the recorder chose the actor's name.
func reportedBy(p event.Payload, byID string) event.Payload {
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
		event.TurnInterrupted, event.InterruptionSettled:
		return "the hub writes " + string(p.EventType()) + " itself"
	case event.Note:
		if p.Stated() {
			return "the hub writes notes of method abide/… itself: one that an agent sent has from: agent"
		}
	case event.UserPrompt:
		if p.PromptID == "" {
			return "a user_prompt has a prompt_id"
		}
	case event.Unknown:
		if !bytes.HasPrefix(bytes.TrimSpace(p.Raw), []byte("{")) {
			return "the data of an event is an object"
		}
	}
	return ""
}

func (r *recording) take(recorderID string, after event.Seq, payloads []event.Payload) (event.Seq, error) {
	if err := r.hear(recorderID); err != nil {
		return 0, err
	}
	if len(payloads) == 0 {
		return r.fold.Seq, nil
	}
	if after > r.fold.Seq || after < 1 {
		return 0, fmt.Errorf("%w: the log ends at seq %d", state.ErrConflict, r.fold.Seq)
	}
	known, err := r.known(after, payloads)
	if err != nil {
		return 0, err
	}
	payloads = payloads[known:]
	if len(payloads) == 0 {
		return r.fold.Seq, nil
	}
	list, err := r.fold.Placed(payloads)
	if err != nil {
		return 0, err
	}
	first, err := r.write(list...)
	if errors.Is(err, journal.ErrInvalid) { // too large for a line
		return 0, fmt.Errorf("%w: record events: %w", state.ErrInvalid, err)
	}
	if err != nil {
		return 0, fmt.Errorf("record events: %w", r.stuck(err))
	}
	r.follow(first, list)
	return r.fold.Seq, nil
}

// hear notes the time of a report. It returns an error unless the report comes from
// this session's recorder.
func (r *recording) hear(recorderID string) error {
	if recorderID == "" || recorderID != r.fold.Recorder.ID || !r.fold.Recorder.Open {
		return fmt.Errorf("%w: this recorder no longer records the session", state.ErrConflict)
	}
	r.heard = time.Now()
	return nil
}

// known counts the payloads that are already in the log after a seq. If other
// events are there it is ErrConflict.
func (r *recording) known(after event.Seq, payloads []event.Payload) (known int, err error) {
	for after < r.fold.Seq {
		batch, through, err := r.log.ReadWritten(context.Background(), after, foldBatch)
		if err != nil {
			return 0, fmt.Errorf("compare with the log: %w", logError(err))
		}
		if through == after {
			break
		}
		events, err := batch.Events()
		if err != nil {
			return 0, fmt.Errorf("compare with the log: %w", err)
		}
		for _, there := range events {
			switch there.Type {
			case event.TypeSegmentStart, event.TypeEpoch, event.TypeLogTruncated:
				continue // written by the log itself
			}
			if known == len(payloads) || !sameEvent(there, payloads[known]) {
				return 0, fmt.Errorf("%w: another event is in the log at seq %d", state.ErrConflict, there.Seq)
			}
			known++
		}
		after = through
	}
	return known, nil
}

// sameEvent reports whether an event of the log has this payload. A value stored as
// a blob is compared by its checksum.
func sameEvent(there event.Event, p event.Payload) bool {
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

// follow updates the turn and the ledger from the log.
func (r *recording) follow(first event.Seq, list []state.Entry) {
	for i, n := range list {
		switch p := n.Payload.(type) {
		case event.UserPrompt:
			now := time.Now()
			*r.turn = turnRun{prompt: p, since: now, given: true}
			r.queue.Enter(queue.Entry{
				PromptID: p.PromptID, Hash: queue.Hash(string(p.Text), toQueue(p.Attachments)),
				Outcome: queue.Received, Seq: int64(first) + int64(i), At: now,
			})
			r.dirty = true
		case event.TurnEnd:
			*r.turn = turnRun{}
			r.list.flush, r.dirty = true, true
		}
	}
}

func (r *recording) close(end event.SessionEnd, reason event.StopReason) error {
	if _, err := r.write(r.fold.Closed(end, reason)...); err != nil {
		return fmt.Errorf("end recording: %w", r.stuck(err))
	}
	*r.turn = turnRun{}
	r.queue.Advance(int64(r.fold.Seq))
	r.list.flush = true
	return nil
}

// watch closes the session of a lost recorder.
func (r *recording) watch(now time.Time) {
	if r.heard.IsZero() {
		r.heard = now // this run has yet to hear of it
	}
	if at := r.heard.Add(recorderSilence); now.Before(at) {
		r.wake(at)
		return
	}
	end := event.SessionEnd{Reason: "the recorder went silent", By: state.ByHub}
	if err := r.close(end, event.StopAgentExit); err != nil {
		r.logger.Warn("session of a silent recorder cannot be closed yet", "err", err)
		r.wake(now.Add(probeInterval))
	}
}

// errRecording is a verb on a session that a program records.
var errRecording = fmt.Errorf("%w: a program records this session; until that ends it can only be watched", state.ErrConflict)

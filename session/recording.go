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
	"strings"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// recorderSilence is how long a recorder may say nothing before the session is closed
// as after a crash.
const recorderSilence = 30 * time.Second

// mostOfType bounds the name of an event's type, in bytes: every line repeats it.
const mostOfType = 100

// noteRecording says in the log that a program records the session. A session_end ends
// the recording.
const noteRecording = "abide/recording"

// recorder is the program that records a session, as the log tells it.
type recorder struct {
	ID   string `json:"id"`
	Open bool   `json:"open,omitempty"`
}

// Recording is a session that a program records.
type Recording struct {
	Session    *BackgroundSession
	RecorderID string
	// MaxSeq is the last event: the first batch comes after it.
	MaxSeq event.Seq
}

// Recorded is an event that a recorder reports.
type Recorded struct {
	Type event.Type      `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Record makes a session for a program that reports its events with
// BackgroundSession.Record. The agent need not be configured, and the workspace may
// be any directory: the hub starts nothing in it. Until the recording ends, every
// other verb that would write is ErrConflict. With a key it makes one session,
// however often it is sent.
func (m *Manager) Record(ctx context.Context, r CreateRequest) (Recording, error) {
	if r.Prompt != "" {
		return Recording{}, fmt.Errorf("%w: a recorder reports its prompts", ErrInvalid)
	}
	if r.Agent == "" || len(r.Agent) > 100 || !printable(r.Agent) {
		return Recording{}, fmt.Errorf("%w: a recording names its agent, in at most 100 printable bytes", ErrInvalid)
	}
	r.recorded = true
	b, err := m.createOnce(ctx, r)
	if err != nil {
		return Recording{}, err
	}
	return ask(ctx, b, func(e *engine) (Recording, error) {
		if err := e.recording.begin(r.Actor); err != nil {
			return Recording{}, err
		}
		return Recording{Session: b, RecorderID: e.fold.recorder.ID, MaxSeq: e.fold.seq}, nil
	})
}

// recording takes the reports of the program that records the session.
type recording struct {
	*journal
	turn  *turnRun
	heard time.Time // when the program was last heard
}

// begin puts the recorder into the log, once.
func (r *recording) begin(actor event.Actor) error {
	if r.fold.recorder.Open {
		return nil // the same request again
	}
	if r.fold.recorder.ID != "" || r.fold.turn > 0 {
		return fmt.Errorf("%w: this key made a session whose recording has ended", ErrConflict)
	}
	id := make([]byte, 16)
	rand.Read(id)
	raw, err := json.Marshal(recorder{ID: hex.EncodeToString(id), Open: true})
	if err != nil { // a struct of strings
		panic(err)
	}
	note := event.Note{Method: noteRecording, Text: event.Text("Recorded by " + actor.Name + "."), Raw: raw, By: actor.Name, ByID: actor.ID}
	if _, err := r.write(r.entries(note)...); err != nil {
		return fmt.Errorf("begin recording: %w", r.b.stuck(err))
	}
	r.heard = time.Now()
	return nil
}

// foldRecording follows the recorder.
func (f *fold) foldRecording(n event.Note) bool {
	return n.Method == noteRecording && json.Unmarshal(n.Raw, &f.recorder) == nil
}

// Record writes a batch that a recorder reports after the seq after, all of it or
// nothing, and returns the last seq. The same batch after the same seq again writes
// nothing twice, also when a crash cut it; another batch there is ErrConflict. An empty
// batch says that the recorder is there.
func (b *BackgroundSession) Record(ctx context.Context, recorderID string, after event.Seq, batch []Recorded) (event.Seq, error) {
	payloads, err := payloadsOf(batch)
	if err != nil {
		return 0, err
	}
	byID := b.log.Metadata().CreatedByID
	for i, p := range payloads {
		payloads[i] = reportedBy(p, byID)
	}
	return ask(ctx, b, func(e *engine) (event.Seq, error) { return e.recording.take(recorderID, after, payloads) })
}

// payloadsOf decodes a batch, and refuses what a recorder may not report.
func payloadsOf(batch []Recorded) ([]event.Payload, error) {
	payloads := make([]event.Payload, 0, len(batch))
	for i, r := range batch {
		if r.Type == "" || len(r.Type) > mostOfType || !printable(string(r.Type)) {
			return nil, fmt.Errorf("%w: event %d of the batch: an event has a type of at most %d printable bytes", ErrInvalid, i, mostOfType)
		}
		p, err := event.Event{Type: r.Type, Data: r.Data}.Payload()
		if err != nil {
			return nil, fmt.Errorf("%w: event %d of the batch: %w", ErrInvalid, i, err)
		}
		if why := notReported(p); why != "" {
			return nil, fmt.Errorf("%w: event %d of the batch: %s", ErrInvalid, i, why)
		}
		payloads = append(payloads, p)
	}
	return payloads, nil
}

// reportedBy gives an event with an actor the id of the credential that made the
// recording, because the actor's name is the recorder's claim.
func reportedBy(p event.Payload, byID string) event.Payload {
	of := func(by string) string {
		if by == "" {
			return ""
		}
		return byID
	}
	switch p := p.(type) {
	case event.UserPrompt:
		p.ByID = of(p.Actor)
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
		return p
	}
	return p
}

// notReported says why a recorder may not report an event, or nothing.
func notReported(p event.Payload) string {
	switch p := p.(type) {
	case event.SessionStart, event.SessionEnd, event.SegmentStart, event.Epoch, event.LogTruncated, event.Corrupt,
		event.TurnInterrupted, event.InterruptionSettled:
		return "the hub writes " + string(p.EventType()) + " itself"
	case event.Note:
		if strings.HasPrefix(p.Method, "abide/") {
			return "the hub writes notes of method abide/… itself"
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
		return r.fold.seq, nil
	}
	if after > r.fold.seq || after < 1 {
		return 0, fmt.Errorf("%w: the log ends at seq %d", ErrConflict, r.fold.seq)
	}
	known, err := r.known(after, payloads)
	if err != nil {
		return 0, err
	}
	payloads = payloads[known:]
	if len(payloads) == 0 {
		return r.fold.seq, nil
	}
	list, err := r.fold.placed(payloads)
	if err != nil {
		return 0, err
	}
	first, err := r.write(list...)
	if errors.Is(err, store.ErrInvalid) { // too large for a line
		return 0, fmt.Errorf("%w: record events: %w", ErrInvalid, err)
	}
	if err != nil {
		return 0, fmt.Errorf("record events: %w", r.b.stuck(err))
	}
	r.follow(first, list)
	return r.fold.seq, nil
}

// hear notes the time of a report, and returns nil for the recorder of this
// session.
func (r *recording) hear(recorderID string) error {
	if recorderID == "" || recorderID != r.fold.recorder.ID || !r.fold.recorder.Open {
		return fmt.Errorf("%w: this recorder does not record the session, or no longer", ErrConflict)
	}
	r.heard = time.Now()
	return nil
}

// known counts the payloads that are in the log behind a seq already. It is
// ErrConflict if anything else is there.
func (r *recording) known(after event.Seq, payloads []event.Payload) (known int, err error) {
	for after < r.fold.seq {
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
				continue // the log's own
			}
			if known == len(payloads) || !sameEvent(there, payloads[known]) {
				return 0, fmt.Errorf("%w: another event is in the log at seq %d", ErrConflict, there.Seq)
			}
			known++
		}
		after = through
	}
	return known, nil
}

// sameEvent reports whether an event of the log is this payload. A value that became a
// blob is compared by its checksum.
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

// placed gives each payload of a batch its turn, and refuses payloads that no session
// can hold.
func (f *fold) placed(payloads []event.Payload) ([]entry, error) {
	turn, open := f.turn, f.open
	var batch toolCalls // the calls that events of this batch are about
	list := make([]entry, 0, len(payloads))
	for _, p := range payloads {
		tools := &f.tools
		if _, known := batch.turn(toolCallID(p)); known {
			tools = &batch
		}
		at := tools.turnOf(p, turn, open)
		switch p := p.(type) {
		case event.UserPrompt:
			if open {
				return nil, fmt.Errorf("%w: a turn is open: its turn_end comes before the next user_prompt", ErrInvalid)
			}
			turn, open = turn+1, true
			at = turn
		case event.TurnEnd:
			if !open {
				return nil, fmt.Errorf("%w: no turn is open that a turn_end could end", ErrInvalid)
			}
			open = false
		case event.ToolCall:
			batch.see(0, at, p.ToolCallFields)
		case event.ToolCallUpdate:
			batch.see(0, at, p.ToolCallFields)
		}
		list = append(list, entry{at, p})
	}
	return list, nil
}

// follow brings the turn and the ledger to where the log is.
func (r *recording) follow(first event.Seq, list []entry) {
	for i, n := range list {
		switch p := n.payload.(type) {
		case event.UserPrompt:
			now := time.Now()
			*r.turn = turnRun{prompt: p, since: now, given: true}
			r.saved("enter prompt", r.queue.Enter(queue.Entry{
				PromptID: p.PromptID, Hash: queue.Hash(string(p.Text), toQueue(p.Attachments)),
				Outcome: queue.Received, Seq: int64(first) + int64(i), At: now,
			}))
			r.dirty = true
		case event.TurnEnd:
			*r.turn = turnRun{}
			r.list.flush, r.dirty = true, true
		}
	}
}

// EndRecording closes the recorder's open calls and ends the session, which is then
// one like any other. The same again changes nothing.
func (b *BackgroundSession) EndRecording(ctx context.Context, recorderID, reason string, actor event.Actor) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return tell(ctx, b, func(e *engine) error {
		if recorderID != "" && recorderID == e.fold.recorder.ID && !e.fold.recorder.Open {
			return nil
		}
		if err := e.recording.hear(recorderID); err != nil {
			return err
		}
		err := e.recording.close(endOf(reason, actor), event.StopInterrupted)
		e.listing.keep(time.Now())
		return err
	})
}

// closed are the events that end a recording, with its turn and calls that are open.
func (f *fold) closed(end event.SessionEnd, reason event.StopReason) []entry {
	list := closings(f, func(toolCall) bool { return true }, string(reason))
	if f.open {
		list = append(list, entry{f.turn, event.TurnEnd{PromptID: f.promptID, StopReason: reason}})
	}
	return append(list, entry{f.turn, end})
}

func (r *recording) close(end event.SessionEnd, reason event.StopReason) error {
	if _, err := r.write(r.fold.closed(end, reason)...); err != nil {
		return fmt.Errorf("end recording: %w", r.b.stuck(err))
	}
	*r.turn = turnRun{}
	r.saved("follow the log", r.queue.Advance(int64(r.fold.seq)))
	r.list.flush = true
	return nil
}

// watch closes the session of a recorder that has gone.
func (r *recording) watch(now time.Time) {
	if r.heard.IsZero() {
		r.heard = now // this run has yet to hear of it
	}
	if at := r.heard.Add(recorderSilence); now.Before(at) {
		r.wake(at)
		return
	}
	end := event.SessionEnd{Reason: "the recorder went silent", By: byHub}
	if err := r.close(end, event.StopAgentExit); err != nil {
		r.logger.Warn("session of a silent recorder cannot be closed yet", "err", err)
		r.wake(now.Add(probeInterval))
	}
}

// errRecording is a verb on a session that a program records.
var errRecording = fmt.Errorf("%w: a program records this session; until that ends it can only be watched", ErrConflict)

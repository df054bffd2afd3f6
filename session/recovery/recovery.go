// Package recovery restores the state of a session from its log and its queue.
package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// batchBytes is how much of a log is read at once while it is folded, in bytes.
const batchBytes = 4 << 20

// FoldName is the file in a session's derived directory that holds its fold.
const FoldName = "fold.json"

// Recovery restores a session from its log and its queue: open calls, the outcome
// of each prompt, the turn that a crash interrupted. Meanwhile observers may read the
// log. It may be interrupted and repeated at any point.
type Recovery struct {
	// Queue is the session's queue, and Fold the state as far as the log was read.
	Queue *queue.Queue
	Fold  state.Fold
	// Told is called with the last seq that was read, as reading goes on.
	Told func(event.Seq)

	log journal.Log

	// Facts about prompts in the log that the ledger does not have yet.
	entries     []queue.Entry
	byID        map[string]int
	cut         []queue.Entry // interruptions of prompts the ledger knows
	ledgerAfter event.Seq

	headers []event.Header // of the batch being read; reused
}

// New begins from the stored fold of the log. It reads nothing yet.
func New(log journal.Log, q *queue.Queue, delegating []string) *Recovery {
	f := loadFold(log.Derived(), log.Epoch(), log.Marks().Visible)
	f.Tools.Delegating = delegating
	return From(log, q, f)
}

// loadFold returns the stored fold of the log with this epoch and with visible
// events up to visible, or an empty fold.
func loadFold(d journal.Derived, epoch string, visible event.Seq) state.Fold {
	data, err := d.Read(FoldName)
	if err != nil {
		return state.Fold{}
	}
	f, of, err := state.Decode(data)
	if err != nil || of != epoch || f.Seq > visible {
		return state.Fold{}
	}
	return f
}

// From continues from a fold of the log's beginning.
func From(log journal.Log, q *queue.Queue, f state.Fold) *Recovery {
	if event.Seq(q.LogSeq()) > log.Marks().Visible {
		// The queue belongs to another history of this session, such as that before
		// a backup was restored.
		q.Rewind()
	}
	return &Recovery{log: log, Queue: q, Fold: f, byID: map[string]int{}, ledgerAfter: event.Seq(q.LogSeq()), Told: func(event.Seq) {}}
}

// Behind is how many events Run has to read.
func (r *Recovery) Behind() event.Seq {
	return r.log.Marks().Visible - min(r.Fold.Seq, r.ledgerAfter)
}

// Run reads the log and the queue and closes open turns and calls.
func (r *Recovery) Run(ctx context.Context) (state.Fold, error) {
	if err := r.Read(ctx, min(r.Fold.Seq, r.ledgerAfter)); err != nil {
		return state.Fold{}, err
	}
	if r.Fold.Recorder.Open || r.log.Metadata().Imported {
		// The recorder may still be running and continues. An imported session is
		// read-only.
		r.followLog()
		return r.Fold, nil
	}
	if err := r.closeOpen(ctx); err != nil {
		return state.Fold{}, err
	}
	r.followLog()
	return r.Fold, nil
}

// Read folds the log from after on. The fold and the ledger may be at different
// positions; each takes the events that it lacks. It skips removed events, also
// those removed meanwhile, and placeholders, because one line with a high seq can
// stand for any number of them.
func (r *Recovery) Read(ctx context.Context, after event.Seq) error {
	for {
		batch, through, err := r.log.ReadWritten(ctx, after, batchBytes)
		if kept := r.log.Marks().Min - 1; errors.Is(err, journal.ErrRemoved) && after < kept {
			after = kept
			continue
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if through == after {
			return nil
		}
		if err := r.takeAll(batch); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		r.Fold.Seq = max(r.Fold.Seq, through)
		after = through
		r.Told(after)
	}
}

// takeAll takes the events of a batch. Most events of a long log are chunks or
// types that the fold does not use: those are not decoded.
func (r *Recovery) takeAll(b event.Batch) error {
	headers := slices.AppendSeq(r.headers[:0], b.Headers())
	r.headers = headers
	said := lastSaid(headers)
	for i, g := range headers {
		if idle := g.Type == event.TypeAgentMessage && i < said; idle || g.Type != "" && !state.Uses(g.Type) {
			continue
		}
		if seq, m, ok := g.Chunk(); ok {
			if seq > r.Fold.Seq {
				r.Fold.Apply(seq, time.Time{}, 0, m) // of any turn: a chunk moves none
			}
			continue
		}
		e, err := g.Event()
		if err != nil {
			return err
		}
		r.take(e)
	}
	r.Fold.Seq = max(r.Fold.Seq, b.Last)
	return nil
}

// lastSaid returns the index of the newest event that has a complete text, so that
// no earlier chunk can be in the last line. It skips events that cannot be decoded.
// Without such an event it returns 0.
func lastSaid(headers []event.Header) int {
	for i, g := range slices.Backward(headers) {
		if g.Type != event.TypeUserPrompt && g.Type != event.TypeError {
			continue
		}
		if e, err := g.Event(); err == nil {
			if _, err := e.Payload(); err == nil {
				return i
			}
		}
	}
	return 0
}

func (r *Recovery) take(e event.Event) {
	if e.Seq > r.Fold.Seq {
		r.Fold.ApplyEvent(e)
	}
	if e.Seq <= r.ledgerAfter {
		return
	}
	switch e.Type {
	case event.TypeUserPrompt:
		if p, err := e.Payload(); err == nil {
			r.sawPrompt(p.(event.UserPrompt), e)
		}
	case event.TypeTurnEnd:
		if p, err := e.Payload(); err == nil {
			end := p.(event.TurnEnd)
			if state.Interrupts(end.StopReason) {
				r.sawInterruption(end.PromptID, e.Seq, e.Time)
			}
		}
	}
}

func (r *Recovery) sawPrompt(p event.UserPrompt, e event.Event) {
	if p.PromptID == "" {
		return
	}
	r.byID[p.PromptID] = len(r.entries)
	r.entries = append(r.entries, queue.Entry{
		PromptID: p.PromptID,
		Hash:     r.originalHash(p, e),
		Outcome:  queue.Received,
		Seq:      int64(e.Seq),
		At:       e.Time,
	})
}

// originalHash returns the hash of a prompt as it first came, as far as the log
// shows. A queued prompt may have been edited, so its event contains the hash. If
// the log is too old for that, or a part of a very long prompt is lost, the hash is
// empty, which matches any resend.
func (r *Recovery) originalHash(p event.UserPrompt, e event.Event) string {
	if p.QueuedAt != nil {
		return p.OriginalHash
	}
	text := string(p.Text)
	if isBlob(e, "text") {
		var err error
		if text, err = r.wholeText(e); err != nil {
			return ""
		}
	}
	var attachments []queue.Attachment
	for _, a := range p.Attachments {
		attachments = append(attachments, queue.Attachment(a))
	}
	return queue.Hash(text, attachments)
}

// wholeText reads a prompt's text that was too large for its line.
func (r *Recovery) wholeText(e event.Event) (string, error) {
	var data struct{ Text event.BlobRef }
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return "", err
	}
	blob, err := r.log.OpenBlob(data.Text.Blob.SHA256)
	if err != nil {
		return "", err
	}
	defer blob.Close()
	text, err := io.ReadAll(blob)
	return string(text), err
}

func (r *Recovery) sawInterruption(promptID string, seq event.Seq, at time.Time) {
	if i, known := r.byID[promptID]; known {
		r.entries[i].Outcome = queue.Interrupted
		return
	}
	r.cut = append(r.cut, queue.Entry{PromptID: promptID, Seq: int64(seq), At: at})
}

// closeOpen ends the open turn and calls of the previous run, whose agent is gone.
func (r *Recovery) closeOpen(ctx context.Context) error {
	f := &r.Fold
	list := f.Closings(func(state.ToolCall) bool { return true }, string(event.StopHubRestart))
	if f.Open {
		reason := event.CutHubRestart
		if f.Pauses.Now != nil {
			reason = event.CutPersonPaused
		}
		cut := f.CutOff(reason)
		cut.LastAt = r.lastOfTurn(ctx)
		list = append(list, state.Entry{Turn: f.Turn, Payload: cut})
		list = append(list, state.Entry{Turn: f.Turn, Payload: event.TurnEnd{PromptID: f.PromptID, StopReason: event.StopHubRestart}})
	}
	if len(list) == 0 {
		return nil
	}
	now := time.Now()
	drafts, err := state.Drafts(list, now)
	if err != nil {
		return fmt.Errorf("close the open turn and calls of a crash: %w", err)
	}
	wasOpen, promptID := f.Open, f.PromptID
	first, last, err := r.log.Append(ctx, r.Fold.Seq+1, drafts...)
	if err != nil {
		return fmt.Errorf("close the open turn and calls of a crash: %w", problem.OfLog(err))
	}
	for i, n := range list {
		at := now.UTC().Truncate(time.Microsecond) // as stored in the line
		f.Apply(first+event.Seq(i), at, n.Turn, n.Payload)
	}
	if wasOpen {
		r.sawInterruption(promptID, last, now)
	}
	return nil
}

// lastOfTurn returns the time of the open turn's last event; nil if it is not among the
// newest thousand, which placeholders may fill.
func (r *Recovery) lastOfTurn(ctx context.Context) *time.Time {
	before := event.Seq(0)
	for range 10 {
		page, err := r.log.ReadBefore(ctx, before, 100)
		if err != nil {
			return nil
		}
		events, err := page.Events()
		if err != nil || len(events) == 0 {
			return nil
		}
		for _, e := range slices.Backward(events) {
			if e.Turn == r.Fold.Turn && e.Type != event.TypeCorrupt {
				return &e.Time
			}
		}
		before = events[0].Seq
	}
	return nil
}

// followLog updates the ledger from the log. The session's engine writes the file.
func (r *Recovery) followLog() {
	if len(r.entries) > 0 {
		r.Queue.Enter(r.entries...)
	}
	for _, c := range r.cut {
		r.Queue.Interrupt(c.PromptID, c.Seq, c.At)
	}
	r.Queue.Advance(int64(r.Fold.Seq))
}

// isBlob reports whether a field of an event's data became a blob.
func isBlob(e event.Event, field string) bool {
	var data map[string]json.RawMessage
	if json.Unmarshal(e.Data, &data) != nil {
		return false
	}
	value := data[field]
	return len(value) > 0 && value[0] == '{'
}

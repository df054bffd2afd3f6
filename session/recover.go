package session

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

// foldBatch is how much of a log is read at once while it is folded, in bytes.
const foldBatch = 4 << 20

// recovery restores a session from its log and its queue: open calls, the outcome
// of each prompt, the turn that a crash interrupted. Meanwhile observers may read the
// log. It may be interrupted and repeated at any point.
type recovery struct {
	log   journal.Log
	queue *queue.Queue
	fold  state.Fold
	told  func(event.Seq) // called with the last seq that was read, as reading goes on
	// cutNow is the interruption that the recovery wrote; nil if none.
	cutNow *event.TurnInterrupted

	// Facts about prompts in the log that the ledger does not have yet.
	entries     []queue.Entry
	byID        map[string]int
	cut         []queue.Entry // interruptions of prompts the ledger knows
	ledgerAfter event.Seq

	headers []event.Header // of the batch being read; reused
}

// newRecovery begins from the stored fold of the log. It reads nothing yet.
func newRecovery(log journal.Log, q *queue.Queue, delegating []string) *recovery {
	f := loadFold(log.Derived(), log.Epoch(), log.Marks().Visible)
	f.Tools.Delegating = delegating
	return recoveryFrom(log, q, f)
}

// recoveryFrom continues from a fold of the log's beginning.
func recoveryFrom(log journal.Log, q *queue.Queue, f state.Fold) *recovery {
	if event.Seq(q.LogSeq()) > log.Marks().Visible {
		// The queue belongs to another history of this session, such as that before
		// a backup was restored.
		q.Rewind()
	}
	return &recovery{log: log, queue: q, fold: f, byID: map[string]int{}, ledgerAfter: event.Seq(q.LogSeq()), told: func(event.Seq) {}}
}

// behind is how many events run has to read.
func (r *recovery) behind() event.Seq {
	return r.log.Marks().Visible - min(r.fold.Seq, r.ledgerAfter)
}

// run reads the log and the queue and closes open turns and calls.
func (r *recovery) run(ctx context.Context) (state.Fold, error) {
	if err := r.read(ctx, min(r.fold.Seq, r.ledgerAfter)); err != nil {
		return state.Fold{}, err
	}
	if r.fold.Recorder.Open || r.log.Metadata().Imported {
		// The recorder may still be running and continues. An imported session is
		// read-only.
		r.followLog()
		return r.fold, nil
	}
	if err := r.closeOpen(ctx); err != nil {
		return state.Fold{}, err
	}
	r.followLog()
	return r.fold, nil
}

// read folds the log from after on. The fold and the ledger may be at different
// positions; each takes the events that it lacks. It skips removed events, also
// those removed meanwhile, and placeholders, because one line with a high seq can
// stand for any number of them.
func (r *recovery) read(ctx context.Context, after event.Seq) error {
	for {
		batch, through, err := r.log.ReadWritten(ctx, after, foldBatch)
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
		r.fold.Seq = max(r.fold.Seq, through)
		after = through
		r.told(after)
	}
}

// takeAll takes the events of a batch. Most events of a long log are chunks or
// types that the fold does not use: those are not decoded.
func (r *recovery) takeAll(b event.Batch) error {
	headers := slices.AppendSeq(r.headers[:0], b.Headers())
	r.headers = headers
	said := lastSaid(headers)
	for i, g := range headers {
		if idle := g.Type == event.TypeAgentMessage && i < said; idle || g.Type != "" && !state.Uses(g.Type) {
			continue
		}
		if seq, m, ok := g.Chunk(); ok {
			if seq > r.fold.Seq {
				r.fold.Apply(seq, time.Time{}, 0, m) // of any turn: a chunk moves none
			}
			continue
		}
		e, err := g.Event()
		if err != nil {
			return err
		}
		r.take(e)
	}
	r.fold.Seq = max(r.fold.Seq, b.Last)
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

func (r *recovery) take(e event.Event) {
	if e.Seq > r.fold.Seq {
		r.fold.ApplyEvent(e)
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
			if interrupted(end.StopReason) {
				r.sawInterruption(end.PromptID, e.Seq, e.Time)
			}
		}
	}
}

func (r *recovery) sawPrompt(p event.UserPrompt, e event.Event) {
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
func (r *recovery) originalHash(p event.UserPrompt, e event.Event) string {
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
	return queue.Hash(text, toQueue(p.Attachments))
}

// wholeText reads a prompt's text that was too large for its line.
func (r *recovery) wholeText(e event.Event) (string, error) {
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

func (r *recovery) sawInterruption(promptID string, seq event.Seq, at time.Time) {
	if i, known := r.byID[promptID]; known {
		r.entries[i].Outcome = queue.Interrupted
		return
	}
	r.cut = append(r.cut, queue.Entry{PromptID: promptID, Seq: int64(seq), At: at})
}

// closeOpen ends the open turn and calls of the previous run, whose agent is gone.
func (r *recovery) closeOpen(ctx context.Context) error {
	f := &r.fold
	list := f.Closings(func(state.ToolCall) bool { return true }, string(event.StopHubRestart))
	if f.Open {
		list = append(list, state.Entry{Turn: f.Turn, Payload: f.CutOff(event.CutHubRestart)})
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
	first, last, err := r.log.Append(ctx, r.fold.Seq+1, drafts...)
	if err != nil {
		return fmt.Errorf("close the open turn and calls of a crash: %w", problem.OfLog(err))
	}
	for i, n := range list {
		at := now.UTC().Truncate(time.Microsecond) // as stored in the line
		f.Apply(first+event.Seq(i), at, n.Turn, n.Payload)
		if cut, is := n.Payload.(event.TurnInterrupted); is {
			r.cutNow = &cut
		}
	}
	if wasOpen {
		r.sawInterruption(promptID, last, now)
	}
	return nil
}

// followLog updates the ledger from the log. The session's engine writes the file.
func (r *recovery) followLog() {
	if len(r.entries) > 0 {
		r.queue.Enter(r.entries...)
	}
	for _, c := range r.cut {
		r.queue.Interrupt(c.PromptID, c.Seq, c.At)
	}
	r.queue.Advance(int64(r.fold.Seq))
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

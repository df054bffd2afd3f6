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
	"github.com/abidehub/abide/session/store"
)

// foldBatch is how much of a log is read at once while it is folded, in bytes.
const foldBatch = 4 << 20

// recovery restores a session from its log and its queue: its open calls, the
// outcome of each prompt, the turn that a crash cut off. It runs before the session
// has observers and may be interrupted and repeated at any point.
type recovery struct {
	log   *store.Log
	queue *queue.Queue
	fold  fold

	// The log's facts about prompts that the ledger does not have yet.
	entries     []queue.Entry
	byID        map[string]int
	cut         []queue.Entry // interruptions of prompts the ledger knows
	ledgerAfter event.Seq

	headers []event.Header // of the batch that is read; kept for its room
}

// recoverSession reads the log and the queue and closes open turns and calls.
// stored is the last event of the fold that was written down.
func recoverSession(ctx context.Context, log *store.Log, q *queue.Queue, delegating []string) (f fold, stored event.Seq, err error) {
	f = loadFold(log.Derived(), log.Epoch(), log.Marks().Visible)
	f.tools.delegating, stored = delegating, f.seq
	f, err = catchUp(ctx, log, q, f)
	return f, stored, err
}

// catchUp goes on from a fold of the log's beginning.
func catchUp(ctx context.Context, log *store.Log, q *queue.Queue, f fold) (fold, error) {
	if event.Seq(q.LogSeq()) > log.Marks().Visible {
		// The queue followed another history of this session, say one that a
		// backup replaced.
		q.Rewind()
	}
	r := &recovery{log: log, queue: q, fold: f, byID: map[string]int{}, ledgerAfter: event.Seq(q.LogSeq())}
	if err := r.read(ctx, min(f.seq, r.ledgerAfter)); err != nil {
		return fold{}, err
	}
	if r.fold.recorder.Open || log.Metadata().Imported {
		// Its recorder may be there still, and goes on; nothing is added to an
		// imported session.
		_ = r.followLog()
		return r.fold, nil
	}
	if err := r.closeOpen(ctx); err != nil {
		return fold{}, err
	}
	// A queue file that cannot be written now is behind the log as before; what
	// counts is in memory, and the next save catches up.
	_ = r.followLog()
	return r.fold, nil
}

// read folds the log from after on. The fold and the ledger may be at different
// places; each takes the events it does not have yet. Events that retention
// removed, also meanwhile, are passed over; so are placeholders, as one line with a
// seq far ahead stands for any number of them.
func (r *recovery) read(ctx context.Context, after event.Seq) error {
	for {
		batch, through, err := r.log.ReadWritten(ctx, after, foldBatch)
		if kept := r.log.Marks().Min - 1; errors.Is(err, store.ErrRemoved) && after < kept {
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
		r.fold.seq = max(r.fold.seq, through)
		after = through
	}
}

// takeAll takes the events of a batch. Most of a long log are events that the fold
// does not use, and chunks of messages of which only the newest count: those are
// not decoded.
func (r *recovery) takeAll(b event.Batch) error {
	headers := slices.AppendSeq(r.headers[:0], b.Headers())
	r.headers = headers
	said := lastSaid(headers)
	for i, g := range headers {
		if idle := g.Type == event.TypeAgentMessage && i < said; idle || g.Type != "" && !folded(g.Type) {
			continue
		}
		if seq, m, ok := g.Chunk(); ok {
			if seq > r.fold.seq {
				r.fold.apply(seq, 0, m) // of any turn: a chunk moves none
			}
			continue
		}
		e, err := g.Event()
		if err != nil {
			return err
		}
		r.take(e)
	}
	r.fold.seq = max(r.fold.seq, b.Last)
	return nil
}

// lastSaid is the place of the newest event that says a whole text, so that no
// chunk before it is in the last line any more. One that may not be decoded does
// not count; without any it is 0.
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
	if e.Seq > r.fold.seq {
		r.fold.applyEvent(e)
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

// originalHash is the hash of a prompt as it first came, as far as the log can
// tell: a queued prompt has it in its event, as it may have been edited meanwhile.
// Where the log is older than that, or the rest of a very long prompt is lost, it
// is empty, which matches any resend.
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

// closeOpen ends the open turn and calls of the run before: its agent is gone.
func (r *recovery) closeOpen(ctx context.Context) error {
	f := &r.fold
	list := closings(f, func(toolCall) bool { return true }, string(event.StopHubRestart))
	if f.open {
		list = append(list, entry{f.turn, f.cutOff(event.CutHubRestart)})
		list = append(list, entry{f.turn, event.TurnEnd{PromptID: f.promptID, StopReason: event.StopHubRestart}})
	}
	if len(list) == 0 {
		return nil
	}
	now := time.Now()
	drafts, err := draftsOf(list, now)
	if err != nil {
		return fmt.Errorf("close what a crash left open: %w", err)
	}
	wasOpen, promptID := f.open, f.promptID
	first, last, err := r.log.Append(ctx, drafts...)
	if err != nil {
		return fmt.Errorf("close what a crash left open: %w", logError(err))
	}
	for i, n := range list {
		f.at = now.UTC().Truncate(time.Microsecond) // as the line has it
		f.apply(first+event.Seq(i), n.turn, n.payload)
		if cut, is := n.payload.(event.TurnInterrupted); is {
			f.cutNow = &cut
		}
	}
	if wasOpen {
		r.sawInterruption(promptID, last, now)
	}
	return nil
}

// followLog brings the ledger to where the log is.
func (r *recovery) followLog() error {
	if len(r.entries) > 0 {
		if err := r.queue.Enter(r.entries...); err != nil {
			return err
		}
	}
	for _, c := range r.cut {
		if err := r.queue.Interrupt(c.PromptID, c.Seq, c.At); err != nil {
			return err
		}
	}
	return r.queue.Advance(int64(r.fold.seq))
}

// closings are the events that end unfinished tool calls and open requests.
func closings(f *fold, which func(toolCall) bool, reason string) []entry {
	var list []entry
	for _, call := range f.tools.unfinished() {
		if which(call) {
			list = append(list, entry{call.turn, event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{
				ToolCallID: call.id, Status: event.ToolFailed, Synthetic: true,
			}}})
		}
	}
	for _, r := range f.permissions.open {
		list = append(list, entry{r.Turn, r.cancelled(theHub(), reason)})
	}
	return list
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

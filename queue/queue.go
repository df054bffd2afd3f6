package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/abidehub/abide/internal/jsonfile"
)

var (
	// ErrNotFound means that the prompt does not wait in the queue.
	ErrNotFound = errors.New("not in the queue")
	// ErrConflict means that the prompt id came before with another payload.
	ErrConflict = errors.New("prompt id was used with another payload")
	// ErrInFlight means that the agent is just getting the prompt.
	ErrInFlight = errors.New("prompt is being sent")
	// ErrFull means that the queue has its maximum of prompts.
	ErrFull = errors.New("queue is full")
)

// Options are a queue's settings; the zero value is usable.
type Options struct {
	// MaxSize limits the waiting prompts; 0 means no limit.
	MaxSize int
}

// Status is the outcome of a prompt.
type Status struct {
	Outcome Outcome
	// Seq is the prompt's event when it is in the log.
	Seq int64
	// Position counts from 0 while the prompt waits.
	Position int
}

// Queue is one session's waiting prompts and the ledger of its prompt ids. It is
// not safe for concurrent use, except for the Write of a Save.
//
// Its methods do not write the file, because their caller must not wait for the
// device. They return a Save, or nil if there is nothing to write. The caller
// writes it, in any goroutine, and gives it to Settle. Saves are written and settled
// one after the other, in the order in which they were made.
//
// A change that a client requested (Add, Revise, Remove, Clear) takes effect in
// Settle, when it is on the device. It did not happen if that fails. Until then Take
// returns nothing, and no other change may be requested. A change that follows from
// the log (Enter, Advance, Interrupt) takes effect at once. Due returns its Save,
// and after a crash the log has the facts.
type Queue struct {
	files   Files
	maxSize int
	damage  *Damage
	missing bool

	now   contents
	old   archive
	taken string // prompt id of the item in flight

	version uint64 // of now: the number of changes in this run
	saved   uint64 // the version that is on the device
	saves   int    // Saves that are not settled
	asked   bool   // one of them is a client's change
	splitAt int    // the ledger's size from which its oldest entries move to the archive
	// failed is why the last save failed; nil if it worked.
	failed error
}

// Damage describes an unreadable queue file found by Open.
type Damage struct {
	// Cause is why the file was unreadable.
	Cause error
	// Aside is where the file was moved to: a name among the files. It is empty if
	// there were no bytes to keep.
	Aside string
}

// Open reads the queue among a session's files. If there is none, the queue is
// empty. An unreadable file is moved into quarantine/, Damage reports it, and the
// queue is empty too. In both cases LogSeq is 0: enter the
// log's prompts before using the queue.
func Open(files Files, o Options) (*Queue, error) {
	q := &Queue{files: files, maxSize: o.MaxSize, splitAt: 2*ledgerSize + 1}
	c, err := jsonFile(files).Load()
	var damaged *jsonfile.DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		q.missing = true
	case errors.As(err, &damaged):
		aside, err := setAside(files, time.Now())
		if err != nil {
			return nil, fmt.Errorf("open queue: %w", err)
		}
		q.damage = &Damage{Cause: damaged.Err, Aside: aside}
	case err != nil:
		return nil, fmt.Errorf("open queue: %w", err)
	}
	if q.missing || q.damage != nil {
		q.version++ // Flush makes a new file
	}
	q.now = c
	if q.old, err = loadArchive(files); err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return q, nil
}

// Reader reads small files of a session by name, as journal.Files does.
type Reader interface {
	Read(name string) ([]byte, error)
}

// Waiting reports, without opening the queue, whether the queue among a session's
// files has prompts, or is unreadable and should be opened.
func Waiting(files Reader) bool {
	data, err := files.Read(fileName)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	var c struct {
		Items []json.RawMessage `json:"items"`
	}
	return json.Unmarshal(data, &c) != nil || len(c.Items) > 0
}

// Damage returns the damage that Open found, or nil.
func (q *Queue) Damage() *Damage { return q.damage }

// Missing reports whether Open found no file.
func (q *Queue) Missing() bool { return q.missing }

// LogSeq is the seq up to which every prompt of the log is in the ledger.
func (q *Queue) LogSeq() int64 { return q.now.LogSeq }

// SetMaxSize changes the limit; prompts beyond it stay.
func (q *Queue) SetMaxSize(n int) { q.maxSize = n }

// Len is the number of waiting prompts, including one in flight.
func (q *Queue) Len() int { return len(q.now.Items) }

// Items returns the waiting prompts in order, including one in flight. The slice
// and its elements must not be changed.
func (q *Queue) Items() []Item { return q.now.Items }

// Lookup returns the outcome of a prompt id, if it is known. With another payload
// than at first it returns ErrConflict. Flush says whether the outcome is on the
// device, which must be so before a client is told.
func (q *Queue) Lookup(promptID, hash string) (Status, bool, error) {
	if i := q.index(promptID); i >= 0 {
		if q.now.Items[i].Hash != hash {
			return Status{}, true, fmt.Errorf("prompt %q: %w", promptID, ErrConflict)
		}
		return Status{Outcome: Queued, Position: i}, true, nil
	}
	e, ok := q.find(q.now.Ledger, promptID)
	if !ok {
		return Status{}, false, nil
	}
	if e.Hash != "" && e.Hash != hash {
		return Status{}, true, fmt.Errorf("prompt %q: %w", promptID, ErrConflict)
	}
	return Status{Outcome: e.Outcome, Seq: e.Seq}, true, nil
}

// Add appends a prompt, or puts it before the others. A known prompt id keeps its outcome, and the Save is that of
// Flush. Lookup returns the outcome after Settle.
func (q *Queue) Add(item Item) (*Save, error) {
	item.Hash = Hash(item.Text, item.Attachments)
	if _, known, err := q.Lookup(item.PromptID, item.Hash); err != nil {
		return nil, err
	} else if known {
		return q.Flush(), nil
	}
	if q.maxSize > 0 && len(q.now.Items) >= q.maxSize {
		return nil, fmt.Errorf("%w: %d prompts wait", ErrFull, len(q.now.Items))
	}
	return q.ask(func(c contents) (contents, error) {
		at := len(c.Items)
		if item.Now {
			at = len(c.Items) - len(skipNow(c.Items))
		}
		c.Items = slices.Insert(slices.Clone(c.Items), at, item)
		return c, nil
	})
}

// skipNow returns the items behind those for now.
func skipNow(items []Item) []Item {
	for len(items) > 0 && items[0].Now {
		items = items[1:]
	}
	return items
}

// Revision is a change of a waiting prompt. Nil fields do not change.
type Revision struct {
	// Text and Title are the new ones. Resends are still compared with the first
	// text.
	Text, Title *string
	// Reschedule sets ScheduledAt, the earliest time at which the prompt may be
	// taken; nil means at once.
	Reschedule  bool
	ScheduledAt *time.Time
	// Position counts from 0; a position beyond the end means the end.
	Position *int
	// Actor and ByID make the revision. A changed text is theirs.
	Actor, ByID string
}

// Revise changes a waiting prompt: all of the revision or nothing.
func (q *Queue) Revise(promptID string, r Revision) (*Save, error) {
	return q.ask(func(c contents) (contents, error) {
		i, err := q.waiting(c, promptID)
		if err != nil {
			return c, err
		}
		item := c.Items[i]
		if r.Text != nil && *r.Text != item.Text {
			item = item.editedBy(r.Actor, r.ByID)
			item.Text = *r.Text
		}
		if r.Title != nil {
			item.Title = *r.Title
		}
		if r.Reschedule {
			item.ScheduledAt = r.ScheduledAt
		}
		if r.Reschedule || r.Position != nil {
			item.Now = false
		}
		items := slices.Delete(slices.Clone(c.Items), i, i+1)
		if r.Position != nil {
			i = min(max(*r.Position, 0), len(items))
		}
		c.Items = slices.Insert(items, i, item)
		return c, nil
	})
}

// Remove removes a waiting prompt; it will not run.
func (q *Queue) Remove(promptID string, at time.Time) (*Save, error) {
	return q.ask(func(c contents) (contents, error) {
		i, err := q.waiting(c, promptID)
		if err != nil {
			return c, err
		}
		c.Ledger = c.Ledger.with(removed(c.Items[i], at))
		c.Items = slices.Delete(slices.Clone(c.Items), i, i+1)
		return c, nil
	})
}

// Clear removes every waiting prompt except one in flight.
func (q *Queue) Clear(at time.Time) (*Save, error) {
	if !slices.ContainsFunc(q.now.Items, func(item Item) bool { return item.PromptID != q.taken }) {
		return q.Flush(), nil
	}
	return q.ask(func(c contents) (contents, error) {
		var kept []Item
		for _, item := range c.Items {
			if item.PromptID == q.taken {
				kept = append(kept, item)
				continue
			}
			c.Ledger = c.Ledger.with(removed(item, at))
		}
		c.Items = kept
		return c, nil
	})
}

func removed(item Item, at time.Time) Entry {
	return Entry{PromptID: item.PromptID, Hash: item.Hash, Outcome: Removed, At: at.UTC()}
}

// Take is the first step of giving a prompt to the agent: it marks the first due
// item as in flight and returns it. The second step is Enter, when the prompt is in
// the log, or Return, when it never will be. The mark is not stored: after a crash
// the log shows whether the second step was reached. Only one item is in flight at
// a time, and none while a client's change is being written: it may be of this item.
func (q *Queue) Take(now time.Time) (Item, bool) {
	if q.taken != "" || q.asked {
		return Item{}, false
	}
	for _, item := range q.now.Items {
		if item.due(now) {
			q.taken = item.PromptID
			return item, true
		}
	}
	return Item{}, false
}

// Return puts the item in flight back where it was.
func (q *Queue) Return() { q.taken = "" }

// NextDue is the earliest time at which Take returns an item; false means that no
// prompt waits.
func (q *Queue) NextDue(now time.Time) (time.Time, bool) {
	var earliest time.Time
	for _, item := range q.now.Items {
		if item.due(now) {
			return now, true
		}
		if earliest.IsZero() || item.ScheduledAt.Before(earliest) {
			earliest = *item.ScheduledAt
		}
	}
	return earliest, !earliest.IsZero()
}

// Enter adds prompts of the log to the ledger, and removes them from the items if
// they wait. Call it in the order of the log.
func (q *Queue) Enter(entries ...Entry) {
	next := q.now
	for _, e := range entries {
		if i := indexOf(next.Items, e.PromptID); i >= 0 {
			e.Hash = next.Items[i].Hash // the log may hold an edited text
			next.Items = slices.Delete(slices.Clone(next.Items), i, i+1)
		} else if old, ok := q.find(next.Ledger, e.PromptID); ok {
			e.Hash = old.Hash
		}
		if q.taken == e.PromptID {
			q.taken = ""
		}
		e.At = e.At.UTC()
		next.Ledger = next.Ledger.with(e)
		next.LogSeq = max(next.LogSeq, e.Seq)
	}
	q.adopt(next)
}

// Interrupt records that the event at seq interrupted a prompt's turn. It ignores a
// prompt that the ledger does not know.
func (q *Queue) Interrupt(promptID string, seq int64, at time.Time) {
	next := q.now
	next.LogSeq = max(next.LogSeq, seq)
	if e, ok := q.find(q.now.Ledger, promptID); ok {
		e.Outcome, e.At = Interrupted, at.UTC()
		next.Ledger = next.Ledger.with(e)
	}
	q.adopt(next)
}

// Advance records that the ledger has every prompt of the log up to seq.
func (q *Queue) Advance(seq int64) {
	if seq > q.now.LogSeq {
		next := q.now
		next.LogSeq = seq
		q.adopt(next)
	}
}

// Rewind resets LogSeq, because the log is not the one that the ledger followed.
// Enter its contents.
func (q *Queue) Rewind() { q.now.LogSeq = 0 }

// Err is why the last Save failed, or nil.
func (q *Queue) Err() error { return q.failed }

// find looks up a prompt in the ledger and then in the archive.
func (q *Queue) find(in ledger, promptID string) (Entry, bool) {
	if e, ok := in.find(promptID); ok {
		return e, true
	}
	return q.old.find(promptID)
}

// waiting finds an item of c that may be changed.
func (q *Queue) waiting(c contents, promptID string) (int, error) {
	i := indexOf(c.Items, promptID)
	if i < 0 {
		return 0, fmt.Errorf("prompt %q: %w", promptID, ErrNotFound)
	}
	if promptID == q.taken {
		return 0, fmt.Errorf("prompt %q: %w", promptID, ErrInFlight)
	}
	return i, nil
}

func (q *Queue) index(promptID string) int { return indexOf(q.now.Items, promptID) }

func indexOf(items []Item, promptID string) int {
	return slices.IndexFunc(items, func(item Item) bool { return item.PromptID == promptID })
}

package usage

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// Today has what the sessions used in the turns that began on the present day, in the time
// zone of its clock. It reads a session when a turn of it has ended, and on a new day those
// that were active on it. It is safe for concurrent use.
type Today struct {
	book *Book
	now  func() time.Time
	// counting holds a value while a call counts.
	counting chan struct{}

	mu    sync.Mutex
	day   time.Time            // when the counted day began; zero before the first Count
	used  map[string]Sum       // by session
	ended map[string]event.Seq // the newest ends that are not counted, by session
}

// NewToday counts from a book.
func NewToday(book *Book, now func() time.Time) *Today {
	return &Today{book: book, now: now, counting: make(chan struct{}, 1), used: map[string]Sum{}, ended: map[string]event.Seq{}}
}

// dayOf is when the day of a moment began, and when the next one does.
func dayOf(at time.Time) (begin, next time.Time) {
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, at.Location()), time.Date(y, m, d+1, 0, 0, 0, 0, at.Location())
}

// Next is when the next day begins.
func (t *Today) Next() time.Time {
	_, next := dayOf(t.now())
	return next
}

// Ended says that a turn of a session ended with this event, which is in the log. It does
// not block.
func (t *Today) Ended(id string, seq event.Seq) {
	t.mu.Lock()
	t.ended[id] = max(t.ended[id], seq)
	t.mu.Unlock()
}

// Counted reports whether every turn that ended is counted.
func (t *Today) Counted() bool {
	day, _ := dayOf(t.now())
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.day.Equal(day) && len(t.ended) == 0
}

// Count counts all turns that ended before the call. The error is ctx's. A session that
// cannot be read counts as far as it was read.
func (t *Today) Count(ctx context.Context) error {
	select {
	case t.counting <- struct{}{}:
		defer func() { <-t.counting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	day, _ := dayOf(t.now())
	t.mu.Lock()
	ended, anew := maps.Clone(t.ended), !t.day.Equal(day)
	t.mu.Unlock()
	used := map[string]Sum{}
	for md := range t.touched(day, ended, anew) {
		md.MaxSeq = max(md.MaxSeq, ended[md.SessionID]) // the metadata may be behind the log
		f, err := t.book.fold(ctx, md)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			t.book.logger.Warn("a session's use counts for today's budget only as far as it can be read", "session", md.SessionID, "err", err)
		}
		used[md.SessionID] = since(f, day)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if anew {
		t.day, t.used = day, map[string]Sum{}
	}
	maps.Copy(t.used, used)
	maps.DeleteFunc(t.ended, func(id string, seq event.Seq) bool { return seq <= ended[id] })
	return nil
}

// touched are the sessions to read: those with new ends, and anew all that were active today.
// Imports used what they used on another hub.
func (t *Today) touched(day time.Time, ended map[string]event.Seq, anew bool) func(func(journal.Metadata) bool) {
	return func(yield func(journal.Metadata) bool) {
		if !anew {
			for id := range ended {
				if md, listed := t.book.store.Listed(id); listed && !md.Imported && !yield(md) {
					return
				}
			}
			return
		}
		for md := range t.book.store.Newest(journal.Place{}) {
			if _, has := ended[md.SessionID]; md.Imported || !has && md.UpdatedAt.Before(day) {
				continue
			}
			if !yield(md) {
				return
			}
		}
	}
}

// since adds up the turns that began at or after a moment.
func since(f *Fold, begin time.Time) (sum Sum) {
	if f == nil {
		return sum
	}
	for _, turn := range f.Counted() {
		if !turn.At.Before(begin) {
			sum.Add(turn.Sum)
		}
	}
	return sum
}

// Used calls f with what each session used as of the last Count. A deleted session counts
// nothing.
func (t *Today) Used(f func(md journal.Metadata, used Sum)) {
	t.mu.Lock()
	used := maps.Clone(t.used)
	t.mu.Unlock()
	for id, sum := range used {
		if md, listed := t.book.store.Listed(id); listed {
			f(md, sum)
		}
	}
}

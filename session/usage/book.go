package usage

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/abidehub/abide/session/behind"
	"github.com/abidehub/abide/session/journal"
)

// fileName is the file of a session's fold, among those made from its log.
const fileName = "usage.json"

// Book has what the sessions of a store used. It keeps a file beside each log and reads the
// events after it, from the files themselves: no session is opened. It is safe for
// concurrent use; one call reads at a time, the others wait.
type Book struct {
	store  journal.Store
	logger *slog.Logger
	// reading holds a value while a call reads.
	reading chan struct{}
	// counted is how far each session was counted since the start.
	mu      sync.Mutex
	counted map[string]behind.Place
	// onRead is called with each session whose log is read, in tests; nil otherwise.
	onRead func(id string)
}

// NewBook returns the book of a store.
func NewBook(store journal.Store, logger *slog.Logger) *Book {
	return &Book{store: store, logger: logger, reading: make(chan struct{}, 1), counted: map[string]behind.Place{}}
}

// Keep brings the files of all sessions up to date, of which it looks only at those with new
// events since its last call. It ends early when ctx does. One goroutine calls it.
func (b *Book) Keep(ctx context.Context) {
	there := map[string]bool{}
	for md := range b.store.Newest(journal.Place{}) {
		if ctx.Err() != nil {
			return
		}
		there[md.SessionID] = true
		if b.At(md.SessionID) != behind.End(md) {
			if _, err := b.fold(ctx, md); err != nil {
				b.logger.Debug("what a session used was not counted", "session", md.SessionID, "err", err)
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.counted, func(id string, _ behind.Place) bool { return !there[id] })
}

// At returns how far a session was counted since the start.
func (b *Book) At(id string) behind.Place {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counted[id]
}

// Count answers a question. It reads new events for at most patience; the sessions that it
// did not come to then are counted as far as they were kept, and Behind says how many these are.
// The error is ctx's.
func (b *Book) Count(ctx context.Context, q Question, patience time.Duration) (Answer, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t := newTable(q)
	for md := range b.store.Newest(journal.Place{}) {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		if !q.touches(md) {
			continue
		}
		f, err := b.fold(bounded, md)
		if err != nil {
			t.answer.Behind++
		}
		if f != nil {
			t.add(md, f.Counted())
		}
	}
	return t.done(), ctx.Err()
}

// fold returns what is known of a session: with an error as far as it was read, nil if that
// is nothing. Without one it is noted as counted.
func (b *Book) fold(ctx context.Context, md journal.Metadata) (*Fold, error) {
	f, err := b.read(ctx, md)
	if err == nil {
		b.mu.Lock()
		b.counted[md.SessionID] = behind.End(md)
		b.mu.Unlock()
	}
	return f, err
}

func (b *Book) read(ctx context.Context, md journal.Metadata) (*Fold, error) {
	derived, err := b.store.DerivedOf(md.SessionID)
	if err != nil {
		return nil, err
	}
	if f, ok := kept(derived, md); ok {
		return f, nil
	}
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		f, _ := kept(derived, md)
		return f, ctx.Err()
	}
	f, ok := kept(derived, md) // another call may have read it meanwhile
	if ok {
		return f, nil
	}
	if f == nil {
		f = NewFold(md.Epoch)
	}
	if b.onRead != nil {
		b.onRead(md.SessionID)
	}
	before := f.AtSeq
	failed := b.extend(ctx, f, md)
	if f.AtSeq == before {
		return f, failed
	}
	data, err := f.Encode()
	if err == nil {
		err = derived.Write(fileName, data)
	}
	if err != nil {
		b.logger.Warn("what a session used could not be kept; it is counted again next time", "session", md.SessionID, "err", err)
	}
	return f, failed
}

// kept reads the file of a session, nil if it is of no use. It reports whether it has all
// events.
func kept(derived journal.Derived, md journal.Metadata) (*Fold, bool) {
	data, err := derived.Read(fileName)
	if err != nil {
		return nil, false
	}
	f, ok := ReadFold(data, md.Epoch)
	if !ok {
		return nil, false
	}
	return f, f.AtSeq >= md.MaxSeq
}

// extend reads the events after those that are counted.
func (b *Book) extend(ctx context.Context, f *Fold, md journal.Metadata) error {
	if err := behind.Read(ctx, b.store, md.SessionID, f.AtSeq, md.MaxSeq, counts, f.Take); err != nil {
		return err
	}
	f.AtSeq = max(f.AtSeq, md.MaxSeq)
	return nil
}

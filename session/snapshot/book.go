package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"

	"github.com/abidehub/abide/session/behind"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Book has the snapshots of the sessions of a store. It keeps a file beside each log and
// reads the events after it from the log's files: no session is opened. It is safe for
// concurrent use; one call at a time reads a session, the others wait.
type Book struct {
	store  journal.Store
	logger *slog.Logger

	mu sync.Mutex
	// busy has the sessions that a call reads, with a channel that is closed at its end.
	busy map[string]chan struct{}
	// previews are those that were read, by session.
	previews map[string]previewed
}

// Stored says how a snapshot is stored, in bytes. Bytes equals Size if it is not compressed.
type Stored struct {
	Size, Bytes int
}

// NewBook returns the book of a store.
func NewBook(store journal.Store, logger *slog.Logger) *Book {
	return &Book{store: store, logger: logger, busy: map[string]chan struct{}{}, previews: map[string]previewed{}}
}

// Save brings the file of a session up to date, and reports whether a turn is open.
// journal.ErrNotFound if there is no such session.
func (b *Book) Save(ctx context.Context, id string) (working bool, err error) {
	f, _, err := b.latest(ctx, id)
	if f == nil {
		return false, err
	}
	return f.Work.Used.Open, err
}

// Read returns the snapshot of a session with all its events. An error to store it is logged
// only. journal.ErrNotFound if there is no such session.
func (b *Book) Read(ctx context.Context, id string) (*state.Snapshot, Stored, error) {
	f, stored, err := b.latest(ctx, id)
	if f == nil {
		return nil, Stored{}, err
	}
	if err != nil {
		b.logger.Warn("a snapshot could not be saved; it is made again next time", "session", id, "err", err)
	}
	return f.Settled(), stored, nil
}

// Kept returns the snapshot of a session as it was saved, which may be of an earlier time.
// fs.ErrNotExist if there is none.
func (b *Book) Kept(id string) (*state.Snapshot, Stored, error) {
	md, files, err := b.find(id)
	if err != nil {
		return nil, Stored{}, err
	}
	f, stored := kept(files, md)
	if f == nil {
		return nil, Stored{}, fmt.Errorf("session %s: no snapshot is saved: %w", id, fs.ErrNotExist)
	}
	return f.Settled(), stored, nil
}

func (b *Book) find(id string) (journal.Metadata, journal.Derived, error) {
	md, ok := b.store.Listed(id)
	if !ok {
		return md, nil, fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
	}
	files, err := b.store.DerivedOf(id)
	return md, files, err
}

// latest returns the fold of a session with all its events, and saves it. With a fold the
// error is that of saving it.
func (b *Book) latest(ctx context.Context, id string) (*Fold, Stored, error) {
	if err := b.enter(ctx, id); err != nil {
		return nil, Stored{}, err
	}
	defer b.leave(id)
	md, files, err := b.find(id)
	if err != nil {
		return nil, Stored{}, err
	}
	f, stored := kept(files, md)
	if f != nil && f.AtSeq == md.MaxSeq {
		return f, stored, nil
	}
	if f == nil {
		f = NewFold(md.Epoch)
	}
	if err := behind.Read(ctx, b.store, id, f.AtSeq, md.MaxSeq, Wanted, f.Take); err != nil {
		return nil, Stored{}, fmt.Errorf("read session %s for its snapshot: %w", id, err)
	}
	f.AtSeq = md.MaxSeq
	out, failed, err := encode(f)
	if err != nil {
		return f, Stored{}, err
	}
	if failed != nil {
		b.logger.Warn("a snapshot could not be compressed and is stored as it is", "session", id, "err", failed)
	}
	stored = Stored{Size: out.bytes, Bytes: len(out.data)}
	if err := files.Write(out.name, out.data); err != nil {
		return f, stored, err
	}
	other := plainName
	if out.name == plainName {
		other = packedName
	}
	b.logger.Debug("saved a snapshot", "session", id, "at_seq", f.AtSeq, "bytes", stored.Size, "stored", stored.Bytes)
	return f, stored, files.Remove(other)
}

// oneLog is the stored lines of a log.
type oneLog func() ([]journal.Part, error)

// Lines implements behind.Source.
func (l oneLog) Lines(string) ([]journal.Part, error) { return l() }

// Of returns the snapshot of a log with all its events, from its stored lines. It is saved
// nowhere.
func Of(ctx context.Context, lines func() ([]journal.Part, error), id, epoch string, last event.Seq) (*state.Snapshot, Stored, error) {
	f := NewFold(epoch)
	if err := behind.Read(ctx, oneLog(lines), id, 0, last, Wanted, f.Take); err != nil {
		return nil, Stored{}, fmt.Errorf("read session %s for its snapshot: %w", id, err)
	}
	f.AtSeq = last
	out, _, err := encode(f)
	if err != nil {
		return nil, Stored{}, err
	}
	return f.Settled(), Stored{Size: out.bytes, Bytes: len(out.data)}, nil
}

// enter waits until no other call reads the session.
func (b *Book) enter(ctx context.Context, id string) error {
	for {
		b.mu.Lock()
		other, busy := b.busy[id]
		if !busy {
			b.busy[id] = make(chan struct{})
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *Book) leave(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.busy[id])
	delete(b.busy, id)
}

// kept reads the newer one of a session's files, nil if there is none that is good. Both are
// there only if the hub was killed between writing one and removing the other.
func kept(files journal.Derived, md journal.Metadata) (f *Fold, stored Stored) {
	for _, name := range []string{packedName, plainName} {
		data, err := files.Read(name)
		if err != nil {
			continue
		}
		if one, size, ok := decode(name, data, md.Epoch); ok && one.AtSeq <= md.MaxSeq && (f == nil || one.AtSeq > f.AtSeq) {
			f, stored = one, Stored{Size: size, Bytes: len(data)}
		}
	}
	return f, stored
}

// Preview is what a list says of a snapshot.
type Preview struct {
	// LastTask is the entry of the agent's plan that it works on, else the last one that it
	// completed; empty if it has no plan.
	LastTask string
	// Files are those that were written, Outputs the commands. Size is the snapshot's, in
	// bytes before compression.
	Files, Outputs, Size int
}

// previewed is a preview and the event that it is of.
type previewed struct {
	seq event.Seq
	Preview
}

// Preview returns the preview of a session's snapshot as it was saved. It reports false if
// none is.
func (b *Book) Preview(id string) (Preview, bool) {
	md, files, err := b.find(id)
	if err != nil {
		return Preview{}, false
	}
	b.mu.Lock()
	known, ok := b.previews[id]
	b.mu.Unlock()
	if ok && known.seq == md.MaxSeq {
		return known.Preview, true
	}
	f, stored := kept(files, md)
	if f == nil {
		return Preview{}, false
	}
	p := Preview{LastTask: f.Work.Plan.Current, Files: len(f.Files) + f.LeftOut.Files, Size: stored.Size}
	if done := f.Work.Plan.Done; p.LastTask == "" && len(done) > 0 {
		p.LastTask = done[len(done)-1]
	}
	for _, one := range f.Outputs {
		if one.Type == state.OutputCommand {
			p.Outputs++
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.previews) >= previewsKept {
		clear(b.previews)
	}
	b.previews[id] = previewed{f.AtSeq, p}
	return p, true
}

// previewsKept bounds the previews that are kept in memory.
const previewsKept = 10_000

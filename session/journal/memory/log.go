package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
	"github.com/abidehub/abide/session/store/logfile"
)

// log is a session as one hub has it open. The device's mu guards its fields.
type log struct {
	device *Device
	kept   *kept
	meta   journal.Metadata
	at     time.Time // of the newest event, or as taken back
	failed bool      // the device was full at the latest append
	closed bool
}

// held is a log as the holder of a lease has it.
type held struct {
	*log
	lease *lease
}

// end closes the log. The caller holds the device's mu.
func (l *log) end() {
	l.closed = true
	l.kept.bell.RingNow()
}

// usable returns why the log cannot be read. The caller holds the device's mu.
func (l *log) usable() error {
	if l.closed || l.kept.gone {
		return journal.ErrClosed
	}
	return nil
}

// writable returns why the log cannot be written. The caller holds the device's mu.
func (h *held) writable() error {
	if err := h.usable(); err != nil {
		return err
	}
	if h.kept.fence != h.lease.fence {
		return fmt.Errorf("session %s: %w", h.kept.id, journal.ErrFenced)
	}
	return nil
}

// ID implements journal.Log.
func (l *log) ID() string { return l.kept.id }

// Epoch implements journal.Log.
func (l *log) Epoch() string {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	return l.kept.epoch
}

// Marks implements journal.Log.
func (l *log) Marks() journal.Marks {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	last := event.Seq(len(l.kept.events))
	return journal.Marks{Min: 1, Visible: last, Written: last, Synced: last}
}

// Health implements journal.Log.
func (h *held) Health() journal.Health {
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if h.kept.fence != h.lease.fence {
		return journal.Health{State: journal.HealthLost, Reason: journal.ErrFenced.Error()}
	}
	if err := errors.Join(h.device.room(Lines), h.device.room(Blobs)); h.failed && err != nil {
		return journal.Health{State: journal.HealthBlocked, Reason: err.Error()}
	}
	return journal.Health{State: journal.HealthOK}
}

// Changed implements journal.Log.
func (l *log) Changed() <-chan struct{} { return l.kept.bell.Listen() }

// Append implements journal.Log.
func (h *held) Append(ctx context.Context, next event.Seq, drafts ...event.Draft) (first, last event.Seq, err error) {
	drafts, err = h.admit(ctx, drafts)
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if err == nil {
		err = h.writable()
	}
	k := h.kept
	if at := event.Seq(len(k.events) + 1); err == nil && next != 0 && next != at {
		err = fmt.Errorf("%w: it is %d, not %d", journal.ErrMoved, at, next)
	}
	if err == nil {
		err = h.device.room(Lines)
	}
	h.failed = errors.Is(err, journal.ErrBlocked)
	if err != nil {
		return 0, 0, err
	}
	events, before := k.events, k.at
	for _, d := range drafts {
		if err := k.add(d); err != nil {
			k.events, k.at = events, before
			return 0, 0, err
		}
	}
	h.at = k.at
	k.meta.Writer = &journal.Writer{}
	h.meta.Writer = k.meta.Writer
	k.bell.RingNow()
	return event.Seq(len(events) + 1), event.Seq(len(k.events)), nil
}

// admit refuses drafts that cannot be events and moves large values into blobs.
func (h *held) admit(ctx context.Context, drafts []event.Draft) ([]event.Draft, error) {
	if len(drafts) == 0 {
		return nil, fmt.Errorf("%w: nothing to append", journal.ErrInvalid)
	}
	now := time.Now()
	admitted := make([]event.Draft, len(drafts))
	for i, d := range drafts {
		if err := sound(d); err != nil {
			return nil, err
		}
		if d.Time.IsZero() {
			d.Time = now
		}
		admitted[i] = d
	}
	for i := range admitted {
		d := &admitted[i]
		if len(d.Data) <= blobs.MaxValue {
			continue
		}
		data, err := blobs.Shrink(d.Data, func(mediaType string, value []byte) (event.Blob, error) {
			return h.PutBlobFrom(ctx, mediaType, bytes.NewReader(value))
		})
		if errors.Is(err, blobs.ErrTooLarge) {
			err = fmt.Errorf("%w: %w", journal.ErrInvalid, err)
		}
		if err != nil {
			return nil, err
		}
		d.Data = data
	}
	return admitted, nil
}

// sound returns why a draft cannot be an event.
func sound(d event.Draft) error {
	n := len(d.Data)
	if n < 2 || d.Data[0] != '{' || d.Data[n-1] != '}' || bytes.IndexByte(d.Data, '\n') >= 0 || d.Type == "" || d.Turn < 0 {
		return fmt.Errorf("%w: type %q, turn %d", journal.ErrInvalid, d.Type, d.Turn)
	}
	return nil
}

// ReadAfter implements journal.Log.
func (l *log) ReadAfter(_ context.Context, after event.Seq, maxBytes int) (event.Batch, error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	if err := l.usable(); err != nil {
		return event.Batch{}, err
	}
	if after >= event.Seq(len(l.kept.events)) {
		return event.Batch{}, nil
	}
	if after < 0 {
		return event.Batch{}, fmt.Errorf("%w: seq %d", journal.ErrInvalid, after)
	}
	size, n := 0, 0
	for _, e := range l.kept.events[after:] {
		if size += len(e) + 1; n > 0 && size-1 > maxBytes {
			break
		}
		n++
	}
	return batchOf(l.kept.events[after:][:n], after+1), nil
}

// batchOf joins events that begin with seq first.
func batchOf(events [][]byte, first event.Seq) event.Batch {
	if len(events) == 0 {
		return event.Batch{}
	}
	return event.Batch{First: first, Last: first + event.Seq(len(events)) - 1, Count: len(events), JSON: bytes.Join(events, []byte(","))}
}

const (
	pageBytes = 256 << 10
	maxPage   = 10_000
)

// ReadBefore implements journal.Log.
func (l *log) ReadBefore(_ context.Context, before event.Seq, limit int) (event.Batch, error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	if err := l.usable(); err != nil {
		return event.Batch{}, err
	}
	if before < 0 || limit <= 0 {
		return event.Batch{}, fmt.Errorf("%w: %d events before seq %d", journal.ErrInvalid, limit, before)
	}
	end := len(l.kept.events)
	if before > 0 {
		end = min(end, int(before)-1)
	}
	from := end
	for size := 0; from > 0 && end-from < min(limit, maxPage); from-- {
		if size += len(l.kept.events[from-1]) + 1; size-1 > pageBytes && from < end {
			break
		}
	}
	return batchOf(l.kept.events[from:end], event.Seq(from+1)), nil
}

// ReadWritten implements journal.Log.
func (l *log) ReadWritten(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, event.Seq, error) {
	b, err := l.ReadAfter(ctx, after, maxBytes)
	if err != nil || b.Empty() {
		return b, after, err
	}
	return b, b.Last, nil
}

// ReadLines implements journal.Log. All lines are of one file.
func (l *log) ReadLines(ctx context.Context, after event.Seq, maxBytes int) (journal.Stretch, error) {
	b, err := l.ReadAfter(ctx, after, maxBytes)
	if err != nil || b.Empty() {
		return journal.Stretch{Last: after}, err
	}
	s := journal.Stretch{File: 1, Last: b.Last}
	for h := range b.Headers() {
		s.Lines = logfile.AppendStored(s.Lines, h.JSON)
	}
	return s, nil
}

// SeqAt implements journal.Log.
func (l *log) SeqAt(ctx context.Context, at time.Time) (event.Seq, bool, error) {
	for after := event.Seq(0); ; {
		b, err := l.ReadAfter(ctx, after, 1<<20)
		if err != nil || b.Empty() {
			return 0, false, err
		}
		events, err := b.Events()
		if err != nil {
			return 0, false, err
		}
		for _, e := range events {
			if !e.Time.Before(at) {
				return e.Seq, true, nil
			}
		}
		after = b.Last
	}
}

// Pack implements journal.Log.
func (h *held) Pack(context.Context) error { return nil }

// Reopen implements journal.Log. The log is never frozen.
func (h *held) Reopen(context.Context) error {
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	return h.writable()
}

// Present implements journal.Log.
func (l *log) Present() error { return nil }

// Metadata implements journal.Meta.
func (l *log) Metadata() journal.Metadata {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	return l.metadata()
}

func (l *log) metadata() journal.Metadata {
	m := l.kept.numbered(l.meta.Clone())
	m.UpdatedAt = l.at
	return m
}

// UpdateMetadata implements journal.Meta.
func (h *held) UpdateMetadata(f func(*journal.Metadata)) {
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if h.writable() == nil {
		h.update(f)
	}
}

// update changes the fields that belong to the session.
func (l *log) update(f func(*journal.Metadata)) {
	writer := l.meta.Writer
	next := l.meta.Clone()
	f(&next)
	l.meta = next.Clone()
	l.meta.Writer = writer
}

// Label implements journal.Meta.
func (h *held) Label(f func(*journal.Metadata)) error {
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if err := h.writable(); err != nil {
		return err
	}
	if err := h.device.room(Labels); err != nil {
		return err
	}
	h.update(f)
	m, k := &h.meta, &h.kept.meta
	if m.Named || k.Named {
		k.Name, k.Named = m.Name, m.Named
	}
	k.Pinned, k.Archived, k.Imported, k.Tags = m.Pinned, m.Archived, m.Imported, m.Tags
	return nil
}

// FlushMetadata implements journal.Meta.
func (h *held) FlushMetadata(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if err := h.writable(); err != nil {
		return err
	}
	h.flush()
	return nil
}

// flush stores the metadata. The caller holds the device's mu.
func (l *log) flush() { l.kept.meta, l.kept.at = l.meta.Clone(), l.at }

// TakeBackUpdated implements journal.Meta.
func (l *log) TakeBackUpdated(at time.Time) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	l.at = at
}

// Files implements journal.Log.
func (h *held) Files() journal.Files { return box{h.device, h.kept.files, h.writable} }

// Derived implements journal.Log.
func (h *held) Derived() journal.Derived {
	return box{h.device, h.kept.made, func() error { return nil }}
}

package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// Store is one hub that uses a device. It is safe for concurrent use.
type Store struct {
	device *Device

	// Guarded by the device's mu.
	open   map[string]*log
	closed bool
}

// Open starts a hub on the device. Several may be open at once, each with its own
// leases.
func (d *Device) Open() *Store { return &Store{device: d, open: map[string]*log{}} }

// Close stores all metadata and gives every lease back.
func (s *Store) Close() error { return s.end(true) }

// Kill ends the hub as a power cut does: metadata that was not flushed is lost.
func (s *Store) Kill() { _ = s.end(false) }

func (s *Store) end(clean bool) error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	s.closed = true
	for id, l := range s.open {
		if clean && l.kept.holder == s {
			l.meta.Writer = nil
			l.flush()
		}
		l.end()
		delete(s.open, id)
	}
	for _, k := range s.device.sessions {
		if k.holder == s {
			k.holder = nil
		}
	}
	return nil
}

// Create implements journal.Store.
func (s *Store) Create(ctx context.Context, start event.SessionStart) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	start.Format, start.Epoch, start.SessionID = 1, journal.NewEpoch(), journal.NewID(now)
	data, err := json.Marshal(start)
	if err != nil {
		return "", err
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if s.closed {
		return "", journal.ErrClosed
	}
	if err := s.device.room(Lines); err != nil {
		return "", fmt.Errorf("create session: %w", err)
	}
	k := newKept(start.SessionID, start.Epoch)
	if err := k.add(event.Draft{Type: event.TypeSessionStart, Time: now, Data: data}); err != nil {
		return "", err
	}
	k.meta = metaOf(start, now)
	s.device.sessions[k.id] = k
	return k.id, nil
}

func metaOf(start event.SessionStart, now time.Time) journal.Metadata {
	return journal.Metadata{
		Format: 1, SessionID: start.SessionID, Agent: start.Agent, Workspace: start.Workspace, ProjectRoot: start.ProjectRoot,
		CreatedBy: start.CreatedBy, CreatedByID: start.CreatedByID, RequestKey: start.RequestKey, RequestHash: start.RequestHash, Policy: start.Policy,
		ForkedFrom: start.ForkedFrom, Adopted: start.Adopted, Worktree: start.Worktree, Job: start.Job, CreatedAt: now,
	}
}

// add appends one event without a condition.
func (k *kept) add(d event.Draft) error {
	line, _, err := logfile.Encode(nil, event.Seq(len(k.events)+1), d)
	if err != nil {
		return fmt.Errorf("%w: %w", journal.ErrInvalid, err)
	}
	k.events = append(k.events, append(slices.Clone(logfile.Body(line)), '}'))
	k.at = d.Time.UTC().Truncate(time.Microsecond)
	return nil
}

// Import implements journal.Store.
func (s *Store) Import(ctx context.Context, in journal.Imported) (string, error) {
	payload, err := in.First.Payload()
	start, ok := payload.(event.SessionStart)
	if err != nil || !ok || in.First.Seq != 1 || !journal.ValidID(start.SessionID) || !logfile.IsEpoch(start.Epoch) || start.Format != 1 {
		return "", fmt.Errorf("%w: it does not begin with the first event of a session", journal.ErrInvalid)
	}
	s.device.mu.Lock()
	_, there := s.device.sessions[start.SessionID]
	s.device.mu.Unlock()
	if there {
		return start.SessionID, journal.ErrExists
	}
	k := newKept(start.SessionID, start.Epoch)
	k.meta = metaOf(start, in.First.Time)
	k.meta.Imported, k.meta.Name, k.meta.Named = !in.Own, in.Name, in.Name != ""
	maps.Copy(k.files, in.Files)
	if err := k.take(ctx, in); err != nil {
		return k.id, fmt.Errorf("import session %s: %w", k.id, err)
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if s.device.sessions[k.id] != nil {
		return k.id, journal.ErrExists
	}
	s.device.sessions[k.id] = k
	return k.id, nil
}

// take adds the blobs and events of an import to a session that is on no device yet.
func (k *kept) take(ctx context.Context, in journal.Imported) error {
	for in.NextBlob != nil {
		sha, data, err := in.NextBlob()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		all, err := io.ReadAll(data)
		if err != nil {
			return err
		}
		if hashOf(all) != sha {
			return fmt.Errorf("%w: the bytes of blob %s have the hash %s", journal.ErrInvalid, sha, hashOf(all))
		}
		k.blobs[sha] = all
	}
	for e, want := in.First, event.Seq(1); ; want++ {
		if e.Seq != want || e.FirstSeq != 0 {
			return fmt.Errorf("%w: event %d comes where %d belongs", journal.ErrInvalid, e.Seq, want)
		}
		if p, err := e.Payload(); err == nil {
			switch p := p.(type) {
			case event.Epoch:
				k.epoch = p.Epoch
			case event.SegmentStart:
				k.epoch = p.Epoch
			}
		}
		d := event.Draft{Type: e.Type, Time: e.Time, Turn: e.Turn, Data: e.Data}
		err := sound(d)
		if err == nil {
			err = k.add(d)
		}
		if err != nil {
			return err
		}
		if e, err = in.Next(); errors.Is(err, io.EOF) {
			return ctx.Err()
		} else if err != nil {
			return err
		}
	}
}

// Lease implements journal.Store.
func (s *Store) Lease(ctx context.Context, id string) (journal.Lease, error) {
	return s.grant(ctx, id, false)
}

// TakeOver is Lease for a session whose holder is out of reach: it is granted although
// another hub has it.
func (s *Store) TakeOver(ctx context.Context, id string) (journal.Lease, error) {
	return s.grant(ctx, id, true)
}

func (s *Store) grant(ctx context.Context, id string, force bool) (journal.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if !force && k.holder != nil && k.holder != s {
		return nil, fmt.Errorf("session %s: %w", id, journal.ErrHeld)
	}
	k.holder = s
	k.fence++
	return &lease{s, k, k.fence}, nil
}

// find returns a session. The caller holds the device's mu.
func (s *Store) find(id string) (*kept, error) {
	if !journal.ValidID(id) {
		return nil, fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	if s.closed {
		return nil, journal.ErrClosed
	}
	k := s.device.sessions[id]
	if k == nil {
		return nil, fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
	}
	return k, nil
}

// lease implements journal.Lease.
type lease struct {
	store *Store
	kept  *kept
	fence int
}

// Log implements journal.Lease.
func (l *lease) Log(ctx context.Context) (journal.Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := l.store
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if _, err := s.find(l.kept.id); err != nil {
		return nil, err
	}
	if s.open[l.kept.id] == nil {
		s.open[l.kept.id] = &log{device: s.device, kept: l.kept, meta: l.kept.meta.Clone(), at: l.kept.at}
	}
	return &held{s.open[l.kept.id], l}, nil
}

// Release implements journal.Lease.
func (l *lease) Release() {
	l.store.device.mu.Lock()
	defer l.store.device.mu.Unlock()
	if l.kept.fence == l.fence && l.kept.holder == l.store {
		l.kept.holder = nil
	}
}

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	_, err := s.remove(id)
	return err
}

// remove takes a session from the device and ends its readers. The caller holds mu.
func (s *Store) remove(id string) (*kept, error) {
	k, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if k.holder != nil && k.holder != s {
		return nil, fmt.Errorf("delete session %s: %w", id, journal.ErrHeld)
	}
	if l := s.open[id]; l != nil && k.holder == s {
		l.flush()
	}
	k.gone = true
	k.fence++
	k.bell.RingNow()
	delete(s.device.sessions, id)
	delete(s.open, id)
	return k, nil
}

// List implements journal.Store.
func (s *Store) List() []journal.Metadata { return slices.Collect(s.Newest(journal.Place{})) }

// Newest implements journal.Store.
func (s *Store) Newest(behind journal.Place) iter.Seq[journal.Metadata] {
	return func(yield func(journal.Metadata) bool) {
		s.device.mu.Lock()
		var places []journal.Place
		for id := range s.device.sessions {
			m, _ := s.listed(id)
			if p := (journal.Place{UpdatedAt: m.UpdatedAt, SessionID: id}); behind == (journal.Place{}) || p.Compare(behind) > 0 {
				places = append(places, p)
			}
		}
		s.device.mu.Unlock()
		slices.SortFunc(places, journal.Place.Compare)
		for _, p := range places {
			m, listed := s.Listed(p.SessionID)
			if m.UpdatedAt = p.UpdatedAt; listed && !yield(m) {
				return
			}
		}
	}
}

// Listed implements journal.Store.
func (s *Store) Listed(id string) (journal.Metadata, bool) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	return s.listed(id)
}

func (s *Store) listed(id string) (journal.Metadata, bool) {
	k := s.device.sessions[id]
	if k == nil {
		return journal.Metadata{}, false
	}
	if l := s.open[id]; l != nil {
		return l.metadata(), true
	}
	m := k.numbered(k.meta.Clone())
	m.UpdatedAt = k.at
	return m, true
}

// Owned implements journal.Store.
func (s *Store) Owned() iter.Seq[journal.Metadata] {
	return func(yield func(journal.Metadata) bool) {
		for m := range s.Newest(journal.Place{}) {
			s.device.mu.Lock()
			k := s.device.sessions[m.SessionID]
			own := k != nil && (k.holder == nil || k.holder == s)
			s.device.mu.Unlock()
			if own && !yield(m) {
				return
			}
		}
	}
}

// Beside implements journal.Store.
func (s *Store) Beside(id string) (journal.Files, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return box{s.device, k.files, func() error { return journal.ErrFenced }}, nil
}

// Lines implements journal.Store.
func (s *Store) Lines(id string) ([]journal.Part, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return []journal.Part{part(bytes.Join(append(slices.Clone(k.events), nil), []byte("\n")))}, nil
}

// part implements journal.Part.
type part []byte

// Open implements journal.Part.
func (p part) Open() (journal.Lines, error) { return reader{bytes.NewReader(p)}, nil }

// Present implements journal.Store.
func (s *Store) Present(id string) error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	_, err := s.find(id)
	return err
}

// Unpacked implements journal.Store.
func (s *Store) Unpacked(string) (int64, error) { return 0, nil }

// Sizes implements journal.Store.
func (s *Store) Sizes(id string) (sizes journal.Sizes, err error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.find(id)
	if err != nil {
		return sizes, err
	}
	for _, line := range k.events {
		sizes.Log += int64(len(line))
	}
	sizes.Blobs, sizes.Derived, sizes.Other = weight(k.blobs), weight(k.made), weight(k.files)
	return sizes, nil
}

func weight(files map[string][]byte) (bytes int64) {
	for _, data := range files {
		bytes += int64(len(data))
	}
	return bytes
}

// StaleUploads implements journal.Store.
func (s *Store) StaleUploads(id string, before time.Time) ([]string, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return k.stale(before, nil), nil
}

// Files implements journal.Store.
func (s *Store) Files() journal.Files {
	return box{s.device, s.device.files, func() error { return nil }}
}

// DerivedOf implements journal.Store.
func (s *Store) DerivedOf(id string) (journal.Derived, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return box{s.device, k.made, func() error { return nil }}, nil
}

// Derived implements journal.Store.
func (s *Store) Derived() journal.Derived {
	return box{s.device, s.device.derived, func() error { return nil }}
}

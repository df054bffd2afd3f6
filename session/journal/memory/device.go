// Package memory keeps sessions in memory, for tests. It implements package journal
// and keeps all of its promises.
//
// A Device has the bytes that outlive a kill, a Store is one hub that uses them. Each
// append is durable at once. Metadata reaches the device when it is flushed or when
// the Store is closed, so a kill leaves it older than the log, as files do.
package memory

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// The kinds of bytes that a device can refuse.
const (
	Lines  = "lines"
	Blobs  = "blobs"
	Labels = "labels"
	Files  = "files"
)

// Device keeps the sessions of several hubs. It is safe for concurrent use.
type Device struct {
	mu       sync.Mutex
	sessions map[string]*kept
	trash    []trashed // the last first
	files    map[string][]byte
	derived  map[string][]byte
	full     map[string]bool
}

// NewDevice returns an empty device.
func NewDevice() *Device {
	return &Device{sessions: map[string]*kept{}, files: map[string][]byte{}, derived: map[string][]byte{}, full: map[string]bool{}}
}

// Fill makes the device refuse the given kinds of bytes, as if it were full, and
// accept all others.
func (d *Device) Fill(kinds ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.full)
	for _, k := range kinds {
		d.full[k] = true
	}
}

// Copy returns a device with the bytes that a kill at this moment would leave, and no
// hub.
func (d *Device) Copy() *Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := NewDevice()
	c.files, c.derived = maps.Clone(d.files), maps.Clone(d.derived)
	for id, k := range d.sessions {
		c.sessions[id] = k.copy()
	}
	for _, t := range d.trash {
		c.trash = append(c.trash, trashed{t.kept.copy(), t.at})
	}
	return c
}

// copy returns the session's bytes with no holder and no readers.
func (k *kept) copy() *kept {
	left := newKept(k.id, k.epoch)
	left.events, left.at, left.meta = slices.Clone(k.events), k.at, k.meta.Clone()
	left.blobs, left.files, left.made = maps.Clone(k.blobs), maps.Clone(k.files), maps.Clone(k.made)
	for sha, records := range k.sent {
		left.sent[sha] = slices.Clone(records)
	}
	return left
}

// room returns why bytes of a kind cannot be stored. The caller holds mu.
func (d *Device) room(kind string) error {
	if d.full[kind] {
		return fmt.Errorf("%w: the device takes no %s", journal.ErrBlocked, kind)
	}
	return nil
}

// kept is one session on the device, whose mu guards it.
type kept struct {
	id     string
	epoch  string
	events [][]byte // the JSON of seq i+1
	at     time.Time
	meta   journal.Metadata // as flushed, with the labels as set
	blobs  map[string][]byte
	sent   map[string][]upload // by blob
	files  map[string][]byte
	made   map[string][]byte // derived files
	bell   bell.Bell

	holder *Store // who has the lease; nil if no hub has
	fence  int
	gone   bool
}

func newKept(id, epoch string) *kept {
	return &kept{
		id: id, epoch: epoch, blobs: map[string][]byte{}, sent: map[string][]upload{},
		files: map[string][]byte{}, made: map[string][]byte{},
	}
}

// numbered returns the metadata with the present numbers.
func (k *kept) numbered(m journal.Metadata) journal.Metadata {
	last := event.Seq(len(k.events))
	m.SessionID, m.Epoch = k.id, k.epoch
	m.MinSeq, m.MaxSeq, m.EventCount, m.SyncedSeq = 1, last, int64(last), last
	return m
}

// box is a set of small files on the device.
type box struct {
	device *Device
	files  map[string][]byte
	refuse func() error // called with the device's mu held
}

// Read implements journal.Files and journal.Derived.
func (b box) Read(name string) ([]byte, error) {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	data, ok := b.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(data), nil
}

// Replace implements journal.Files.
func (b box) Replace(name string, fill func(io.Writer) error) error {
	var data bytes.Buffer
	if err := fill(&data); err != nil {
		return err
	}
	return b.change(func() { b.files[name] = data.Bytes() })
}

// Write implements journal.Derived.
func (b box) Write(name string, data []byte) error {
	return b.change(func() { b.files[name] = bytes.Clone(data) })
}

// Append implements journal.Files.
func (b box) Append(name string, data []byte) error {
	return b.change(func() { b.files[name] = append(slices.Clip(b.files[name]), data...) })
}

// SetAside implements journal.Files.
func (b box) SetAside(name, aside string) (bool, error) {
	return true, b.change(func() {
		b.files[aside] = b.files[name]
		delete(b.files, name)
	})
}

// Remove implements journal.Derived.
func (b box) Remove(names ...string) error {
	return b.change(func() {
		if len(names) == 0 {
			clear(b.files)
		}
		for _, name := range names {
			delete(b.files, name)
		}
	})
}

func (b box) change(f func()) error {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	if err := b.refuse(); err != nil {
		return err
	}
	if err := b.device.room(Files); err != nil {
		return err
	}
	f()
	return nil
}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/abidehub/abide/session/journal"
)

// copyMeta is the metadata of a copy as the machine sent it.
type copyMeta struct {
	*core
	poke func() // has the copy saved soon

	mu      sync.Mutex
	meta    journal.Metadata
	changed bool

	writing sync.Mutex // held while the file is written
}

// load reads the metadata. Without it the copy can be read all the same.
func (m *copyMeta) load() error {
	meta, err := readMetadata(m.fs, m.dir)
	if withheld(err) {
		return err
	}
	if err != nil && !errors.Is(err, errDoubtful) {
		if !errors.Is(err, fs.ErrNotExist) {
			m.opts.Logger.Warn("the metadata of a copy cannot be read", "session", m.id, "err", err)
		}
		meta = journal.Metadata{SessionID: m.id}
	}
	m.meta = wordsOf(meta)
	return nil
}

// set implements Copy.SetMetadata.
func (m *copyMeta) set(meta journal.Metadata) error {
	if meta.SessionID != m.id {
		return fmt.Errorf("%w: it is the metadata of session %q", ErrCopyForeign, meta.SessionID)
	}
	m.mu.Lock()
	m.meta, m.changed = wordsOf(meta.Clone()), true
	m.meta.Writer, m.meta.Frozen = nil, false
	m.mu.Unlock()
	m.poke()
	return nil
}

// words returns the metadata without its numbers.
func (m *copyMeta) words() journal.Metadata {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.meta.Clone()
}

// save writes changed metadata.
func (m *copyMeta) save(meta func() journal.Metadata) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	changed := m.changed
	m.changed = false
	m.mu.Unlock()
	if !changed {
		return nil
	}
	err := writeMetadata(m.fs, m.dir, meta())
	if err != nil {
		m.mu.Lock()
		m.changed = true
		m.mu.Unlock()
	}
	return err
}

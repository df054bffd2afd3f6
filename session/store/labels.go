package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
)

const labelsName = "labels.json"

// labels are what a person set of a session and no event says: a second copy of
// it, on disk before the metadata, that outlives metadata which cannot be read.
type labels struct {
	SessionID string `json:"session_id"`
	// Name is empty while nobody named the session.
	Name     string `json:"name,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	Imported bool   `json:"imported,omitempty"`
}

// labels returns what a person set.
func (m *Metadata) labels() labels {
	given := labels{SessionID: m.SessionID, Archived: m.Archived, Pinned: m.Pinned, Imported: m.Imported}
	if m.Named {
		given.Name = m.Name
	}
	return given
}

// label puts on the metadata what a person set.
func (m *Metadata) label(given labels) {
	m.Archived, m.Pinned, m.Imported = given.Archived, given.Pinned, given.Imported
	if m.Named && given.Name == "" {
		m.Name = "" // it names itself again
	}
	if m.Named = given.Name != ""; m.Named {
		m.Name = given.Name
	}
}

// readLabels reads a session's labels.json. fs.ErrNotExist says that nobody set
// anything, or that metadata.json alone has it.
func readLabels(fsys FS, dir string) (labels, error) {
	var given labels
	data, err := fsys.ReadFile(filepath.Join(dir, labelsName))
	if err != nil {
		return given, err
	}
	if err := json.Unmarshal(data, &given); err != nil {
		return labels{}, fmt.Errorf("read %s: %w", labelsName, err)
	}
	if id := filepath.Base(dir); given.SessionID != id {
		return labels{}, fmt.Errorf("read %s: it belongs to session %q, not to %q", labelsName, given.SessionID, id)
	}
	return given, nil
}

// writeLabels replaces a session's labels.json.
func writeLabels(fsys FS, dir string, given labels) error {
	data, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("encode %s: %w", labelsName, err)
	}
	if err := disk.Replace(fsys, filepath.Join(dir, labelsName), append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", labelsName, err)
	}
	return nil
}

// Label changes what a person sets of a session: Name where Named, Archived, Pinned.
// It returns once that is on the device, where metadata.json follows; what cannot be
// written is not taken. ErrBlocked if there is no room. f must not call the log.
func (s *metadataFile) Label(f func(*Metadata)) error {
	if s.closed.Load() {
		return ErrClosed
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	m := s.meta.clone()
	s.mu.Unlock()
	f(&m)
	if given := m.labels(); given != s.labels {
		if err := writeLabels(s.fs, s.dir, given); err != nil {
			// It may have its name already.
			if writeLabels(s.fs, s.dir, s.labels) != nil {
				s.labels = labels{} // so that they are written with the metadata
			}
			return fmt.Errorf("session %s: %w", s.id, errors.Join(s.health.refusal(), roomFor(err)))
		}
		s.labels = given
	}
	s.UpdateMetadata(f)
	return nil
}

// readLabels puts what a person set on the metadata that was read or is being
// rebuilt. The labels are written first, so where the two differ they are newer.
func (r *recovery) readLabels() error {
	given, err := readLabels(r.fs, r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.log.metadataFile.labels = labels{SessionID: r.meta.SessionID}
		return nil
	}
	if withheld(err) || errors.Is(err, disk.ErrNoFile) {
		return fmt.Errorf("read what a person set: %w", err)
	}
	if err != nil {
		aside := labelsName + ".damaged"
		if err := r.fs.Rename(filepath.Join(r.dir, labelsName), filepath.Join(r.dir, aside)); err != nil {
			aside = "nowhere: " + err.Error()
		}
		r.did("what a person set is taken from the metadata; the file of it is now %s: %v", aside, err)
		return nil
	}
	r.log.metadataFile.labels = given
	before := r.meta.labels()
	r.meta.label(given)
	if r.hasMeta && before != given {
		r.did("took name, pin and archive flag from %s, which is newer than the metadata", labelsName)
	}
	return nil
}

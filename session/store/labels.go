package store

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/journal"
)

// labels are a session's settings from people that are in no event. labels.json is
// a second copy, written before the metadata, in case the metadata becomes
// unreadable.
type labels struct {
	SessionID string `json:"session_id"`
	// Name is empty until a person names the session.
	Name     string `json:"name,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	Imported bool   `json:"imported,omitempty"`
	// Tags are replaced whole, never changed in place.
	Tags []string `json:"tags,omitempty"`
}

// equal reports whether both are the same labels of the same session.
func (l labels) equal(other labels) bool {
	return l.SessionID == other.SessionID && l.Name == other.Name && l.Archived == other.Archived && l.Pinned == other.Pinned &&
		l.Imported == other.Imported && slices.Equal(l.Tags, other.Tags)
}

// labelsOf returns the metadata's labels.
func labelsOf(m *journal.Metadata) labels {
	given := labels{SessionID: m.SessionID, Archived: m.Archived, Pinned: m.Pinned, Imported: m.Imported, Tags: m.Tags}
	if m.Named {
		given.Name = m.Name
	}
	return given
}

// label applies the labels to the metadata.
func label(m *journal.Metadata, given labels) {
	m.Archived, m.Pinned, m.Imported, m.Tags = given.Archived, given.Pinned, given.Imported, given.Tags
	if m.Named && given.Name == "" {
		m.Name = "" // allow automatic names again
	}
	if m.Named = given.Name != ""; m.Named {
		m.Name = given.Name
	}
}

// readLabels reads a session's labels.json. fs.ErrNotExist means that there are no
// labels, or that only metadata.json has them.
func readLabels(fsys FS, dir string) (labels, error) {
	return labelsFile(fsys, dir).Load()
}

// labelsFile is a session's labels.json. Recovery makes a damaged one from the
// metadata.
func labelsFile(fsys FS, dir string) jsonfile.File[labels] {
	return jsonfile.File[labels]{Files: disk.Folder{FS: fsys, Dir: dir}, Name: labelsName, Check: func(given labels) error {
		if id := filepath.Base(dir); given.SessionID != id {
			return fmt.Errorf("it belongs to session %q, not to %q", given.SessionID, id)
		}
		return nil
	}}
}

// writeLabels replaces a session's labels.json.
func writeLabels(fsys FS, dir string, given labels) error {
	return labelsFile(fsys, dir).Write(given)
}

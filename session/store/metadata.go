package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// errDoubtful means that metadata can be read but was not written by a store. Its
// numbers are not used, because they decide which files are removed and which seqs
// are assigned.
var errDoubtful = errors.New("its checksum is missing or wrong")

// readMetadata reads a session's metadata.json. If it is invalid, it returns an
// error, and a caller with a log can rebuild it. With errDoubtful it also returns
// the contents.
func readMetadata(fsys FS, dir string) (journal.Metadata, error) {
	var m journal.Metadata
	data, err := fsys.ReadFile(filepath.Join(dir, metadataName))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read %s: %w", metadataName, err)
	}
	if id := filepath.Base(dir); m.SessionID != id {
		return m, fmt.Errorf("read %s: it belongs to session %q, not to %q", metadataName, m.SessionID, id)
	}
	if m.Format <= metadataFormat && !logfile.SumHolds(data) {
		return m, fmt.Errorf("read %s: %w", metadataName, errDoubtful)
	}
	return m, nil
}

// writeMetadata replaces a session's metadata.json.
func writeMetadata(fsys FS, dir string, m journal.Metadata) error {
	m.Format = metadataFormat
	err := disk.ReplaceWith(fsys, filepath.Join(dir, metadataName), func(tmp string, w io.Writer) error {
		m.Born = bornOf(fsys, tmp)
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		data, _ = logfile.AppendCRC(data[:len(data)-1], 0)
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", metadataName, err)
	}
	return nil
}

// madeOf is the origin of the session.
func madeOf(m *journal.Metadata) event.Made {
	made := event.Made{
		Agent: m.Agent, Workspace: m.Workspace, ProjectRoot: m.ProjectRoot, CreatedBy: m.CreatedBy, CreatedByID: m.CreatedByID,
		RequestKey: m.RequestKey, RequestHash: m.RequestHash, Policy: m.Policy, ForkedFrom: m.ForkedFrom, Adopted: m.Adopted, Worktree: m.Worktree, Job: m.Job,
	}
	if at := m.CreatedAt; !at.IsZero() {
		made.CreatedAt = &at
	}
	return made
}

// takeMade is the inverse of madeOf.
func takeMade(m *journal.Metadata, made event.Made) {
	m.Agent, m.Workspace, m.ProjectRoot = made.Agent, made.Workspace, made.ProjectRoot
	m.CreatedBy, m.CreatedByID = made.CreatedBy, made.CreatedByID
	m.RequestKey, m.RequestHash, m.Policy = made.RequestKey, made.RequestHash, made.Policy
	if made.ForkedFrom != nil {
		m.ForkedFrom = made.ForkedFrom
	}
	m.Adopted, m.Worktree, m.Job = made.Adopted, made.Worktree, made.Job
	if made.CreatedAt != nil {
		m.CreatedAt = *made.CreatedAt
	}
}

// wordsOf returns the metadata without its numbers. Writer and Frozen stay, because
// both make recovery more careful.
func wordsOf(m journal.Metadata) journal.Metadata {
	m.EventCount, m.MinSeq, m.MaxSeq, m.FrozenSeq, m.Epoch = 0, 0, 0, 0, ""
	m.Checkpoint, m.Damage = journal.Checkpoint{}, nil
	return m
}

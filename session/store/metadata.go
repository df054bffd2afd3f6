package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// Metadata is a session's summary for lists, and the checkpoint from which its log
// is opened. It may lag behind the log. It can be rebuilt from the log, and the
// labels (Name where Named, Archived, Pinned) from labels.json.
//
// The store owns the numbers; UpdateMetadata cannot change them. The session
// owns the rest.
type Metadata struct {
	Format    int    `json:"format"`
	SessionID string `json:"session_id"`
	Name      string `json:"name,omitempty"`
	// Named means that a person gave the name.
	Named          bool   `json:"named,omitempty"`
	Agent          string `json:"agent,omitempty"`
	AgentSessionID string `json:"agent_session_id,omitempty"`
	Workspace      string `json:"workspace,omitempty"`
	ProjectRoot    string `json:"project_root,omitempty"`
	CreatedBy      string `json:"created_by,omitempty"`
	CreatedByID    string `json:"created_by_id,omitempty"`
	// RequestKey and RequestHash are session_start's.
	RequestKey  string `json:"request_key,omitempty"`
	RequestHash string `json:"request_hash,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	// UpdatedAt is the time of the newest event; the store keeps it.
	UpdatedAt time.Time `json:"updated_at"`
	// Status is the session's own status text.
	Status   string `json:"status,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	// Imported means that another hub wrote the events: the log is read-only.
	Imported bool `json:"imported,omitempty"`
	// ForkedFrom is the place in another session that this one was forked from, and
	// Forks are the sessions forked from this one.
	ForkedFrom *Forked  `json:"forked_from,omitempty"`
	Forks      []Forked `json:"forks,omitempty"`
	// LastLine is a line of text for lists.
	LastLine string `json:"last_line,omitempty"`
	Mode     string `json:"mode,omitempty"`

	// EventCount is the number of readable events, including placeholders.
	EventCount int64 `json:"event_count"`
	// MinSeq and MaxSeq are the first and last visible seq.
	MinSeq event.Seq `json:"min_seq"`
	MaxSeq event.Seq `json:"max_seq"`
	// Epoch is the log's identity: 16 hex digits.
	Epoch string `json:"epoch"`

	// Checkpoint is how much of the log is known to be synced.
	Checkpoint
	// Writer is the run that has the log open and may have shown unsynced events;
	// nil once it was closed cleanly or is idle.
	Writer *Writer `json:"writer,omitempty"`
	// Frozen means that the device failed to store the lines after the checkpoint.
	Frozen bool `json:"frozen,omitempty"`
	// FrozenSeq is the last seq that was written then, which readers may have seen;
	// zero unless Frozen.
	FrozenSeq event.Seq `json:"frozen_seq,omitempty"`
	// Damage counts faults that recovery and readers found and that cannot be
	// repaired.
	Damage *Damage `json:"damage,omitempty"`
	// Born is the birth time of this very file. A file that was copied over with
	// another's bytes has another birth time.
	Born string `json:"born,omitempty"`
}

// Forked names a session that this one was forked from or into, and the event where
// they part.
type Forked struct {
	SessionID string    `json:"session_id"`
	Seq       event.Seq `json:"seq"`
}

// Checkpoint is the end of the last line known to be on the device.
type Checkpoint struct {
	SyncedSeq event.Seq `json:"synced_seq"`
	// LogFirst is the first seq of the file that holds the line of SyncedSeq.
	LogFirst event.Seq `json:"log_first"`
	// LogBytes is where that line ends in that file.
	LogBytes int64 `json:"log_bytes"`
	// TailCRC is the checksum of that line, as 8 hex digits.
	TailCRC string `json:"tail_crc"`
	// Irregular means that the file has repeated seqs, so that places in it are
	// found by a scan only.
	Irregular bool `json:"irregular,omitempty"`
	// LogBorn is the birth time of the active file; empty if unknown. A copy of the
	// file has another.
	LogBorn string `json:"log_born,omitempty"`
}

// Writer names the program run that has a log open.
type Writer struct {
	BootID string `json:"boot_id"`
	RunID  string `json:"run_id"`
}

// Damage counts the faults of a log that cannot be repaired.
type Damage struct {
	// Holes are events without a line.
	Holes int64 `json:"holes,omitempty"`
	// Conflicts are lines whose seq, or a higher one, an earlier line has.
	Conflicts int `json:"conflicts,omitempty"`
	// Unverified are events whose checksum is missing or wrong.
	Unverified int `json:"unverified,omitempty"`
	// Missing are events whose whole file is missing, though retention did not
	// remove it.
	Missing int64 `json:"missing,omitempty"`
}

// errDoubtful means that metadata can be read but was not written by a store. Its
// numbers are not used, because they decide which files are removed and which seqs
// are assigned.
var errDoubtful = errors.New("its checksum is missing or wrong")

// readMetadata reads a session's metadata.json. If it is invalid, it returns an
// error, and a caller with a log can rebuild it. With errDoubtful it also returns
// the contents.
func readMetadata(fsys FS, dir string) (Metadata, error) {
	var m Metadata
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
func writeMetadata(fsys FS, dir string, m Metadata) error {
	m.Format = metadataFormat
	err := disk.ReplaceWith(fsys, filepath.Join(dir, metadataName), func(tmp string) ([]byte, error) {
		m.Born = bornOf(fsys, tmp)
		data, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		data, _ = logfile.AppendCRC(data[:len(data)-1], 0)
		return data, nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", metadataName, err)
	}
	return nil
}

// made is the origin of the session.
func (m *Metadata) made() event.Made {
	made := event.Made{
		Agent: m.Agent, Workspace: m.Workspace, ProjectRoot: m.ProjectRoot, CreatedBy: m.CreatedBy, CreatedByID: m.CreatedByID,
		RequestKey: m.RequestKey, RequestHash: m.RequestHash,
	}
	if at := m.CreatedAt; !at.IsZero() {
		made.CreatedAt = &at
	}
	return made
}

// take is the inverse of made.
func (m *Metadata) take(made event.Made) {
	m.Agent, m.Workspace, m.ProjectRoot = made.Agent, made.Workspace, made.ProjectRoot
	m.CreatedBy, m.CreatedByID = made.CreatedBy, made.CreatedByID
	m.RequestKey, m.RequestHash = made.RequestKey, made.RequestHash
	if made.CreatedAt != nil {
		m.CreatedAt = *made.CreatedAt
	}
}

// clone copies the slices and maps that a caller could change.
func (m Metadata) clone() Metadata {
	if m.Damage != nil {
		d := *m.Damage
		m.Damage = &d
	}
	if m.Writer != nil {
		w := *m.Writer
		m.Writer = &w
	}
	return m
}

// words returns the metadata without its numbers. Writer and Frozen stay, because
// both make recovery more careful.
func (m Metadata) words() Metadata {
	m.EventCount, m.MinSeq, m.MaxSeq, m.FrozenSeq, m.Epoch = 0, 0, 0, 0, ""
	m.Checkpoint, m.Damage = Checkpoint{}, nil
	return m
}

// Package exchange turns a session into an export and reads an export for its import.
package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// exported is metadata.json of an export. It has nothing of the hub's machine: no run or
// boot, no place in a file, no birth time and no user id.
type exported struct {
	Format      int            `json:"format"`
	SessionID   string         `json:"session_id"`
	Name        string         `json:"name,omitempty"`
	Named       bool           `json:"named,omitempty"`
	Agent       string         `json:"agent,omitempty"`
	Workspace   string         `json:"workspace,omitempty"`
	ProjectRoot string         `json:"project_root,omitempty"`
	CreatedBy   string         `json:"created_by,omitempty"`
	CreatedAt   time.Time      `json:"created_at"`
	UpdatedAt   time.Time      `json:"updated_at"`
	Status      string         `json:"status,omitempty"`
	Archived    bool           `json:"archived,omitempty"`
	Imported    bool           `json:"imported,omitempty"`
	ForkedFrom  *event.Forked  `json:"forked_from,omitempty"`
	Adopted     *event.Adopted `json:"adopted,omitempty"`
	LastLine    string         `json:"last_line,omitempty"`
	Mode        string         `json:"mode,omitempty"`
	EventCount  int64          `json:"event_count"`
	MinSeq      event.Seq      `json:"min_seq"`
	MaxSeq      event.Seq      `json:"max_seq"`
	Epoch       string         `json:"epoch"`
}

func exportedMetadata(md journal.Metadata) exported {
	return exported{
		Format: md.Format, SessionID: md.SessionID, Name: md.Name, Named: md.Named, Agent: md.Agent, Workspace: md.Workspace, ProjectRoot: md.ProjectRoot,
		CreatedBy: md.CreatedBy, CreatedAt: md.CreatedAt, UpdatedAt: md.UpdatedAt, Status: md.Status, Archived: md.Archived, Imported: md.Imported,
		ForkedFrom: md.ForkedFrom, Adopted: md.Adopted, LastLine: md.LastLine, Mode: md.Mode,
		EventCount: md.EventCount, MinSeq: md.MinSeq, MaxSeq: md.MaxSeq, Epoch: md.Epoch,
	}
}

// Export describes a session for package export, with the events from from to to; 0
// means the first or the last.
func Export(log journal.Log, from, to event.Seq) (export.Session, error) {
	md, marks := log.Metadata(), log.Marks()
	s := export.Session{
		SessionID: md.SessionID, Name: md.Name, Agent: md.Agent, Workspace: md.Workspace, ProjectRoot: md.ProjectRoot,
		Log: log, First: max(from, marks.Min), Last: marks.Visible,
		OpenBlob: func(sha string) (io.ReadCloser, error) { return log.OpenBlob(sha) },
	}
	if to > 0 {
		s.Last = min(s.Last, to)
	}
	if from < 0 || to < 0 || s.First > s.Last {
		return s, fmt.Errorf("%w: there are no events from %d to %d: the log has %d to %d", state.ErrInvalid, from, to, marks.Min, marks.Visible)
	}
	if s.Last < marks.Visible {
		md.LastLine = "" // of events that are not exported
	}
	listed, err := json.Marshal(exportedMetadata(md))
	if err != nil {
		return s, fmt.Errorf("export metadata: %w", err)
	}
	s.Files = []export.File{{Name: "metadata.json", Data: append(listed, '\n')}}
	for _, name := range []string{queue.FileName, comment.FileName} {
		if data, err := log.Files().Read(name); err == nil {
			s.Files = append(s.Files, export.File{Name: name, Data: data})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("%w: %s: %w", state.ErrUnavailable, name, err)
		}
	}
	if s.Blobs, err = log.BlobNames(); err != nil {
		return s, fmt.Errorf("%w: the large values: %w", state.ErrUnavailable, err)
	}
	return s, nil
}

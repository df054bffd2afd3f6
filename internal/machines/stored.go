package machines

import (
	"os"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// Stored are the stored lines of the copies, which are not opened.
type Stored struct{ dir string }

// IDs are the sessions that have a copy, as <machine>/<session>.
func (s Stored) IDs() map[string]bool {
	ids := map[string]bool{}
	machines, _ := os.ReadDir(s.dir) // without a directory there is none
	for _, m := range machines {
		sessions, _ := os.ReadDir(filepath.Join(s.dir, m.Name()))
		for _, one := range sessions {
			if one.IsDir() && journal.ValidID(one.Name()) {
				ids[m.Name()+"/"+one.Name()] = true
			}
		}
	}
	return ids
}

// Lines returns a function that returns the stored lines of a copy in parts, oldest first.
func (s Stored) Lines(machine, id string) func() ([]journal.Part, error) {
	return func() ([]journal.Part, error) {
		return store.Lines(disk.OS(), filepath.Join(s.dir, machine, id))
	}
}

// metadataOf is what a machine's list says of a session.
func metadataOf(line state.Info) journal.Metadata {
	return journal.Metadata{
		SessionID: line.SessionID, Name: line.Name, Agent: line.Agent, AgentSessionID: line.AgentSessionID, Workspace: line.Workspace, ProjectRoot: line.ProjectRoot,
		CreatedAt: line.CreatedAt, UpdatedAt: line.UpdatedAt, Status: string(line.Status), Archived: line.Archived, Pinned: line.Pinned, Tags: line.Tags,
		Imported: line.Imported, ForkedFrom: line.ForkedFrom, Adopted: line.Adopted, LastLine: line.LastLine,
	}
}

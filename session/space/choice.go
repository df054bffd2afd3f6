package space

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// Choice says which sessions are to be put away: those with one of the ids, or without ids
// those that are old, of a lifecycle and of a project.
type Choice struct {
	// OlderThan is for how long nothing happened in them.
	OlderThan time.Duration
	// Lifecycles are those it is about.
	Lifecycles []state.Lifecycle
	// Project is a project root or a workspace; empty is each.
	Project string
	// IDs are whole ids. A session that is named goes whatever speaks for it.
	IDs []string
}

// Check reports what is wrong with a choice, as state.ErrInvalid.
func (c Choice) Check() error {
	if c.OlderThan < 0 {
		return state.About("older_than", fmt.Errorf("%w: older_than is a duration such as 720h", state.ErrInvalid))
	}
	known := state.Lifecycle("").Values()
	if len(c.IDs) == 0 && len(c.Lifecycles) == 0 {
		return state.About("lifecycles", fmt.Errorf("%w: lifecycles is empty: name at least one of %s", state.ErrInvalid, strings.Join(known, ", ")))
	}
	for _, l := range c.Lifecycles {
		if !slices.Contains(known, string(l)) {
			return state.About("lifecycles", fmt.Errorf("%w: lifecycles are of %s", state.ErrInvalid, strings.Join(known, ", ")))
		}
	}
	return nil
}

// Has reports whether the choice is about a session.
func (c Choice) Has(info list.Info, now time.Time) bool {
	if len(c.IDs) > 0 {
		return slices.Contains(c.IDs, info.SessionID)
	}
	return now.Sub(info.UpdatedAt) >= c.OlderThan &&
		slices.Contains(c.Lifecycles, info.Lifecycle) &&
		(c.Project == "" || c.Project == info.ProjectRoot || c.Project == info.Workspace)
}

// Why is why a session stays.
type Why string

// The reasons. Such a session goes only if its id is given.
const (
	Running   Why = "running"   // its agent works, or waits for a person
	Damaged   Why = "damaged"   // its files are needed to repair it
	Resumable Why = "resumable" // it waits to be resumed
	Pinned    Why = "pinned"
	Waiting   Why = "waiting"   // prompts are in its queue
	Commented Why = "commented" // it has review comments
	Restored  Why = "restored"  // it just came back from the trash
	Used      Why = "used"      // something happened in it while the clean-up ran
	Unmerged  Why = "unmerged"  // its working copy has changes that are nowhere else
)

// Values are the reasons.
func (Why) Values() []string {
	return []string{string(Running), string(Damaged), string(Resumable), string(Pinned), string(Waiting), string(Commented), string(Restored), string(Used), string(Unmerged)}
}

// Stays returns why a session stays, as far as its line of the list says; empty if nothing
// speaks for it.
func Stays(info list.Info) Why {
	switch info.Status {
	case state.StatusRunning, state.StatusNeedsYou:
		return Running
	case state.StatusDamaged:
		return Damaged
	case state.StatusInterrupted, state.StatusPaused:
		return Resumable
	case state.StatusIdle, state.StatusEnded, state.StatusFailed, state.StatusImported:
	}
	switch {
	case info.Resumable:
		return Resumable
	case info.Pinned:
		return Pinned
	}
	return ""
}

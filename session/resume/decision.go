package resume

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Decision is a person's decision about drift in a resume.
type Decision struct {
	Choice DriftChoice
	By     event.Actor
	// MayManage means that the actor may let an agent do more.
	MayManage bool
}

// Covers checks a decision about known drift. It is *NeedsConfirmation while a choice
// is missing.
func (d Decision) Covers(rows []Drift) error {
	switch d.Choice {
	case "", DriftApply, DriftKeep:
	default:
		return fmt.Errorf("%w: drift is apply or keep", state.ErrInvalid)
	}
	switch {
	case len(rows) == 0:
		return nil
	case d.Choice == "":
		return &NeedsConfirmation{Needs: []string{"drift"}}
	case AllowMore(rows) && !d.MayManage:
		return fmt.Errorf("%w: the agent's settings allow more than the recorded ones; deciding that takes access to manage the session", state.ErrForbidden)
	}
	return nil
}

// NeedsConfirmation refuses a resume until a person has confirmed the listed
// warnings.
type NeedsConfirmation struct {
	Needs []string
	// What, if set, says for a person what happens then: a sentence, without its full stop.
	What string
}

// And has all warnings to confirm; nil if none is left.
func (n *NeedsConfirmation) And(more, confirmed []string) error {
	all := &NeedsConfirmation{}
	if n != nil {
		all.Needs = slices.Clone(n.Needs)
	}
	for _, need := range more {
		if !slices.Contains(confirmed, need) {
			all.Needs = append(all.Needs, need)
		}
	}
	if len(all.Needs) == 0 {
		return nil
	}
	return all
}

// Error implements error.
func (n *NeedsConfirmation) Error() string {
	if n.What != "" {
		return n.What
	}
	return "confirm what has changed since: " + strings.Join(n.Needs, ", ")
}

// AlreadySettled means that an interruption is already settled, and by which actor.
type AlreadySettled struct {
	Winner event.InterruptionSettled
	At     time.Time
}

// Error implements error.
func (a *AlreadySettled) Error() string {
	return fmt.Sprintf("%s has %s it already", a.Winner.By, a.Winner.Outcome)
}

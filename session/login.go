package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// LoginNeeded means that an agent requires a login.
type LoginNeeded struct {
	Methods []AuthMethod
	// Err is the agent's own error, for a person.
	Err error
}

// Error explains how to log in.
func (e *LoginNeeded) Error() string { return e.Err.Error() }

// Unwrap returns the agent's own error.
func (e *LoginNeeded) Unwrap() error { return e.Err }

// beginLogin stops the agent and lets the next one log in. It does nothing and
// returns false if the agent's methods are not known yet, unless blindly is true.
func (a *agentSlot) beginLogin(methodID string, actor event.Actor, blindly bool) (bool, error) {
	if err := a.refusal(); err != nil {
		return false, err
	}
	if a.fold.Open {
		return false, fmt.Errorf("%w: the agent is working; log in after the turn", state.ErrBusy)
	}
	ways, known := a.logins()
	if !known && !blindly {
		return false, nil
	}
	switch {
	case known && len(ways) == 0:
		return false, fmt.Errorf("%w: the agent needs no login and offers none", state.ErrInvalid)
	case known && !slices.Contains(ways, methodID):
		return false, fmt.Errorf("%w: %q is not one of the agent's ways to log in: name one of %s", state.ErrInvalid, methodID, strings.Join(ways, ", "))
	}
	a.logger.Info("agent is logged in", "actor", actor.Name, "method", methodID)
	a.forgive()
	a.authBy = methodID
	a.stop(stopReset)
	return true, nil
}

// logins lists the known ids of the login methods.
func (a *agentSlot) logins() (ids []string, known bool) {
	if len(a.login) == 0 {
		return a.offers.logins, a.offers.known
	}
	for _, m := range a.login {
		ids = append(ids, m.MethodID)
	}
	return ids, true
}

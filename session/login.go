package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// AuthMethod is a way to log in to an agent's provider.
type AuthMethod struct {
	ID          string
	Name        string
	Description string
	// Command is the command that a person runs in a terminal; nil when
	// Authenticate or Description is the way.
	Command []string
}

// LoginNeeded says that an agent wants a login before it works.
type LoginNeeded struct {
	Methods []AuthMethod
	// Err is the agent's own error, in words for a person.
	Err error
}

// Error tells the person how to log in.
func (e *LoginNeeded) Error() string { return e.Err.Error() }

// Unwrap returns the agent's own error.
func (e *LoginNeeded) Unwrap() error { return e.Err }

// Authenticate starts the agent anew, logging in by one of its methods, and
// waits until it is ready. While a turn is open it is ErrBusy; a method the
// agent does not have is ErrInvalid and leaves the agent as it is; a login that
// fails is ErrInvalid with the agent's words.
func (b *BackgroundSession) Authenticate(ctx context.Context, methodID string, actor event.Actor) error {
	if methodID == "" || len(methodID) > 200 || strings.TrimSpace(methodID) == "" {
		return fmt.Errorf("%w: name one of the methods in the agent's state", ErrInvalid)
	}
	begun, err := ask(ctx, b, func(e *engine) (bool, error) { return e.agent.beginLogin(methodID, actor, false) })
	if err == nil && !begun {
		if _, err := b.readyAgent(ctx); ctx.Err() != nil {
			return err
		}
		// One that did not start and named no ways may need just this login.
		_, err = ask(ctx, b, func(e *engine) (bool, error) { return e.agent.beginLogin(methodID, actor, true) })
	}
	if err != nil {
		return err
	}
	_, err = b.readyAgent(ctx)
	if failed := b.State().Agent; err != nil && len(failed.AuthMethods) > 0 {
		return fmt.Errorf("%w: %s", ErrInvalid, failed.Message)
	}
	return err
}

// beginLogin ends the agent, and has the next one log in. It reports false, and
// does nothing, while the agent's login methods are not known yet; with blindly it
// does it all the same.
func (a *agentSlot) beginLogin(methodID string, actor event.Actor, blindly bool) (bool, error) {
	if err := a.refusal(); err != nil {
		return false, err
	}
	if a.fold.open {
		return false, fmt.Errorf("%w: the agent is working; log in after the turn", ErrBusy)
	}
	ways, known := a.logins()
	if !known && !blindly {
		return false, nil
	}
	switch {
	case known && len(ways) == 0:
		return false, fmt.Errorf("%w: the agent needs no login and offers none", ErrInvalid)
	case known && !slices.Contains(ways, methodID):
		return false, fmt.Errorf("%w: %q is none of the agent's ways to log in: name one of %s", ErrInvalid, methodID, strings.Join(ways, ", "))
	}
	a.logger.Info("agent is logged in", "actor", actor.Name, "method", methodID)
	a.forgive()
	a.authBy = methodID
	a.stop(stopReset)
	return true, nil
}

// logins lists the ids of the ways to log in, as far as the agent said.
func (a *agentSlot) logins() (ids []string, known bool) {
	if len(a.login) == 0 {
		return a.offers.logins, a.offers.known
	}
	for _, m := range a.login {
		ids = append(ids, m.ID)
	}
	return ids, true
}

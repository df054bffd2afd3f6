package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/rule"
	"github.com/abidehub/abide/session/state"
)

// Rules lists the rules of this session: its own, then those of its agent, each
// oldest first.
func (b *BackgroundSession) Rules(ctx context.Context) ([]state.Rule, error) {
	var h hub
	list, err := ask(ctx, b.mail, func(e *engine) ([]state.Rule, error) {
		h = e.hub
		return slices.DeleteFunc(e.questions.rules(), func(r state.Rule) bool { return r.Agent != e.agentName }), nil
	})
	for i, r := range list {
		list[i].Suspended = h.suspends(r, b.id)
	}
	return list, err
}

// AddRule adds a rule, such as "always allow reads", and records it in the log with
// its maker. Kind or Subject must be set. AddRule sets ID, Agent and CreatedAt.
func (b *BackgroundSession) AddRule(ctx context.Context, r state.Rule) (state.Rule, error) {
	if err := rule.Check(r); err != nil {
		return state.Rule{}, err
	}
	maker, err := b.ruleMaker(ctx)
	if err != nil {
		return state.Rule{}, err
	}
	if maker.rules >= rule.Max {
		return state.Rule{}, fmt.Errorf("%w: %s", state.ErrInvalid, rule.TooMany)
	}
	r = rule.Complete(r, maker.agent)
	if r.Scope == state.RuleAgent {
		if err := maker.book.Add(r); err != nil {
			return state.Rule{}, err
		}
	}
	return r, tell(ctx, b.mail, func(e *engine) error {
		return e.questions.noteRule(state.NoteRuleAdded, r, event.Actor{Name: r.CreatedBy, ID: r.CreatedByID})
	})
}

// Like sets a rule's subject from an open permission request, so that the rule
// matches exactly that request. A request that is not open is ErrNotFound; a
// request without an exact subject is ErrInvalid.
func (b *BackgroundSession) Like(ctx context.Context, r state.Rule, permissionID string) (state.Rule, error) {
	return ask(ctx, b.mail, func(e *engine) (state.Rule, error) {
		for _, open := range e.fold.Permissions.Open {
			if open.Request.PermissionID == permissionID {
				if why := e.questions.onlyOnce(open); why != "" {
					return r, fmt.Errorf("%w: no rule can be made of this request: %s", state.ErrInvalid, why)
				}
				return rule.About(r, open.About), nil
			}
		}
		return r, fmt.Errorf("%w: permission request %q is not open", state.ErrNotFound, permissionID)
	})
}

// RevokeRule revokes a rule of the session or of its agent.
func (b *BackgroundSession) RevokeRule(ctx context.Context, id string, actor event.Actor) error {
	maker, err := b.ruleMaker(ctx)
	if err != nil {
		return err
	}
	all, err := b.Rules(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r state.Rule) bool { return r.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: there is no rule %q", state.ErrNotFound, id)
	}
	if all[i].Scope == state.RuleAgent {
		if err := maker.book.Remove(id); err != nil {
			return err
		}
	}
	revoked := all[i]
	revoked.Suspended = false
	return tell(ctx, b.mail, func(e *engine) error { return e.questions.noteRule(state.NoteRuleRevoked, revoked, actor) })
}

// ruleMaker is the part of the engine that changes rules. Agents' rules are written
// outside of the engine.
type ruleMaker struct {
	book  *rule.Book
	agent string
	rules int // that there are
}

func (b *BackgroundSession) ruleMaker(ctx context.Context) (ruleMaker, error) {
	return ask(ctx, b.mail, func(e *engine) (ruleMaker, error) {
		return ruleMaker{e.hub.rules, e.agentName, len(e.questions.rules())}, e.refusal()
	})
}

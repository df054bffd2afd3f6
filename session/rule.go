package session

import (
	"slices"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/rule"
	"github.com/abidehub/abide/session/state"
)

// suspends reports whether the maker of a rule may no longer make it.
func (h hub) suspends(r state.Rule, sessionID string) bool {
	if r.Scope == state.RuleAgent {
		sessionID = ""
	}
	return h.mayRule != nil && !h.mayRule(event.Actor{Name: r.CreatedBy, ID: r.CreatedByID}, sessionID)
}

// decide returns the answer of a rule to a request about s.
func (q *questions) decide(s state.Subject, p event.PermissionRequest) (event.PermissionOutcome, bool) {
	return rule.Decide(q.rules(), q.agentName, s, p, func(r state.Rule) bool { return q.hub.suspends(r, q.id) })
}

// onlyOnce returns why no rule can be made of a request; empty if one can.
func (q *questions) onlyOnce(request state.OpenRequest) string {
	return rule.OnlyOnce(request, q.fold.SubjectOf(request.Request), len(q.rules()))
}

// rules returns those of the session and those of agents.
func (q *questions) rules() []state.Rule {
	return slices.Concat(q.fold.Rules, q.hub.rules.All())
}

// keepRule adds a rule for the agent that an answer asked for, and then calls then.
// The answer counts even if the rule fails, which a note then reports.
func (q *questions) keepRule(r state.Rule, then func()) {
	var err error
	q.files.add(func() { err = q.hub.rules.Add(r) }, func() {
		if err != nil {
			q.logger.Error("permission rule could not be saved", "err", err)
			failure := event.Error{Code: "rule_not_saved", Message: "The answer counts, but could not be remembered for later sessions."}
			if _, err := q.write(q.entries(failure)...); err != nil {
				q.logger.Error("failure could not be recorded", "err", err)
			}
		}
		then()
	})
}

// noteRule records a change of the rules.
func (q *questions) noteRule(method string, r state.Rule, actor event.Actor) error {
	if err := q.refusal(); err != nil {
		return err
	}
	note, err := rule.Note(method, r, actor)
	if err != nil {
		return err
	}
	_, err = q.write(q.entries(note)...)
	return q.stuck(err)
}

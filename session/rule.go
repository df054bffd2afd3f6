package session

import (
	"slices"

	"github.com/abidehub/abide/session/allow"
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

// decide returns the answer of a rule, or of the job's policy, to a request about s.
func (q *questions) decide(s state.Subject, p event.PermissionRequest) (event.PermissionOutcome, bool) {
	o, decided := rule.Decide(q.rules(), q.agentName, s, p, func(r state.Rule) bool { return q.hub.suspends(r, q.id) })
	if q.fold.Job == nil {
		return o, decided
	}
	request := state.OpenRequest{Request: p}
	if chosen, _ := request.Option(o.OptionID); decided && !chosen.Kind.Allows() {
		return o, true
	}
	return q.decideForJob(s, request)
}

// decideForJob answers by the policy of a job. decided is false if a person answers.
func (q *questions) decideForJob(s state.Subject, request state.OpenRequest) (o event.PermissionOutcome, decided bool) {
	p, policy := request.Request, q.fold.Job.Given.Policy
	if option, one := rule.Option(state.Rule{Effect: state.RuleAllow}, p); one && p.Form == nil && p.URL == "" && q.allowed().Request(s, p.ToolCall) {
		return event.PermissionOutcome{
			PermissionID: p.PermissionID, Outcome: event.OutcomeSelected, OptionID: option, By: state.ByHub, Reason: "the job's policy allows it",
		}, true
	}
	if policy.Outside == event.OutsidePark {
		return event.PermissionOutcome{}, false
	}
	return request.Denied(state.PolicyDenies), true
}

// allowed is the list of a job; nil for a session that is none.
func (l *foldedLog) allowed() *allow.List {
	if l.fold.Job == nil {
		return nil
	}
	return &allow.List{Allowed: l.fold.Job.Given.Policy.Allow, Workspace: l.workspace}
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

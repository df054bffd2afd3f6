package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// maxRules limits the rules that apply to a session, including those of agents.
const (
	maxRules     = 1000
	tooManyRules = "there are 1000 rules already: revoke some"
)

// covers reports whether a rule applies to a subject of an agent. An allow rule
// must match all facts of the call, a reject rule any of them.
func covers(r state.Rule, agent string, s state.Subject) bool {
	switch {
	case r.Agent != agent:
		return false
	case r.Subject != "":
		return (r.Kind == "" || r.Kind == s.Kind) && s.Identified() && r.Subject == s.Fingerprint()
	case r.Effect == state.RuleReject:
		return r.Kind == "" || s.Perhaps(r.Kind)
	}
	return s.Surely(r.Kind)
}

// optionOf returns the agent's option that a rule chooses. ok is false if there are
// none or several: only a person can choose between several once options.
func optionOf(r state.Rule, p event.PermissionRequest) (string, bool) {
	want := event.AllowOnce
	if r.Effect == state.RuleReject {
		want = event.RejectOnce
	}
	option, count := "", 0
	for _, o := range p.Options {
		if o.Kind == want {
			option = o.OptionID
			count++
		}
	}
	return option, count == 1
}

// suspends reports whether the maker of a rule may no longer make it.
func (h hub) suspends(r state.Rule, sessionID string) bool {
	if r.Scope == state.RuleAgent {
		sessionID = ""
	}
	return h.mayRule != nil && !h.mayRule(event.Actor{Name: r.CreatedBy, ID: r.CreatedByID}, sessionID)
}

// decide returns the answer of a rule to a request about s. Reject rules come
// before allow rules. Rules never answer forms and pages.
func (q *questions) decide(s state.Subject, p event.PermissionRequest) (event.PermissionOutcome, bool) {
	var found *state.Rule
	rules := q.rules()
	for i, r := range rules {
		if covers(r, q.agentName, s) && (found == nil || r.Effect == state.RuleReject) && !q.hub.suspends(r, q.id) {
			found = &rules[i]
		}
	}
	if found == nil || p.Form != nil || p.URL != "" {
		return event.PermissionOutcome{}, false
	}
	option, offered := optionOf(*found, p)
	if !offered {
		return event.PermissionOutcome{}, false
	}
	return event.PermissionOutcome{
		PermissionID: p.PermissionID, Outcome: event.OutcomeSelected, OptionID: option,
		By: found.CreatedBy, ByID: found.CreatedByID, Rule: found.ID,
	}, true
}

// rules returns those of the session and those of agents.
func (q *questions) rules() []state.Rule {
	return slices.Concat(q.fold.Rules, q.hub.rules.all())
}

// keepRule adds a rule for the agent that an answer asked for, and then calls then.
// The answer counts even if the rule fails, which a note then reports.
func (q *questions) keepRule(r state.Rule, then func()) {
	var err error
	q.files.add(func() { err = q.hub.rules.add(r) }, func() {
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

func complete(r state.Rule, agent string) state.Rule {
	r.ID, r.Agent, r.CreatedAt = newRuleID(), agent, time.Now().UTC()
	return r
}

// noteRule records a change of the rules.
func (q *questions) noteRule(method string, r state.Rule, actor event.Actor) error {
	if err := q.refusal(); err != nil {
		return err
	}
	note, err := ruleNote(method, r, actor)
	if err != nil {
		return err
	}
	_, err = q.write(q.entries(note)...)
	return q.stuck(err)
}

func ruleNote(method string, r state.Rule, actor event.Actor) (event.Note, error) {
	raw, err := json.Marshal(struct {
		Rule  state.Rule `json:"rule"`
		Actor string     `json:"actor"`
	}{r, actor.Name})
	if err != nil {
		return event.Note{}, fmt.Errorf("encode rule: %w", err)
	}
	words := fmt.Sprintf("From now on abide answers for %s: %s %s.", actor.Name, r.Effect, ruleWords(r))
	if method == state.NoteRuleRevoked {
		words = fmt.Sprintf("%s took back the rule: %s %s.", actor.Name, r.Effect, ruleWords(r))
	}
	return event.Note{Method: method, Text: event.Text(words), Raw: raw, By: actor.Name, ByID: actor.ID}, nil
}

func ruleWords(r state.Rule) string {
	about := "every " + string(r.Kind)
	if r.Subject != "" {
		about = "“" + r.Title + "”"
	}
	if r.AgentTold {
		about += " (the agent also got it and may remember it itself)"
	}
	if r.Scope == state.RuleAgent {
		return about + " in every session with " + r.Agent
	}
	return about + " in this session"
}

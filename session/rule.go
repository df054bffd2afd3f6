package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
)

// RuleScope is where a rule applies.
type RuleScope string

const (
	RuleSession RuleScope = "session" // this session
	RuleAgent   RuleScope = "agent"   // every session with this agent
)

// Values lists the scopes.
func (RuleScope) Values() []string { return []string{"session", "agent"} }

// RuleEffect is a rule's answer.
type RuleEffect string

const (
	RuleAllow  RuleEffect = "allow"
	RuleReject RuleEffect = "reject"
)

// Values lists the effects.
func (RuleEffect) Values() []string { return []string{"allow", "reject"} }

// Rule answers permission requests for a person. It only chooses a once option
// (allow_once, reject_once) of the agent, so that it can be revoked at any time. If
// the agent offers none, a person is asked.
type Rule struct {
	ID     string     `json:"id"`
	Scope  RuleScope  `json:"scope"`
	Effect RuleEffect `json:"effect"`
	// Agent is the agent whose requests it answers.
	Agent string `json:"agent,omitempty"`
	// Kind, if set, restricts the rule to tool calls of this kind.
	Kind event.ToolKind `json:"kind,omitempty"`
	// Subject, if set, restricts the rule to one action: it is the fingerprint of
	// everything known of a tool call from its announcement, its updates and the
	// request: kinds, title, input, changes and paths. Another command under the
	// same title has another fingerprint.
	Subject string `json:"subject,omitempty"`
	// Title describes Subject for people.
	Title string `json:"title,omitempty"`
	// AgentTold means that the agent offered no once option. It got an "always"
	// option and may remember it after the rule is revoked.
	AgentTold bool   `json:"agent_told,omitempty"`
	CreatedBy string `json:"created_by"`
	// CreatedByID is the id of the maker's credential; empty in rules of earlier
	// versions.
	CreatedByID string    `json:"created_by_id,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	// Suspended is set in lists if the maker's credential has expired, was revoked,
	// or may no longer make such a rule. The rule then answers nothing. It is never
	// stored.
	Suspended bool `json:"suspended,omitempty"`
}

// Methods of the notes that record a session's rules in its log.
const (
	noteRuleAdded   = "abide/rule_added"
	noteRuleRevoked = "abide/rule_revoked"
)

// maxRules limits the rules that apply to a session, including those of agents.
const (
	maxRules     = 1000
	tooManyRules = "there are 1000 rules already: revoke some"
)

// covers reports whether a rule applies to a subject of an agent. An allow rule
// must match all facts of the call, a reject rule any of them.
func (r Rule) covers(agent string, s subject) bool {
	switch {
	case r.Agent != agent:
		return false
	case r.Subject != "":
		return (r.Kind == "" || r.Kind == s.kind) && s.identified() && r.Subject == s.fingerprint()
	case r.Effect == RuleReject:
		return r.Kind == "" || s.perhaps(r.Kind)
	}
	return s.surely(r.Kind)
}

// option returns the agent's option that a rule chooses. ok is false if there are
// none or several: only a person can choose between several once options.
func (r Rule) option(p event.PermissionRequest) (string, bool) {
	want := event.AllowOnce
	if r.Effect == RuleReject {
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
func (h hub) suspends(r Rule, sessionID string) bool {
	if r.Scope == RuleAgent {
		sessionID = ""
	}
	return h.mayRule != nil && !h.mayRule(event.Actor{Name: r.CreatedBy, ID: r.CreatedByID}, sessionID)
}

// decide returns the answer of a rule to a request about s. Reject rules come
// before allow rules. Rules never answer forms and pages.
func (q *questions) decide(s subject, p event.PermissionRequest) (event.PermissionOutcome, bool) {
	var found *Rule
	rules := q.rules()
	for i, r := range rules {
		if r.covers(q.agentName, s) && (found == nil || r.Effect == RuleReject) && !q.hub.suspends(r, q.id) {
			found = &rules[i]
		}
	}
	if found == nil || p.Form != nil || p.URL != "" {
		return event.PermissionOutcome{}, false
	}
	option, offered := found.option(p)
	if !offered {
		return event.PermissionOutcome{}, false
	}
	return event.PermissionOutcome{
		PermissionID: p.PermissionID, Outcome: event.OutcomeSelected, OptionID: option,
		By: found.CreatedBy, ByID: found.CreatedByID, Rule: found.ID,
	}, true
}

// rules returns those of the session and those of agents.
func (q *questions) rules() []Rule {
	return slices.Concat(q.fold.rules, q.hub.rules.all())
}

// keepRule adds a rule for the agent that an answer asked for. The answer counts
// even if the rule fails, which a note then reports.
func (q *questions) keepRule(r Rule) {
	err := q.hub.rules.add(r)
	if err == nil {
		return
	}
	q.logger.Error("permission rule could not be saved", "err", err)
	failure := event.Error{Code: "rule_not_saved", Message: "The answer counts, but could not be remembered for later sessions."}
	if _, err := q.write(q.entries(failure)...); err != nil {
		q.logger.Error("failure could not be recorded", "err", err)
	}
}

func complete(r Rule, agent string) Rule {
	r.ID, r.Agent, r.CreatedAt = newRuleID(), agent, time.Now().UTC()
	return r
}

// noteRule records a change of the rules.
func (q *questions) noteRule(method string, r Rule, actor event.Actor) error {
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

func ruleNote(method string, r Rule, actor event.Actor) (event.Note, error) {
	raw, err := json.Marshal(struct {
		Rule  Rule   `json:"rule"`
		Actor string `json:"actor"`
	}{r, actor.Name})
	if err != nil {
		return event.Note{}, fmt.Errorf("encode rule: %w", err)
	}
	words := fmt.Sprintf("From now on abide answers for %s: %s %s.", actor.Name, r.Effect, r.about())
	if method == noteRuleRevoked {
		words = fmt.Sprintf("%s took back the rule: %s %s.", actor.Name, r.Effect, r.about())
	}
	return event.Note{Method: method, Text: event.Text(words), Raw: raw, By: actor.Name, ByID: actor.ID}, nil
}

func (r Rule) about() string {
	about := "every " + string(r.Kind)
	if r.Subject != "" {
		about = "“" + r.Title + "”"
	}
	if r.AgentTold {
		about += " (the agent also got it and may remember it itself)"
	}
	if r.Scope == RuleAgent {
		return about + " in every session with " + r.Agent
	}
	return about + " in this session"
}

// foldRule applies events about the session's own rules.
func (f *fold) foldRule(n event.Note) bool {
	if n.Method != noteRuleAdded && n.Method != noteRuleRevoked {
		return false
	}
	var raw struct {
		Rule Rule `json:"rule"`
	}
	if json.Unmarshal(n.Raw, &raw) != nil || raw.Rule.Scope != RuleSession {
		return true
	}
	f.rules = slices.DeleteFunc(slices.Clone(f.rules), func(r Rule) bool { return r.ID == raw.Rule.ID })
	if n.Method == noteRuleAdded {
		f.rules = append(f.rules, raw.Rule)
	}
	return true
}

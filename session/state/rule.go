package state

import (
	"encoding/json"
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
	NoteRuleAdded   = "abide/rule_added"
	NoteRuleRevoked = "abide/rule_revoked"
)

// applyRule applies a note about the session's own rules. is tells whether it is one.
func applyRule(rules []Rule, n event.Note) (next []Rule, is bool) {
	if n.Method != NoteRuleAdded && n.Method != NoteRuleRevoked {
		return rules, false
	}
	var raw struct {
		Rule Rule `json:"rule"`
	}
	if json.Unmarshal(n.Raw, &raw) != nil || raw.Rule.Scope != RuleSession {
		return rules, true
	}
	rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.ID == raw.Rule.ID })
	if n.Method == NoteRuleAdded {
		rules = append(rules, raw.Rule)
	}
	return rules, true
}

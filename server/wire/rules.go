package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// RuleEffect is a rule's answer.
type RuleEffect string

const (
	RuleAllow  RuleEffect = "allow"
	RuleReject RuleEffect = "reject"
)

// Values lists the set.
func (RuleEffect) Values() []string { return []string{"allow", "reject"} }

// Rule is a standing answer to permission requests, until it is revoked.
type Rule struct {
	ID     string     `json:"id"`
	Scope  RuleScope  `json:"scope"`
	Effect RuleEffect `json:"effect"`
	// Agent is the agent whose requests it answers.
	Agent string `json:"agent,omitempty"`
	// Kind, if set, restricts the rule to tool calls of this kind.
	Kind event.ToolKind `json:"kind,omitempty"`
	// Subject, if set, restricts the rule to one action, by its fingerprint. Title
	// describes it for people.
	Subject string `json:"subject,omitempty"`
	Title   string `json:"title,omitempty"`
	// AgentTold means that the agent may remember the answer after the rule is
	// revoked.
	AgentTold bool   `json:"agent_told,omitempty"`
	CreatedBy string `json:"created_by"`
	// CreatedByID is the id of the maker's credential; absent in rules of earlier
	// versions.
	CreatedByID string    `json:"created_by_id,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	// Suspended means that the maker's credential has expired, was revoked, or may
	// no longer make such a rule: it answers nothing.
	Suspended bool `json:"suspended,omitempty"`
}

// Rules lists the permission rules of a session: its own, then those of its agent,
// each oldest first.
type Rules struct {
	Rules []Rule `json:"rules"`
}

// NewRule is a rule about a kind of tool call, or about one action: a subject
// copied from another rule, or that of an open permission request.
type NewRule struct {
	Scope        RuleScope      `json:"scope"`
	Effect       RuleEffect     `json:"effect"`
	Kind         event.ToolKind `json:"kind,omitempty"`
	Subject      string         `json:"subject,omitempty"`
	PermissionID string         `json:"permission_id,omitempty"`
	// Title describes the rule's subject for people.
	Title string `json:"title,omitempty"`
}

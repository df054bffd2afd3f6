package wire

import (
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// RuleEffect is a rule's answer.
type RuleEffect = state.RuleEffect

// Rule is a standing answer to permission requests, until it is revoked.
type Rule = state.Rule

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

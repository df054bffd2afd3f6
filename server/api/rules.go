package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// ruleRows are the routes of this file.
func ruleRows() section {
	return section{
		title: "Permission rules",
		about: []string{
			"A viewer sees no rules. Adding and revoking takes a credential that manages the session; for scope `agent`, every session. A rule whose maker's credential has ended, was revoked or may not make it any more is listed with `suspended: true` and answers nothing (ADR 13). A session has at most 1,000 rules, those for agents among them.",
		},
		rows: []route{
			{
				"GET", one + "/rules", auth.Credential, auth.Act, false, inSession(rulesRoute),
				doc{summary: "The permission rules that answer in this session: its own, then those of its agent.", out: wire.Rules{}, status: 200},
			},
			{
				"POST", one + "/rules", auth.Credential, auth.Manage, false, with(ruleAddRoute),
				doc{
					summary: "Make a permission rule. One with scope agent answers in every session of the agent and takes access to all of them.",
					in:      wire.NewRule{}, out: wire.Rule{}, status: 201,
				},
			},
			{
				"DELETE", one + "/rules/{rule}", auth.Credential, auth.Manage, false, ruleRevokeRoute,
				doc{summary: "Take a permission rule back. It stops counting at once.", status: 204},
			},
		},
	}
}

func rulesRoute(s *API, c *call, own *session.BackgroundSession) error {
	list, err := own.Rules(c.r.Context())
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Rules{Rules: append([]wire.Rule{}, list...)})
}

func ruleAddRoute(s *API, c *call, in wire.NewRule) error {
	if err := MayRule(c.grant, c.id(), in.Scope); err != nil {
		return err
	}
	if in.PermissionID != "" && (in.Kind != "" || in.Subject != "") {
		return Invalid("a rule is like a permission_id, or about a kind or subject; not both")
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	by := c.grant.By()
	rule := state.Rule{
		Scope: in.Scope, Effect: in.Effect, Kind: in.Kind, Subject: in.Subject, Title: in.Title, CreatedBy: by.Name, CreatedByID: by.ID,
	}
	if in.PermissionID != "" {
		if rule, err = own.Like(c.r.Context(), rule, in.PermissionID); err != nil {
			return err
		}
	}
	rule, err = own.AddRule(c.r.Context(), rule)
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.RuleAdded, SessionID: own.ID(), Detail: ruleDetail(rule)})
	return c.reply(http.StatusCreated, rule)
}

func ruleRevokeRoute(s *API, c *call) error {
	own, id, err := c.part("rule")
	if err != nil {
		return err
	}
	list, err := own.Rules(c.r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(r state.Rule) bool { return r.ID == id })
	if i < 0 {
		return NotFound(fmt.Sprintf("rule %q", id))
	}
	if err := MayRule(c.grant, c.id(), list[i].Scope); err != nil {
		return err
	}
	if err := own.RevokeRule(c.r.Context(), id, c.grant.By()); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.RuleRevoked, SessionID: own.ID(), Detail: ruleDetail(list[i])})
	return c.done(nil)
}

// ruleDetail describes a rule in the audit trail.
func ruleDetail(r state.Rule) string {
	return fmt.Sprintf("%s: %s %s %q, for the %s", r.ID, r.Effect, r.Kind, r.Title, r.Scope)
}

// NoteAnswer records an answer to a permission request and whether it is
// remembered.
func (s *API) NoteAnswer(peer string, g auth.Grant, sessionID string, o event.PermissionOutcome, remember state.RuleScope) {
	detail := fmt.Sprintf("%s: %s %s", o.PermissionID, o.Outcome, o.OptionID)
	s.note(peer, g, audit.Record{Verb: audit.PermissionAnswer, SessionID: sessionID, Detail: detail})
	if remember != "" {
		s.note(peer, g, audit.Record{Verb: audit.RuleAdded, SessionID: sessionID, Detail: fmt.Sprintf("%s: remembered for the %s", o.PermissionID, remember)})
	}
}

// MayRule refuses a rule with a larger scope than the credential's. A rule for one
// session needs the right to manage it. A rule for an agent answers in every
// session and needs the right to manage all. An empty scope makes no rule.
func MayRule(grant auth.Grant, sessionID string, scope state.RuleScope) error {
	switch {
	case scope == "":
		return nil
	case scope == state.RuleAgent && !grant.May(auth.Manage, ""):
		return &Problem{Code: wire.CodeForbidden, Message: "a rule for every session of the agent takes access to every session; make one for this session"}
	case !grant.May(auth.Manage, sessionID):
		return &Problem{Code: wire.CodeForbidden, Message: "making a rule takes access to manage the session; answer without remember"}
	}
	return nil
}

package session

import (
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// noteAnsweredOnce is the method of the note that an "always" answer counts once.
const noteAnsweredOnce = "abide/answered_once"

// kindSwitchMode is a tool call that asks for the next mode. Its options are modes,
// whatever kind the agent gives them.
const kindSwitchMode event.ToolKind = "switch_mode"

// lasting is the effect of an answer beyond the request.
type lasting struct {
	// rule is the rule to make; nil for none.
	rule *state.Rule
	// notes are the notes for people.
	notes []event.Note
	// tell is the option that the agent gets: the chosen one, or a once option in
	// its place. With a once option only the hub remembers the rule and can revoke
	// it.
	tell string
}

// lastingOf returns the lasting effect of an answer: a rule for identical requests,
// if the answer asks for one. An "always" option makes a rule for the session
// without asking. An impossible rule is ErrInvalid; one that the person may not
// make is ErrForbidden.
func (q *questions) lastingOf(request state.OpenRequest, chosen event.PermissionOption, a Answer) (lasting, error) {
	l := lasting{tell: chosen.OptionID}
	effect, always, known := effectOf(chosen.Kind)
	if a.Remember == "" && (!always || request.About.Kind == kindSwitchMode) {
		return l, nil
	}
	rule := state.Rule{Effect: effect}
	once, offered := optionOf(rule, request.Request)
	if always && offered {
		l.tell = once
	}
	why := q.onlyOnce(request, known)
	if !a.MayRule {
		if a.Remember != "" {
			return l, fmt.Errorf("%w: making a rule takes access to manage the session; answer without remember", state.ErrForbidden)
		}
		if effect == state.RuleAllow && !offered {
			return l, fmt.Errorf("%w: the agent offers no way to allow this once, and allowing it for good takes access to manage the session", state.ErrForbidden)
		}
		why = "making a rule takes access to manage the session"
	}
	if why == "" && !always && !offered {
		why = "the agent offers several answers of this kind, and a rule could not choose"
	}
	if why != "" && a.Remember != "" {
		return l, fmt.Errorf("%w: this answer cannot be remembered: %s; answer it this once, without remember", state.ErrInvalid, why)
	}
	if why != "" {
		l.notes = append(l.notes, event.Note{
			Method: noteAnsweredOnce, Text: event.Text(onceWords(chosen, why, always && !offered)), By: a.Actor.Name, ByID: a.Actor.ID,
		})
		return l, nil
	}
	scope := a.Remember
	if scope == "" {
		scope = state.RuleSession
	}
	rule = complete(state.Rule{
		Scope: scope, Effect: effect, Kind: request.About.Kind, Subject: request.About.Fingerprint(),
		Title: state.Cut(state.OneLine(request.About.Title), state.LineRunes), AgentTold: always && !offered, CreatedBy: a.Actor.Name, CreatedByID: a.Actor.ID,
	}, q.agentName)
	note, err := ruleNote(state.NoteRuleAdded, rule, a.Actor)
	if err != nil {
		return l, err
	}
	l.rule, l.notes = &rule, append(l.notes, note)
	return l, nil
}

// effectOf returns the effect of an option of a kind. Only the kinds of ACP are
// known. No rule repeats others, because only the agent knows their meaning.
func effectOf(kind event.PermissionKind) (effect state.RuleEffect, always, known bool) {
	switch kind {
	case event.AllowOnce, event.AllowAlways:
		return state.RuleAllow, kind == event.AllowAlways, true
	case event.RejectOnce, event.RejectAlways:
		return state.RuleReject, kind == event.RejectAlways, true
	}
	return "", false, false
}

// onlyOnce returns why no rule can be made from an answer; empty if one can.
func (q *questions) onlyOnce(request state.OpenRequest, known bool) string {
	switch {
	case !known:
		return "the chosen option says neither allow nor reject in the protocol's words"
	case request.Request.Form != nil || request.Request.URL != "":
		return "a person fills in a form or looks at a page each time"
	case request.About.Kind == kindSwitchMode:
		return "the next mode is chosen each time"
	case !request.About.Identified():
		return "the agent does not say exactly what it would do, so a rule could cover something else"
	case q.fold.SubjectOf(request.Request).Fingerprint() != request.About.Fingerprint():
		return "the agent has changed what it says since it asked"
	case len(q.rules()) >= maxRules:
		return tooManyRules
	}
	return ""
}

func onceWords(chosen event.PermissionOption, why string, told bool) string {
	words := fmt.Sprintf("“%s” applies to this request only: %s.", state.Cut(state.OneLine(chosen.Name), state.LineRunes), why)
	if told {
		words += " The agent also got this answer and may remember it itself."
	}
	return words
}

package rule

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

// Lasting is the effect of an answer beyond the request.
type Lasting struct {
	// Rule is the rule to make; nil for none.
	Rule *state.Rule
	// Notes are the notes for people.
	Notes []event.Note
	// Tell is the option that the agent gets: the chosen one, or a once option in
	// its place. With a once option only the hub remembers the rule and can revoke
	// it.
	Tell string
}

// Answer is a person's answer to a request, with all that decides whether a rule can be
// made of it.
type Answer struct {
	Request state.OpenRequest
	// Chosen is the option that the person chose.
	Chosen event.PermissionOption
	// Now is the subject of the request as it is now.
	Now state.Subject
	// Agent is the session's agent, Rules the number of rules that apply to the session.
	Agent string
	Rules int
	// Remember is the scope of the rule that the person asks for; empty for none.
	Remember state.RuleScope
	// MayRule means that the person may make rules.
	MayRule bool
	By      event.Actor
}

// Lasting returns the lasting effect of an answer: a rule for identical requests,
// if the answer asks for one. An "always" option makes a rule for the session
// without asking. An impossible rule is state.ErrInvalid; one that the person
// may not make is state.ErrForbidden.
func (a Answer) Lasting() (Lasting, error) {
	request, chosen := a.Request, a.Chosen
	l := Lasting{Tell: chosen.OptionID}
	effect, always, known := effectOf(chosen.Kind)
	if a.Remember == "" && (!always || request.About.Kind == kindSwitchMode) {
		return l, nil
	}
	made := state.Rule{Effect: effect}
	once, offered := Option(made, request.Request)
	if always && offered {
		l.Tell = once
	}
	why := OnlyOnce(request, a.Now, a.Rules)
	if !known {
		why = "the chosen option says neither allow nor reject in the protocol's words"
	}
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
		l.Notes = append(l.Notes, event.Note{
			Method: noteAnsweredOnce, Text: event.Text(onceWords(chosen, why, always && !offered)), By: a.By.Name, ByID: a.By.ID,
		})
		return l, nil
	}
	scope := a.Remember
	if scope == "" {
		scope = state.RuleSession
	}
	made = Complete(About(state.Rule{
		Scope: scope, Effect: effect, AgentTold: always && !offered, CreatedBy: a.By.Name, CreatedByID: a.By.ID,
	}, request.About), a.Agent)
	note, err := Note(state.NoteRuleAdded, made, a.By)
	if err != nil {
		return l, err
	}
	l.Rule, l.Notes = &made, append(l.Notes, note)
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

// OnlyOnce returns why no rule can be made of a request whose subject is now this one,
// beside that many rules; empty if one can.
func OnlyOnce(request state.OpenRequest, now state.Subject, rules int) string {
	switch {
	case request.Request.Form != nil || request.Request.URL != "":
		return "a person fills in a form or looks at a page each time"
	case request.About.Kind == kindSwitchMode:
		return "the next mode is chosen each time"
	case !request.About.Identified():
		return "the agent does not say exactly what it would do, so a rule could cover something else"
	case now.Fingerprint() != request.About.Fingerprint():
		return "the agent has changed what it says since it asked"
	case rules >= Max:
		return TooMany
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

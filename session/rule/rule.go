// Package rule is a standing answer to permission requests: whom it covers, who may make
// it, and where it is kept. The rules of a session are in its log, so that state folds
// them; those of an agent, which hold in all its sessions, are in a Book.
package rule

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Max limits the rules that apply to a session, including those of agents.
const (
	Max     = 1000
	TooMany = "there are 1000 rules already: revoke some"
)

// Check refuses a rule that no person can have meant, as state.ErrInvalid.
func Check(r state.Rule) error {
	if r.Effect != state.RuleAllow && r.Effect != state.RuleReject || r.Scope != state.RuleSession && r.Scope != state.RuleAgent {
		return fmt.Errorf("%w: a rule allows or rejects, in a session or for an agent", state.ErrInvalid)
	}
	if r.Kind == "" && r.Subject == "" {
		return fmt.Errorf("%w: a rule needs a kind or a subject", state.ErrInvalid)
	}
	if r.CreatedBy == "" || len(r.Title) > 1000 || len(r.Kind) > 100 || len(r.Subject) > 100 {
		return fmt.Errorf("%w: a rule has a maker and short fields", state.ErrInvalid)
	}
	return nil
}

// Complete sets the id, the agent and the time of a new rule.
func Complete(r state.Rule, agent string) state.Rule {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	r.ID, r.Agent, r.CreatedAt = hex.EncodeToString(id[:]), agent, time.Now().UTC()
	return r
}

// About makes a rule one about the exact action of a request.
func About(r state.Rule, s state.Subject) state.Rule {
	r.Kind, r.Subject, r.Title = s.Kind, s.Fingerprint(), state.Cut(state.OneLine(s.Title), state.LineRunes)
	return r
}

// Covers reports whether a rule applies to a subject of an agent. An allow rule
// must match all facts of the call, a reject rule any of them.
func Covers(r state.Rule, agent string, s state.Subject) bool {
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

// Option returns the agent's option that a rule chooses. ok is false if there are
// none or several: only a person can choose between several once options.
func Option(r state.Rule, p event.PermissionRequest) (string, bool) {
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

// Decide returns the answer of a rule to an agent's request about s. Reject rules come
// before allow rules, and a rule for which suspended is true does not count. Rules never
// answer forms and pages.
func Decide(rules []state.Rule, agent string, s state.Subject, p event.PermissionRequest, suspended func(state.Rule) bool) (event.PermissionOutcome, bool) {
	var found *state.Rule
	for i, r := range rules {
		if Covers(r, agent, s) && (found == nil || r.Effect == state.RuleReject) && !suspended(r) {
			found = &rules[i]
		}
	}
	if found == nil || p.Form != nil || p.URL != "" {
		return event.PermissionOutcome{}, false
	}
	option, offered := Option(*found, p)
	if !offered {
		return event.PermissionOutcome{}, false
	}
	return event.PermissionOutcome{
		PermissionID: p.PermissionID, Outcome: event.OutcomeSelected, OptionID: option,
		By: found.CreatedBy, ByID: found.CreatedByID, Rule: found.ID,
	}, true
}

// Note returns the event that records a change of the rules by an actor. method is
// state.NoteRuleAdded or state.NoteRuleRevoked.
func Note(method string, r state.Rule, actor event.Actor) (event.Note, error) {
	raw, err := json.Marshal(struct {
		Rule  state.Rule `json:"rule"`
		Actor string     `json:"actor"`
	}{r, actor.Name})
	if err != nil {
		return event.Note{}, fmt.Errorf("encode rule: %w", err)
	}
	words := fmt.Sprintf("From now on abide answers for %s: %s %s.", actor.Name, r.Effect, describe(r))
	if method == state.NoteRuleRevoked {
		words = fmt.Sprintf("%s took back the rule: %s %s.", actor.Name, r.Effect, describe(r))
	}
	return event.Note{Method: method, Text: event.Text(words), Raw: raw, By: actor.Name, ByID: actor.ID}, nil
}

func describe(r state.Rule) string {
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

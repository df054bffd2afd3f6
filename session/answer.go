package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/form"
	"github.com/abidehub/abide/session/rule"
	"github.com/abidehub/abide/session/state"
)

// Answer is a client's answer to a permission request.
type Answer struct {
	PermissionID string
	// OptionID is one of the options the agent offered.
	OptionID string
	// Content is the filled-in form, a JSON object, if the request has a form.
	Content json.RawMessage
	Actor   event.Actor
	// Remember, if set, makes a rule that answers the same request the same way, in
	// this session or in every session of this agent. Without it, an "always"
	// option makes a rule for the session. The agent gets its once option if it has
	// one: the hub keeps the rule and can revoke it.
	Remember state.RuleScope
	// MayRule means that the person may make rules in this session. Without it
	// Remember is ErrForbidden, and an "always" option counts once.
	MayRule bool
	// SeenSeq, if set, is the last event that the client had applied. The answer is
	// refused if the request's tool call changed after it.
	SeenSeq event.Seq
}

// questions are the agent's permission requests. It records them and settles them:
// by an answer, by a rule, or by the policy for an unwatched session.
type questions struct {
	*foldedLog
	agent     *agentSlot
	turn      *turnRun
	files     *fileWriter
	unwatched time.Time // since when requests are open and the session is unwatched
}

// take gives the outcome of an answer to reply, perhaps later.
func (q *questions) take(a Answer, reply func(event.PermissionOutcome, error)) {
	if err := q.settle(a, reply); err != nil {
		reply(event.PermissionOutcome{}, err)
	}
}

// settle is take. It calls reply only if it returns nil.
func (q *questions) settle(a Answer, reply func(event.PermissionOutcome, error)) error {
	if winner, settled := q.fold.Permissions.Outcome(a.PermissionID); settled {
		if q.sentAgain(winner, a) {
			reply(winner, nil)
			return nil
		}
		return &state.AlreadyResolved{Winner: winner}
	}
	request, open := q.fold.Permissions.Find(a.PermissionID)
	if !open {
		return fmt.Errorf("%w: no permission request %q is open in this session", state.ErrNotFound, a.PermissionID)
	}
	if a.SeenSeq > 0 && q.fold.Tools.ChangedAt(request.Request.ToolCallID) > a.SeenSeq {
		return fmt.Errorf("%w: the agent changed this tool call after the answer was given: look at it again", state.ErrConflict)
	}
	chosen, offered := request.Option(a.OptionID)
	if !offered {
		return fmt.Errorf("%w: the agent did not offer option %q", state.ErrInvalid, a.OptionID)
	}
	if len(a.Content) > 0 && (request.Request.Form == nil || !isObject(a.Content)) {
		return fmt.Errorf("%w: content is a JSON object and answers a form", state.ErrInvalid)
	}
	if request.Request.Form != nil && (chosen.Kind == event.AllowOnce || chosen.Kind == event.AllowAlways) {
		if err := form.Check(request.Request.Form, a.Content); err != nil {
			return err
		}
	}
	if a.Remember != "" && a.Remember != state.RuleSession && a.Remember != state.RuleAgent {
		return fmt.Errorf("%w: an answer is remembered for the %s or the %s", state.ErrInvalid, state.RuleSession, state.RuleAgent)
	}
	lasting, err := rule.Answer{
		Request: request, Chosen: chosen, Now: q.fold.SubjectOf(request.Request), Agent: q.agentName, Rules: len(q.rules()),
		Remember: a.Remember, MayRule: a.MayRule, By: a.Actor,
	}.Lasting()
	if err != nil {
		return err
	}
	if err := q.refusal(); err != nil {
		return err
	}
	outcome := event.PermissionOutcome{
		PermissionID: a.PermissionID,
		Outcome:      event.OutcomeSelected,
		OptionID:     a.OptionID,
		Content:      a.Content,
		By:           a.Actor.Name,
		ByID:         a.Actor.ID,
	}
	list := []state.Entry{{Turn: request.Turn, Payload: outcome}}
	for _, note := range lasting.Notes {
		list = append(list, state.Entry{Turn: request.Turn, Payload: note})
	}
	if _, err := q.write(list...); err != nil {
		return fmt.Errorf("settle permission request: %w", q.stuck(err))
	}
	q.turn.refused = q.turn.refused || !chosen.Kind.Allows()
	told, proc := outcome, q.agent.proc
	told.OptionID = lasting.Tell
	answered := func() {
		if q.agent.proc == proc { // not another one since
			q.tellAgent(told)
		}
		reply(outcome, nil)
	}
	if lasting.Rule != nil && lasting.Rule.Scope == state.RuleAgent {
		q.keepRule(*lasting.Rule, answered) // before the agent asks the next question
	} else {
		answered()
	}
	return nil
}

// sentAgain reports whether an answer repeats the winning one.
func (q *questions) sentAgain(winner event.PermissionOutcome, a Answer) bool {
	if winner.Outcome != event.OutcomeSelected || winner.OptionID != a.OptionID {
		return false
	}
	if winner.Rule != "" || winner.Reason != "" {
		return false
	}
	return a.Actor.Is(winner.By, winner.ByID)
}

func isObject(data json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(data, &object) == nil && object != nil
}

// tellAgent sends outcomes that are in the log to the agent.
func (q *questions) tellAgent(outcomes ...event.PermissionOutcome) {
	for _, o := range outcomes {
		if q.agent.proc == nil {
			return
		}
		if err := q.agent.proc.Answer(o); err != nil {
			q.logger.Warn("agent did not take the answer", "permission", o.PermissionID, "err", err)
		}
	}
}

// recordRequest records a permission request of the agent.
func (q *questions) recordRequest(p event.PermissionRequest) error {
	_, open := q.fold.Permissions.Find(p.PermissionID)
	_, settled := q.fold.Permissions.Outcome(p.PermissionID)
	if open || settled || p.PermissionID == "" {
		q.logger.Warn("agent asked with an id that is not new", "permission", p.PermissionID)
		return nil
	}
	about := q.fold.SubjectOf(p)
	p.Title = cmp.Or(p.Title, about.Title, "The agent asks for permission")
	request := state.OpenRequest{Request: p, Turn: q.fold.TurnOf(p)}
	list := []state.Entry{{Turn: request.Turn, Payload: p}}
	var outcomes []event.PermissionOutcome
	if q.turn.cancelled() && q.fold.Open {
		// A cancel settled all open requests before this one came.
		o := request.Cancelled(state.TheHub(), "the turn was cancelled")
		outcomes = append(outcomes, o)
		list = append(list, state.Entry{Turn: request.Turn, Payload: o})
	} else if o, decided := q.decide(about, p); decided {
		chosen, _ := request.Option(o.OptionID)
		q.turn.refused = q.turn.refused || !chosen.Kind.Allows()
		outcomes = append(outcomes, o)
		list = append(list, state.Entry{Turn: request.Turn, Payload: o})
	}
	if _, err := q.write(list...); err != nil {
		return err
	}
	q.tellAgent(outcomes...)
	for _, o := range outcomes {
		if o.Rule != "" && q.hub.answered != nil {
			q.files.add(func() { q.hub.answered(q.id, o) }, func() {})
		}
	}
	return nil
}

// recordWithdrawal records that the agent withdrew its request. An earlier answer
// stays.
func (q *questions) recordWithdrawal(p event.PermissionOutcome) error {
	request, open := q.fold.Permissions.Find(p.PermissionID)
	if !open {
		return nil
	}
	_, err := q.write(state.Entry{Turn: request.Turn, Payload: p})
	return err
}

// policy returns the session's own policy, or the configured one for a session that
// follows the configuration. Logs of before policies were recorded follow it too.
func (q *questions) policy() event.Policy {
	if p := q.fold.Policy; p != nil && !p.Configured {
		return *p
	}
	return q.hub.settings().Permissions.Policy()
}

// watchRequests applies the policy for unwatched sessions. The policy never allows
// a request.
func (q *questions) watchRequests(now time.Time) {
	open := q.fold.Permissions.Open
	if len(open) == 0 || q.closing || q.health.broken() {
		return
	}
	if q.watchers.Watching() {
		q.unwatched = time.Time{}
		return
	}
	if q.unwatched.IsZero() {
		q.unwatched = now
	}
	policy := q.policy()
	deny, limit := policy.Unattended == event.UnattendedDeny, time.Duration(policy.WaitLimitMS)*time.Millisecond
	if !deny && limit <= 0 {
		return
	}
	for _, r := range open {
		at := r.Asked
		if q.unwatched.After(at) {
			at = q.unwatched
		}
		if !deny {
			at = at.Add(limit)
		}
		if now.Before(at) {
			q.wake(at)
			continue
		}
		o := r.Denied("no person watches this session")
		if _, err := q.write(state.Entry{Turn: r.Turn, Payload: o}); err != nil {
			return
		}
		q.turn.refused = true
		q.tellAgent(o)
	}
}

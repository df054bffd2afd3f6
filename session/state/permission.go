package state

import (
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// rememberedOutcomes is how many settled requests are kept, so that a late answer
// gets the winner.
const rememberedOutcomes = 128

// ByHub is the actor name of the hub's own actions.
const ByHub = "hub"

// TheHub is the actor of the hub's own actions.
func TheHub() event.Actor { return event.Actor{Name: ByHub} }

// OpenRequest is an unsettled permission request.
type OpenRequest struct {
	Request event.PermissionRequest `json:"request"`
	Turn    int                     `json:"turn,omitempty"`
	// About is the subject when the request came. Later updates of the call change
	// neither the request nor a rule made from it.
	About Subject `json:"about,omitzero"`
	// Asked is when the request came, by the clock of this run.
	Asked time.Time `json:"-"`
}

// Permissions holds the open and recently settled requests of one session, from its
// log.
type Permissions struct {
	// Open and Settled are ordered by age, the oldest first. Of the settled ones only
	// the newest are kept.
	Open    []OpenRequest             `json:"open,omitempty"`
	Settled []event.PermissionOutcome `json:"settled,omitempty"`
}

func (p *Permissions) ask(r event.PermissionRequest, turn int, about Subject) {
	r.Raw = nil
	p.Open = append(slices.Clone(p.Open), OpenRequest{Request: r, Turn: turn, About: about, Asked: time.Now()})
}

func (p *Permissions) settle(o event.PermissionOutcome) {
	p.Open = slices.DeleteFunc(slices.Clone(p.Open), func(r OpenRequest) bool {
		return r.Request.PermissionID == o.PermissionID
	})
	keep := p.Settled
	if over := len(keep) + 1 - rememberedOutcomes; over > 0 {
		keep = keep[over:]
	}
	p.Settled = append(slices.Clone(keep), o)
}

// Find returns an open request.
func (p *Permissions) Find(id string) (OpenRequest, bool) {
	for _, r := range p.Open {
		if r.Request.PermissionID == id {
			return r, true
		}
	}
	return OpenRequest{}, false
}

// Outcome returns the outcome of a recently settled request.
func (p *Permissions) Outcome(id string) (event.PermissionOutcome, bool) {
	for _, o := range slices.Backward(p.Settled) {
		if o.PermissionID == id {
			return o, true
		}
	}
	return event.PermissionOutcome{}, false
}

// IDs lists the open requests, oldest first.
func (p *Permissions) IDs() []string {
	list := make([]string, 0, len(p.Open))
	for _, r := range p.Open {
		list = append(list, r.Request.PermissionID)
	}
	return list
}

// Option returns the option with this id.
func (r OpenRequest) Option(id string) (event.PermissionOption, bool) {
	for _, o := range r.Request.Options {
		if o.OptionID == id {
			return o, true
		}
	}
	return event.PermissionOption{}, false
}

// Cancelled returns the outcome of an unanswered request.
func (r OpenRequest) Cancelled(by event.Actor, reason string) event.PermissionOutcome {
	return event.PermissionOutcome{
		PermissionID: r.Request.PermissionID,
		Outcome:      event.OutcomeCancelled,
		By:           by.Name,
		ByID:         by.ID,
		Reason:       reason,
	}
}

// Denied rejects a request once, with the agent's option for that if there is one.
func (r OpenRequest) Denied(reason string) event.PermissionOutcome {
	for _, o := range r.Request.Options {
		if o.Kind == event.RejectOnce {
			return event.PermissionOutcome{
				PermissionID: r.Request.PermissionID,
				Outcome:      event.OutcomeSelected,
				OptionID:     o.OptionID,
				By:           ByHub,
				Reason:       reason,
			}
		}
	}
	return r.Cancelled(TheHub(), reason)
}

// Words returns an open request for the list, such as "Allow: rm -rf build?". It is
// empty if the content is unknown.
func (r OpenRequest) Words() string {
	title := FirstLine(r.Request.Title)
	allows := func(o event.PermissionOption) bool { return o.Kind == event.AllowOnce || o.Kind == event.AllowAlways }
	if title == "" || strings.HasSuffix(title, "?") || r.Request.Form != nil || r.Request.URL != "" || !slices.ContainsFunc(r.Request.Options, allows) {
		return title
	}
	return "Allow: " + title + "?"
}

package session

import (
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
)

// rememberedOutcomes is how many settled requests are kept, so that a late answer
// gets the winner.
const rememberedOutcomes = 128

// byHub is the actor name of the hub's own actions.
const byHub = "hub"

func theHub() event.Actor { return event.Actor{Name: byHub} }

// openRequest is an unsettled permission request.
type openRequest struct {
	Request event.PermissionRequest
	Turn    int
	// about is the subject when the request came. Later updates of the call change
	// neither the request nor a rule made from it.
	about subject
	// asked is when the request came, by the clock of this run.
	asked time.Time
}

// permissions holds the open and recently settled requests of one session, from its
// log.
type permissions struct {
	open    []openRequest // oldest first
	settled []event.PermissionOutcome
}

func (p *permissions) ask(r event.PermissionRequest, turn int, about subject) {
	r.Raw = nil
	p.open = append(slices.Clone(p.open), openRequest{Request: r, Turn: turn, about: about, asked: time.Now()})
}

func (p *permissions) settle(o event.PermissionOutcome) {
	p.open = slices.DeleteFunc(slices.Clone(p.open), func(r openRequest) bool {
		return r.Request.PermissionID == o.PermissionID
	})
	keep := p.settled
	if over := len(keep) + 1 - rememberedOutcomes; over > 0 {
		keep = keep[over:]
	}
	p.settled = append(slices.Clone(keep), o)
}

// find returns an open request.
func (p *permissions) find(id string) (openRequest, bool) {
	for _, r := range p.open {
		if r.Request.PermissionID == id {
			return r, true
		}
	}
	return openRequest{}, false
}

// outcome returns the outcome of a recently settled request.
func (p *permissions) outcome(id string) (event.PermissionOutcome, bool) {
	for _, o := range slices.Backward(p.settled) {
		if o.PermissionID == id {
			return o, true
		}
	}
	return event.PermissionOutcome{}, false
}

// ids lists the open requests, oldest first.
func (p *permissions) ids() []string {
	list := make([]string, 0, len(p.open))
	for _, r := range p.open {
		list = append(list, r.Request.PermissionID)
	}
	return list
}

// option returns the option with this id.
func (r openRequest) option(id string) (event.PermissionOption, bool) {
	for _, o := range r.Request.Options {
		if o.OptionID == id {
			return o, true
		}
	}
	return event.PermissionOption{}, false
}

// cancelled returns the outcome of an unanswered request.
func (r openRequest) cancelled(by event.Actor, reason string) event.PermissionOutcome {
	return event.PermissionOutcome{
		PermissionID: r.Request.PermissionID,
		Outcome:      event.OutcomeCancelled,
		By:           by.Name,
		ByID:         by.ID,
		Reason:       reason,
	}
}

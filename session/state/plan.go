package state

import (
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// The limits of a Plan: planEntries of each kind, planRunes of each entry.
const (
	planEntries = 50
	planRunes   = 500
)

// Plan is the agent's latest plan as texts, in its order. The slices are replaced and never
// changed.
type Plan struct {
	// Current is the entry that the agent works on; empty if it says none.
	Current string `json:"current,omitempty"`
	// Done are the entries that are complete, Open the others, each once.
	Done []string `json:"done,omitempty"`
	Open []string `json:"open,omitempty"`
}

// Apply takes the plan from the next event.
func (p *Plan) Apply(e event.Payload) {
	switch e := e.(type) {
	case event.Plan:
		*p = planOf(e.Entries)
	case event.UserPrompt: // an entry that a person asks for is no suggestion any more
		text := strings.TrimSpace(string(e.Text))
		if i := slices.Index(p.Open, text); i >= 0 {
			p.Open = slices.Delete(slices.Clone(p.Open), i, i+1)
		}
	}
}

func planOf(entries []event.PlanEntry) (p Plan) {
	for _, entry := range entries {
		text := Cut(OneLine(entry.Content), planRunes)
		to := &p.Open
		if entry.Status == event.PlanCompleted {
			to = &p.Done
		}
		if text == "" || len(*to) == planEntries {
			continue
		}
		if to == &p.Done || !slices.Contains(p.Open, text) {
			*to = append(*to, text)
		}
		if p.Current == "" && entry.Status == event.PlanInProgress {
			p.Current = text
		}
	}
	return p
}

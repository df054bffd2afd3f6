package resume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/state"
)

// PutBack is how far the recorded settings of a restarted agent are put back: one at a
// time, because an agent that takes one may change what it offers for the others. The
// zero value is the beginning.
type PutBack struct {
	taken   []Drift           // those that the agent took, in order
	refused map[string]string // why not, by field
	gone    map[string]bool   // the fields whose recorded value is not offered now
}

// Next returns the next setting to put back, as the agent is to have it. There is none
// when each was taken or refused.
func (p *PutBack) Next(s, now state.AgentSettings, rows []Drift) (state.Setting, bool) {
	wanted := s.List()
	slices.SortStableFunc(wanted, func(a, b state.Setting) int { return order(a) - order(b) })
	for _, one := range wanted {
		row := slices.IndexFunc(rows, func(d Drift) bool { return d.Field == one.Field })
		if row < 0 || p.refused[one.Field] != "" || p.took(one.Field) {
			continue
		}
		current, has := now.Find(one)
		switch {
		case !has:
			p.Refused(rows[row], "the agent does not offer it")
			continue
		case current.Option != nil && !current.Option.Offers(one.Value):
			p.Gone(rows[row])
			continue
		}
		one.Option = current.Option // of the agent that runs now
		return one, true
	}
	return state.Setting{}, false
}

// order is the order in which settings are put back. The model comes first: modes and
// options may depend on it.
func order(s state.Setting) int {
	switch s.Field {
	case state.FieldModel:
		return 0
	case state.FieldMode:
		return 1
	}
	return 2
}

func (p *PutBack) took(field string) bool {
	return slices.ContainsFunc(p.taken, func(d Drift) bool { return d.Field == field })
}

// Took notes that the agent took a setting. Those that it refused before may be offered
// now.
func (p *PutBack) Took(d Drift) { p.taken, p.refused, p.gone = append(p.taken, d), nil, nil }

// Refused notes why a setting cannot be put back.
func (p *PutBack) Refused(d Drift, why string) {
	if p.refused == nil {
		p.refused = map[string]string{}
	}
	p.refused[d.Field] = why
}

// Gone notes that the agent does not offer the recorded value any more.
func (p *PutBack) Gone(d Drift) {
	p.Refused(d, "it is not offered now")
	if p.gone == nil {
		p.gone = map[string]bool{}
	}
	p.gone[d.Field] = true
}

// NeedChoice reports whether a person must decide about the settings that still differ:
// one cannot be put back, or may let the agent do more.
func (p *PutBack) NeedChoice(rows []Drift) bool {
	return slices.ContainsFunc(rows, func(d Drift) bool { return d.AllowsMore || p.refused[d.Field] != "" })
}

// NeedAnother reports the same for a person who has decided to resume without knowing the
// difference. That decision covers a refusal, and a mode that allows less.
func (p *PutBack) NeedAnother(rows []Drift) bool {
	return slices.ContainsFunc(rows, func(d Drift) bool {
		return d.AllowsMore || p.gone[d.Field] && d.Field != state.FieldMode
	})
}

// Why says why the settings that still differ could not be put back; empty if the agent
// refused none.
func (p *PutBack) Why(rows []Drift) string {
	var list []string
	for _, d := range rows {
		if why := p.refused[d.Field]; why != "" {
			list = append(list, fmt.Sprintf("%s %s: %s", fieldWords(d.Field), short(d.Recorded), strings.TrimSuffix(why, ".")))
		}
	}
	return strings.Join(list, "; ")
}

// Done describes the settings that the agent has again, as text; empty if none.
func (p *PutBack) Done(rows []Drift) string {
	var list []string
	for _, d := range p.taken {
		if !slices.ContainsFunc(rows, func(still Drift) bool { return still.Field == d.Field }) {
			list = append(list, fmt.Sprintf("%s %s (it was %s)", fieldWords(d.Field), short(d.Recorded), short(d.Current)))
		}
	}
	return strings.Join(list, ", ")
}

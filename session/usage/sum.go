package usage

import (
	"cmp"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// Sum is what some turns used.
type Sum struct {
	// Turns counts them. Unreported are those of them whose end has no account of tokens, so
	// that Tokens has less than was used.
	Turns, Unreported int
	Tokens            event.Tokens
	// Costs are by currency, each once, in the order of their names.
	Costs []event.Cost
	// Calls are the tool calls, and MS the milliseconds from prompt to end.
	Calls int
	MS    int64
}

// Add adds another sum.
func (s *Sum) Add(o Sum) {
	s.Turns, s.Unreported = s.Turns+o.Turns, s.Unreported+o.Unreported
	s.Tokens = s.Tokens.Plus(o.Tokens)
	s.Calls, s.MS = s.Calls+o.Calls, s.MS+o.MS
	for _, c := range o.Costs {
		s.addCost(c)
	}
}

func (s *Sum) addCost(c event.Cost) {
	i, found := slices.BinarySearchFunc(s.Costs, c.Currency, func(one event.Cost, currency string) int { return cmp.Compare(one.Currency, currency) })
	if !found {
		s.Costs = slices.Insert(slices.Clip(s.Costs), i, c)
		return
	}
	s.Costs = slices.Clone(s.Costs) // a copy of the sum keeps its own
	s.Costs[i].Amount += c.Amount
}

package config

import (
	"errors"
	"fmt"
	"math"
)

// Budget is how much the sessions of a project may use on a day, in the hub's time zone.
type Budget struct {
	// Tokens and Cost are the bounds; 0 is none of that kind, and one is set. Cost is in the
	// currency that the agents report.
	Tokens int64
	Cost   float64
	// WarnAt is the part, above 0 and at most 1, from which the hub warns.
	WarnAt float64
	// Stop lets nothing new begin on a day on which all is used.
	Stop bool
}

type fileBudget struct {
	Tokens *float64 `yaml:"tokens"`
	Cost   *float64 `yaml:"cost"`
	WarnAt *float64 `yaml:"warn_at"`
	Stop   *bool    `yaml:"stop"`
}

// apply sets what the file has in b. With an error comes the field it is about; empty is the
// whole budget.
func (f fileBudget) apply(b *Budget) (field string, err error) {
	b.WarnAt = 0.8
	if f.Tokens == nil && f.Cost == nil {
		return "", errors.New("a budget has tokens, cost or both: add one, or leave the budget out")
	}
	if v := f.Tokens; v != nil {
		n, err := whole(*v)
		if err == nil && n < 1 {
			err = fmt.Errorf("%d is no budget: leave it out for none", n)
		}
		if err != nil {
			return "tokens", err
		}
		b.Tokens = int64(n)
	}
	if v := f.Cost; v != nil {
		if b.Cost = *v; !(b.Cost > 0) || math.IsInf(b.Cost, 0) {
			return "cost", fmt.Errorf("%v is no budget: leave it out for none", b.Cost)
		}
	}
	if v := f.WarnAt; v != nil {
		if b.WarnAt = *v; !(*v > 0 && *v <= 1) {
			return "warn_at", fmt.Errorf("%v is not a part of the budget such as 0.8", *v)
		}
	}
	if f.Stop != nil {
		b.Stop = *f.Stop
	}
	return "", nil
}

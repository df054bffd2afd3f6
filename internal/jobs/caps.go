package jobs

import (
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// capsFor are the caps of a job that asks for some, in a project that has some: without one
// of its own it has the project's, and more than that is refused. With cut it gets the
// project's instead.
func capsFor(asked, most event.JobCaps, cut bool) (event.JobCaps, error) {
	for _, c := range []struct {
		name      string
		to, limit *int64
	}{
		{"wall_s", &asked.WallS, &most.WallS},
		{"round_s", &asked.RoundS, &most.RoundS},
		{"tokens", &asked.Tokens, &most.Tokens},
		{"events", &asked.Events, &most.Events},
		{"output_bytes", &asked.OutputBytes, &most.OutputBytes},
	} {
		if err := within(c.name, c.to, *c.limit, cut); err != nil {
			return asked, err
		}
	}
	if err := within("rounds", &asked.Rounds, most.Rounds, cut); err != nil {
		return asked, err
	}
	return asked, within("cost", &asked.Cost, most.Cost, cut)
}

// within is capsFor of one cap.
func within[T int | int64 | float64](name string, to *T, limit T, cut bool) error {
	switch {
	case limit == 0:
	case *to == 0, *to > limit && cut:
		*to = limit
	case *to > limit:
		return state.About("caps."+name, fmt.Errorf("%w: %s is at most %v in this project (projects.FOLDER.jobs.caps): ask for less, or leave it out", state.ErrInvalid, name, limit))
	}
	return nil
}

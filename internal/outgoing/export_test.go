package outgoing

import "time"

// Bound gives a guard another limit of time, for tests.
func Bound(g *Guard, d time.Duration) { g.bound = d }

// DefaultBound is the limit of a guard that was given none.
const DefaultBound = defaultBound

package outgoing

import "time"

// Bound returns a guard with another time limit, for tests.
func Bound(g *Guard, d time.Duration) { g.bound = d }

// DefaultBound is the default time limit of a guard.
const DefaultBound = defaultBound

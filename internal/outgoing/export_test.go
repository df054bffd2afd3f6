package outgoing

// DefaultBound is the default time limit of a guard.
const DefaultBound = defaultBound

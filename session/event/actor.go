package event

// Actor is who did something: a name for people, which need not be unique, and the
// id of the credential, which tells two of one name apart. "uid:N" is the id of a
// person at the hub's own machine; what the hub or the agent does has none.
type Actor struct{ Name, ID string }

// Is reports whether a record names this actor. A record of an earlier version has no
// id and goes by the name.
func (a Actor) Is(by, byID string) bool {
	if byID != "" {
		return byID == a.ID
	}
	return a.Name != "" && a.Name == by
}

package event

// Actor is who acted: a name for people, which need not be unique, and the id of
// the credential, which is unique. "uid:N" is the id of a person at the hub's own
// machine; the hub and the agent have none.
type Actor struct{ Name, ID string }

// Is reports whether a record names this actor. A record of an earlier version has
// no id and is matched by name.
func (a Actor) Is(by, byID string) bool {
	if byID != "" {
		return byID == a.ID
	}
	return a.Name != "" && a.Name == by
}

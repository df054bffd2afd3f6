package auth

import (
	"cmp"
	"strconv"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Scope says how much a credential may do. It is read from the hub's own record,
// never from a client's claim.
type Scope string

// The scopes, from most to least.
const (
	// Owner may do everything.
	Owner Scope = "owner"
	// Collaborator may read, prompt, cancel, queue and answer permission
	// requests, in the session it was granted.
	Collaborator Scope = "collaborator"
	// Viewer may read the session it was granted.
	Viewer Scope = "viewer"
)

// ParseScope reads a scope as a person writes it.
func ParseScope(s string) (Scope, bool) {
	switch scope := Scope(s); scope {
	case Owner, Collaborator, Viewer:
		return scope, true
	}
	return "", false
}

// Verb is a kind of action, as detailed as scopes distinguish.
type Verb int

// The verbs, from least to most.
const (
	// Read is reading a session.
	Read Verb = iota
	// Act is prompting, cancelling, queueing and answering in a session.
	Act
	// Manage is everything else: creating and deleting sessions, changing an
	// agent's mode or options, devices.
	Manage
)

// Kind is the kind of credential that a grant belongs to.
type Kind string

// The kinds of credentials.
const (
	KindDevice Kind = "device" // a paired browser, by cookie
	KindToken  Kind = "token"  // a script, by Bearer token
)

// Grant is the identity and the rights of one credential. It holds no secret.
type Grant struct {
	ID    string
	Kind  Kind
	Name  string
	Scope Scope
	// SessionID limits the grant to one session; empty means all of them.
	SessionID string
	// Holder replaces the credential's ID in logs if one holder has one credential
	// after another: "uid:N" for the command line.
	Holder string
	// AskedBy is the process that made it, as that process says: for people.
	AskedBy string
	// Met is false for a token of the command line until Meet.
	Met bool
	// PageKey is the public key of a device's page (P-256, base64url); empty for
	// tokens and for devices that earlier versions paired.
	PageKey   string
	CreatedAt time.Time
	// LastUsed is when it was last presented, to about an hour.
	LastUsed time.Time
	// ExpiresAt is when it expires at the latest; zero means never.
	ExpiresAt time.Time
}

// holderPrefix begins the Holder of a person at the hub's own machine.
const holderPrefix = "uid:"

// LocalHolder is the Holder of the user with that id at the hub's own machine.
func LocalHolder(uid int) string { return holderPrefix + strconv.Itoa(uid) }

// Actor returns the grant's holder as the actor of events.
func (g Grant) Actor() string {
	if g.Name == "" || reserved(g.Name) {
		return string(g.Kind) + ":" + g.ID
	}
	return g.Name
}

// By is the grant's holder as the log of a session names it.
func (g Grant) By() event.Actor { return event.Actor{Name: g.Actor(), ID: cmp.Or(g.Holder, g.ID)} }

// Person identifies the reader behind the grant. All of the owner's devices and
// tokens are one person; each viewer, and each collaborator of one session, is a
// separate one.
func (g Grant) Person() string {
	if g.Scope == Owner && g.SessionID == "" {
		return string(Owner)
	}
	return string(g.Kind) + ":" + g.ID
}

// May reports whether the grant allows verb on a session. An empty sessionID means
// all sessions, or the hub itself. An unknown verb is refused.
func (g Grant) May(verb Verb, sessionID string) bool {
	if g.SessionID != "" && sessionID != g.SessionID {
		return false
	}
	switch g.Scope {
	case Owner:
		return true
	case Collaborator:
		return verb == Read || verb == Act
	case Viewer:
		return verb == Read
	}
	return false
}

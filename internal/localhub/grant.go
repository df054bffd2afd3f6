package localhub

import (
	"errors"
	"fmt"
	"os"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
)

// agentMarker is the variable that every process of an agent has.
const agentMarker = "ABIDE_AGENT"

// ErrAgent says that an agent asked for access to its own hub.
var ErrAgent = errors.New("an agent may not make itself a credential: run this in a terminal of your own")

// NotAnAgent returns ErrAgent inside an agent's environment. An agent that changes its
// environment is not stopped by it; the owner sees each grant in the audit trail.
func NotAnAgent() error {
	if os.Getenv(agentMarker) != "" {
		return ErrAgent
	}
	return nil
}

// Granted records a credential that the command line made in a data directory.
func Granted(dir string, verb audit.Verb, g auth.Grant) error {
	r := audit.Record{Verb: verb, SessionID: g.SessionID}
	if g.ID != "" {
		r.Detail = fmt.Sprintf("%s %s %q, %s", g.Kind, g.ID, g.Name, g.Scope)
	}
	return Record(dir, r)
}

// Record records an action of the command line in a data directory.
func Record(dir string, r audit.Record) error {
	r.By, r.ByID, r.Peer = Holder, auth.LocalHolder(os.Getuid()), "local"
	return audit.Open(dir).Append(r)
}

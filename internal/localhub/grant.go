package localhub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

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
		r.Detail = fmt.Sprintf("%s %s %q, %s, asked for by %s", g.Kind, g.ID, g.Name, g.Scope, Asker())
	}
	return Record(dir, r)
}

// Asker names this process and its parent: the command without its arguments, which
// may hold a prompt or a secret.
func Asker() string {
	text := fmt.Sprintf("%s (process %d)", command(os.Args), os.Getpid())
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid())); err == nil {
		text += fmt.Sprintf(" of %s (%d)", strings.TrimSpace(string(comm)), os.Getppid())
	}
	return text
}

// command is the program's name and the subcommand, if the first argument is one.
func command(args []string) string {
	text := filepath.Base(args[0])
	if len(args) > 1 && subcommand.MatchString(args[1]) {
		text += " " + args[1]
	}
	return text
}

var subcommand = regexp.MustCompile(`^[a-z][a-z-]{1,15}$`)

// Record records an action of the command line in a data directory, which is made if no
// hub ever ran there.
func Record(dir string, r audit.Record) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory for the audit trail: %w", err)
	}
	r.By, r.ByID, r.Peer = Holder, auth.LocalHolder(os.Getuid()), "local"
	return audit.Open(dir).Append(r)
}

package machines

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session/state"
)

// Allow is how much home may do on a machine. The machine decides it and checks each call.
type Allow string

// What a machine allows, from least to most.
const (
	// AllowRead is what a viewer of all sessions may.
	AllowRead Allow = "read"
	// AllowAct is what a collaborator in all sessions may: prompt, cancel, answer. It
	// starts no session.
	AllowAct Allow = "act"
	// AllowManage is what the owner of sessions may: also start and delete them. Devices,
	// tokens and the configuration stay the machine's own.
	AllowManage Allow = "manage"
)

// Check returns an error that names what there is.
func (a Allow) Check() error {
	switch a {
	case AllowRead, AllowAct, AllowManage:
		return nil
	}
	return fmt.Errorf("%w: allow is read, act or manage", state.ErrInvalid)
}

// Scope is the most that a call from home has.
func (a Allow) Scope() auth.Scope {
	switch a {
	case AllowManage:
		return auth.Owner
	case AllowAct:
		return auth.Collaborator
	}
	return auth.Viewer
}

// Machine is a machine as home knows it.
type Machine struct {
	// ID is the id of its hub.
	ID   string
	Name string
	// Allow is what it said when it connected last: it decides each time.
	Allow Allow
	// Version is that of its abide.
	Version  string
	JoinedAt time.Time
	// Connected says whether it is connected, and Since from or until when. Since is zero
	// if it never was.
	Connected bool
	Since     time.Time
	// Refused counts messages that broke the protocol, since home started.
	Refused int
	// Problem says what is wrong with it, for a person; empty if nothing is.
	Problem string
}

// Row is the machine as a line of the session list names it.
func (m Machine) Row() *state.Machine {
	row := &state.Machine{ID: m.ID, Name: m.Name, State: state.MachineAway, Since: m.Since}
	if m.Connected {
		row.State = state.MachineConnected
	}
	return row
}

// Errors of joining and connecting, which a person reads.
var (
	// ErrCode means that the code of a link is wrong, used or too old.
	ErrCode = errors.New("this link was used, has expired or is not of this hub: make a new one there with “abide machines add”")
	// ErrSelf means that a hub was to join itself.
	ErrSelf = errors.New("this hub and home are the same: join from another computer")
	// ErrTwice means that a machine of this id has joined.
	ErrTwice = errors.New("a machine with this id has joined already: forget it at home if it is to join again; if the data directory was copied from another computer, give this one a new one")
	// ErrConnected means that a machine of this id is connected.
	ErrConnected = errors.New("a machine with this id is connected already: two hubs seem to use copies of one data directory")
	// ErrUnknown means that home knows no such machine.
	ErrUnknown = fmt.Errorf("%w: no such machine", state.ErrNotFound)
	// ErrAway means that the machine is not connected.
	ErrAway = fmt.Errorf("%w: the machine is away", state.ErrUnavailable)
	// ErrOpen means that a call may or may not have taken effect: its answer was lost.
	ErrOpen = fmt.Errorf("%w: the connection to the machine ended before its answer came: whether it took effect is not known", state.ErrUnavailable)
)

// mostName limits a machine's name, in characters.
const mostName = 64

// checkName returns a name as it is kept.
func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > mostName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", fmt.Errorf("%w: a machine's name is 1 to %d printable characters", state.ErrInvalid, mostName)
	}
	return name, nil
}

// idForm is the form of a machine's id: it is a part of subjects and of paths.
var idForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

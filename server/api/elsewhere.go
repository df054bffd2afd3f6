package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/list"
)

// elsewhere returns the machine that runs a request: the one that has the session in its path,
// or that its parameter machine names.
func (s *API) elsewhere(rt route, c *call) (machine string, elsewhere bool) {
	if c.fromHome || !mayRunElsewhere(rt) {
		return "", false
	}
	if asked[rt.method+" "+rt.path] {
		named := c.r.URL.Query().Get("machine")
		if named == "" || named == list.Here {
			return "", false
		}
		return named, true
	}
	id, ofSession := mux.Vars(c.r)["id"]
	if !ofSession {
		return "", false
	}
	m, _, known := s.machines.Of(id)
	return m.ID, known
}

// asked are the routes whose parameter machine has a machine run them.
var asked = map[string]bool{
	"GET /api/agents": true, "GET /api/folders": true, "GET /api/folder": true, "GET /api/usage": true, "GET /api/storage": true,
}

// ofMachine is that parameter.
var ofMachine = param{"machine", "the id of a machine: those of that machine", ""}

// made are the routes whose body names the machine that runs them.
var made = map[string]bool{"POST /api/sessions": true, "POST /api/jobs": true}

// mayRunElsewhere reports whether home may have a machine run a route. What is not named here
// concerns the machine itself: its devices, tokens, agents, places for messages and
// configuration.
func mayRunElsewhere(rt route) bool {
	if slices.Contains([]string{one + "/ws", one + "/blobs/{sha256}/address", one + "/export/address", one + "/authenticate", one + "/record", one + "/record/end"}, rt.path) {
		return false
	}
	name := rt.method + " " + rt.path
	return rt.path == one || strings.HasPrefix(rt.path, one+"/") || strings.HasPrefix(rt.path, "/api/jobs/{id}") || asked[name] || made[name]
}

// makeOn has a machine make a session or a job, whose id is field in the answer, and answers
// once its line is in the list here: who is told of it may open it.
func (s *API) makeOn(c *call, machine, path, field string, body any) error {
	if c.fromHome {
		return Invalid("a machine has no machines of its own")
	}
	m, err := s.machineCalled(machine)
	if err != nil {
		return err
	}
	if m.Allow != machines.AllowManage {
		return notAllowed(m)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := s.machines.Ask(c.r.Context(), m.ID, CallerOf(c.grant), http.MethodPost, path, c.r.Header.Get("Idempotency-Key"), data)
	if err != nil {
		return err
	}
	if answer.Status < 300 {
		var fields map[string]json.RawMessage
		var id string
		if json.Unmarshal(answer.Body, &fields) != nil || json.Unmarshal(fields[field], &id) != nil || !ValidID(id) {
			return machines.ErrOpen
		}
		if fields["machine"], err = json.Marshal(m.Row()); err != nil {
			return err
		}
		if answer.Body, err = json.Marshal(fields); err != nil {
			return err
		}
		if err := s.awaitLine(c.r.Context(), m.ID, id); err != nil {
			return err
		}
		c.w.Header().Set("Location", path+"/"+id)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(answer.Status)
	_, err = c.w.Write(answer.Body)
	return err
}

func (s *API) machineCalled(idOrName string) (machines.Machine, error) {
	m, err := s.machines.Machine(idOrName)
	if errors.Is(err, machines.ErrUnknown) {
		err = &Problem{Code: wire.CodeNotFound, Message: fmt.Sprintf("no machine is called %q: abide machines, or GET /api/machines, lists them", idOrName)}
	}
	return m, err
}

// machineIn is the machine of a list's parameter machine: its id or name, here or empty.
func (s *API) machineIn(q url.Values) (id string, err error) {
	named := q.Get("machine")
	if named == "" || named == list.Here {
		return named, nil
	}
	m, err := s.machineCalled(named)
	return m.ID, err
}

// awaitLine waits until the list here has the line of a machine's session, or for long enough.
func (s *API) awaitLine(ctx context.Context, machine, id string) error {
	over := time.NewTimer(listedBound)
	defer over.Stop()
	for {
		changed := s.machines.LinesChanged()
		if of, _, known := s.machines.Of(id); known && of.ID == machine {
			return nil
		}
		select {
		case <-changed:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listedBound is how long an answer waits for the line of what was made.
const listedBound = 2 * time.Second

// notAllowed says what a machine does not allow, and where to change that.
func notAllowed(m machines.Machine) error {
	return &Problem{Code: wire.CodeForbidden, Message: fmt.Sprintf("the machine %q allows its home to %s, and that needs manage: there, abide join --allow manage", m.Name, m.Allow)}
}

// callMachine runs a request by the handlers of a machine.
func (s *API) callMachine(c *call, rt route, machine string) error {
	// The bounds of a request's body and its answer are for what this hub does itself; here
	// silence ends the call.
	m, err := s.machineCalled(machine)
	if err != nil {
		return err
	}
	if rt.verb == auth.Manage && m.Allow != machines.AllowManage {
		return notAllowed(m)
	}
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	return s.machines.Call(c.w, c.r, m.ID, CallerOf(c.grant))
}

// CallerOf is the holder of a grant as a machine learns it.
func CallerOf(g auth.Grant) machines.Caller {
	return machines.Caller{ID: g.By().ID, Name: g.Actor(), Scope: string(g.Scope), SessionID: g.SessionID}
}

// GrantOfHome is the grant of a call from home: at most what the machine allows.
func GrantOfHome(by machines.Caller, allow machines.Allow) auth.Grant {
	scope, known := auth.ParseScope(by.Scope)
	most := allow.Scope()
	switch {
	case !known:
		scope = auth.Viewer
	case most == auth.Viewer, most == auth.Collaborator && scope == auth.Owner:
		scope = most
	}
	return auth.Grant{ID: machines.ActorsOfHome + by.ID, Kind: auth.KindToken, Name: by.Name, Scope: scope, SessionID: by.SessionID}
}

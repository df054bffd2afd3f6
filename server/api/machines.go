package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
)

// machineRows are the routes of this file.
func machineRows() section {
	return section{
		title: "Machines",
		about: []string{
			"Other hubs, *machines*, may join this one, their *home*: its list has their sessions, too, whose lines have `machine{id, name, state, since?}`. See docs/machines.md.",
			"A request about a session of a machine is run by that machine's own handlers, by what the machine allows: `read` is what a viewer may, `act` also what a collaborator may, `manage` also what the owner of sessions may. Devices, tokens, agents and the configuration are never included. 503 while the machine is away, but for what home answers from its copy of a session that was opened: the session, its events, state, overview, snapshot and export. An event stream is always of the copy. 503 with `whether it took effect is not known` means that its answer was lost: with a `prompt_id` or an `Idempotency-Key` the same request may be repeated.",
		},
		rows: []route{
			{
				"GET", "/api/machines", auth.Credential, auth.Manage, false, machinesRoute,
				doc{summary: "The machines that joined this hub, and the home that this hub joined.", out: wire.Machines{}, status: 200},
			},
			{
				"POST", "/api/machines/links", auth.Credential, auth.Manage, false, with(machineLinkRoute),
				doc{summary: "Make a link with which one machine joins, once, within ten minutes.", in: wire.NewMachineLink{}, out: wire.MachineLink{}, status: 201},
			},
			{
				"POST", "/api/machines/join", auth.OwnHost, auth.Read, false, with(joinRoute),
				doc{summary: "For a machine: spend the code of a link. The answer has its secret, which opens `/api/machine` and nothing else. 401 for a wrong, used or old code.", in: wire.Join{}, out: wire.Joined{}, status: 201},
			},
			{
				"GET", "/api/machine", auth.OwnHost, auth.Read, false, machineRoute,
				doc{
					summary: "For a machine, with its secret as the Bearer token: upgrade to a WebSocket, subprotocol " + machines.Subprotocol + ". One connection a machine: 409 for a second one of another process.", status: 101,
					headers: []param{{machines.RunHeader, "names the machine's process", ""}},
				},
			},
			{
				"PATCH", "/api/machines/{machine}", auth.Credential, auth.Manage, false, with(renameMachineRoute),
				doc{summary: "Give a machine another name, of at most 64 characters.", in: wire.MachinePatch{}, out: wire.JoinedMachine{}, status: 200},
			},
			{
				"DELETE", "/api/machines/{machine}", auth.Credential, auth.Manage, false, forgetMachineRoute,
				doc{summary: "End a machine's access and its connection. Its sessions leave the list, and stay on the machine as they are.", status: 204},
			},
			{
				"POST", "/api/home", auth.Credential, auth.Manage, false, with(joinHomeRoute),
				doc{summary: "Join another hub, the home of this one: its list has this hub's sessions from then on, and its owner may do here what `allow` says. Without a link: change what the home of this hub may do.", in: wire.NewHome{}, out: wire.Home{}, status: 201},
			},
			{
				"DELETE", "/api/home", auth.Credential, auth.Manage, false, leaveHomeRoute,
				doc{summary: "Leave home: it can do nothing here any more. Home forgets this hub, or keeps it, away, if it cannot be told.", status: 204},
			},
		},
	}
}

func machinesRoute(s *API, c *call) error {
	answer := wire.Machines{Machines: []wire.JoinedMachine{}}
	for _, m := range s.machines.Machines() {
		answer.Machines = append(answer.Machines, s.machineOf(m))
	}
	if h, joined := s.member.Status(); joined {
		home := homeOf(h)
		answer.Home = &home
	}
	return c.reply(http.StatusOK, answer)
}

func (s *API) machineOf(m machines.Machine) wire.JoinedMachine {
	return wire.JoinedMachine{
		ID: m.ID, Name: m.Name, State: string(m.Row().State), Since: timeOrNil(m.Since), Allow: string(m.Allow), Version: m.Version,
		JoinedAt: m.JoinedAt.UTC(), Sessions: s.machines.Sessions(m.ID), Refused: m.Refused, Problem: m.Problem,
	}
}

func homeOf(h machines.HomeStatus) wire.Home {
	out := wire.Home{URL: h.URL, Name: h.Name, Allow: string(h.Allow), State: "away", Since: timeOrNil(h.Since), Problem: h.Problem}
	if h.Connected {
		out.State = "connected"
	}
	return out
}

func machineLinkRoute(s *API, c *call, in wire.NewMachineLink) error {
	if h, joined := s.member.Status(); joined {
		return &Problem{Code: wire.CodeConflict, Message: "this hub is a machine of " + h.URL + ": a home has no home of its own. Leave it first, or let the other machine join there"}
	}
	code, until, err := s.machines.NewLink()
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.MachineLink})
	address, loopback := s.door.Address(c.r.Host)
	answer := wire.MachineLink{URL: machines.Link(address, code), Loopback: loopback, ExpiresAt: until.UTC(), ExpiresIn: int(machines.LinkLife / time.Second)}
	if answer.QR, err = qrRows(answer.URL); err != nil {
		return fmt.Errorf("drawing a link: %w", err)
	}
	return c.reply(http.StatusCreated, answer)
}

func joinRoute(s *API, c *call, in wire.Join) error {
	if h, joined := s.member.Status(); joined { // since the link was made
		return &Problem{Code: wire.CodeConflict, Message: "this hub has joined a home itself, " + h.URL + ": join there"}
	}
	former, _ := auth.Bearer(c.r) // of a machine that left while this hub was away
	secret, m, err := s.machines.Join(in.Code, machines.Joining{ID: in.ID, Name: in.Name, Version: in.Version, Allow: machines.Allow(in.Allow), Former: former})
	if errors.Is(err, machines.ErrCode) {
		return s.strangeMachine(c, err)
	}
	if err != nil {
		return err
	}
	s.note(c.r.RemoteAddr, auth.Grant{Kind: "machine", ID: m.ID, Name: m.Name}, audit.Record{Verb: audit.MachineJoined, Detail: machineDetail(m) + ", " + string(m.Allow)})
	return c.reply(http.StatusCreated, wire.Joined{Secret: secret})
}

// strangeMachine refuses a wrong secret, with growing delays for an address.
func (s *API) strangeMachine(c *call, why error) error {
	if err := s.door.Guessed(c.r.Context(), c.r); err != nil {
		return err
	}
	refusal := &auth.Refusal{Status: http.StatusUnauthorized, Message: why.Error()}
	s.noteRefusal(c.r, refusal)
	return refusal
}

func machineDetail(m machines.Machine) string { return fmt.Sprintf("%s %q", m.ID, m.Name) }

var errStrangeMachine = errors.New("this hub does not know the machine, or not any more: let it leave home and join again with a new link")

func machineRoute(s *API, c *call) error {
	secret, _ := auth.Bearer(c.r)
	m, known := s.machines.Known(secret)
	if !known {
		return s.strangeMachine(c, errStrangeMachine)
	}
	connection, err := s.machines.Admit(m.ID, c.r.Header.Get(machines.RunHeader))
	if err != nil {
		return err
	}
	return s.live.Carry(c.w, c.r, connection)
}

func renameMachineRoute(s *API, c *call, in wire.MachinePatch) error {
	id, err := c.param("machine")
	if err != nil {
		return err
	}
	m, err := s.machines.Rename(id, in.Name)
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.MachineRenamed, Detail: machineDetail(m)})
	return c.reply(http.StatusOK, s.machineOf(m))
}

func forgetMachineRoute(s *API, c *call) error {
	id, err := c.param("machine")
	if err != nil {
		return err
	}
	if err := s.machines.Forget(id); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.MachineForgotten, Detail: id})
	return c.done(nil)
}

func joinHomeRoute(s *API, c *call, in wire.NewHome) error {
	if in.Link == "" {
		return allowHome(s, c, in)
	}
	if len(s.machines.Machines()) > 0 {
		return &Problem{Code: wire.CodeConflict, Message: "machines have joined this hub: a home has no home of its own. Forget them first, or let them join there"}
	}
	allow := machines.Allow(in.Allow)
	if allow == "" {
		allow = machines.AllowAct
	}
	if in.Name == "" {
		in.Name, _ = os.Hostname()
	}
	if err := s.member.Join(c.r.Context(), in.Link, in.Name, allow, in.CA); err != nil {
		return err
	}
	h, _ := s.member.Status()
	c.note(audit.Record{Verb: audit.HomeJoined, Detail: h.URL + ", " + string(allow)})
	return c.reply(http.StatusCreated, homeOf(h))
}

// allowHome changes what the home of this hub may do here.
func allowHome(s *API, c *call, in wire.NewHome) error {
	if in.Name != "" || in.CA != "" {
		return Invalid("without a link only allow can be changed")
	}
	if err := s.member.SetAllow(machines.Allow(in.Allow)); err != nil {
		return err
	}
	h, _ := s.member.Status()
	c.note(audit.Record{Verb: audit.HomeJoined, Detail: h.URL + ", " + in.Allow})
	return c.reply(http.StatusCreated, homeOf(h))
}

func leaveHomeRoute(s *API, c *call) error {
	told, err := s.member.Leave(c.r.Context())
	if err != nil {
		return err
	}
	s.logger.Info("left home", "told", told)
	c.note(audit.Record{Verb: audit.HomeLeft})
	return c.done(nil)
}

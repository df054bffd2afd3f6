package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/search"
)

// fromCopy are the routes that home answers from its copy of a session while the machine is
// away.
var fromCopy = map[string]func(*API, *call, Watched) error{
	"GET " + one:               copiedSessionRoute,
	"GET " + one + "/state":    copiedStateRoute,
	"GET " + one + "/events":   eventsOf,
	"GET " + one + "/overview": copiedOverviewRoute,
	"GET " + one + "/snapshot": copiedSnapshotRoute,
	"GET " + one + "/export":   exportOf,
}

// runElsewhere has a machine run a request. What can be read from the copy is, while the
// machine is away.
func (s *API) runElsewhere(c *call, rt route, machine string) error {
	if rt.path == one+"/blobs/{sha256}" {
		return s.blobOfMachine(c, rt, machine)
	}
	answer := fromCopy[rt.method+" "+rt.path]
	if answer != nil && rt.path == one+"/events" && wantsStream(c.r) {
		return s.answerFromCopy(c, rt, answer) // all who follow are one reader at the machine
	}
	err := s.callMachine(c, rt, machine)
	if answer != nil && (errors.Is(err, machines.ErrAway) || errors.Is(err, machines.ErrOpen)) {
		return s.answerFromCopy(c, rt, answer)
	}
	return err
}

// answerFromCopy answers with the rights that the machine would give.
func (s *API) answerFromCopy(c *call, rt route, answer func(*API, *call, Watched) error) error {
	id := mux.Vars(c.r)["id"]
	m, _, known := s.machines.Of(id)
	if !known {
		return NotFound("session " + id)
	}
	if g := GrantOfHome(CallerOf(c.grant), m.Allow); !g.May(rt.verb, id) {
		return Forbidden()
	}
	own, err := s.live.Watch(c.r.Context(), id)
	if err != nil {
		return err
	}
	return answer(s, c, own)
}

// blobOfMachine answers with a blob of the copy, which it is fetched into on first use, with the
// rights that the machine would give. Of a session without a copy the machine answers.
func (s *API) blobOfMachine(c *call, rt route, machine string) error {
	sum, err := c.blobHash()
	if err != nil {
		return err
	}
	id := c.id()
	m, _, known := s.machines.Of(id)
	if !known {
		return NotFound("session " + id)
	}
	by := CallerOf(c.grant)
	g := GrantOfHome(by, m.Allow)
	if !g.May(rt.verb, id) {
		return Forbidden()
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Time{}) // silence ends a call
	blob, err := s.machines.Blob(c.r.Context(), id, sum, "/api/sessions/"+id+"/blobs/"+sum, by, g.May(auth.Act, id))
	switch {
	case errors.Is(err, machines.ErrNotKept):
		return s.callMachine(c, rt, machine)
	case errors.Is(err, machines.ErrNotShown):
		return Forbidden()
	case err != nil:
		return err
	}
	return s.serveBlob(c, sum, blob)
}

func copiedSessionRoute(s *API, c *call, own Watched) error {
	_, line, known := s.machines.Of(own.ID())
	if !known {
		return NotFound("session " + own.ID())
	}
	return c.reply(http.StatusOK, s.InfoFor(c.grant, line))
}

func copiedStateRoute(_ *API, c *call, own Watched) error {
	frame, err := wire.Encode(StateOf(*own.Shown()))
	if err != nil {
		return err
	}
	return c.replyRaw(http.StatusOK, frame)
}

func copiedOverviewRoute(s *API, c *call, own Watched) error {
	select { // one at a time: a count is written beside the log
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-c.r.Context().Done():
		return c.r.Context().Err()
	}
	return c.answer(session.OverviewOf(c.r.Context(), own.Log(), s.logger))
}

func copiedSnapshotRoute(s *API, c *call, own Watched) error {
	if c.r.URL.Query().Get(savedQuery) != "" {
		return &Problem{Code: wire.CodeNotFound, Message: "no snapshot of a machine's session is saved here: ask without saved"}
	}
	m, _, _ := s.machines.Of(own.ID())
	snap, err := session.SnapshotOf(c.r.Context(), own.Log(), s.machines.Stored().Lines(m.ID, own.ID()))
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, snapshotBody(snap))
}

// copiedSources are the sessions of machines for a search: those without a copy have a title
// only.
func (s *API) copiedSources(f search.Filter) []search.Source {
	lines := s.machines.Lines()
	if lines.Len() == 0 {
		return nil
	}
	stored := s.machines.Stored()
	has := stored.IDs()
	var sources []search.Source
	for i := range lines.Len() {
		line, listed := lines.Line(i)
		if !listed || !f.SelectsLine(line) {
			continue
		}
		id, machine := line.SessionID, line.Machine.ID
		source := search.Source{SessionID: id, Name: line.Name, Epoch: line.Epoch, UpdatedAt: line.UpdatedAt}
		if has[machine+"/"+id] {
			source.MinSeq, source.MaxSeq = line.MinSeq, line.MaxSeq
			source.Lines = stored.Lines(machine, id)
		}
		sources = append(sources, source)
	}
	return sources
}

package server

import (
	"context"
	"net/http"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// Carry implements api.Live. The engine behind the connection has its own limits and pings.
func (l live) Carry(w http.ResponseWriter, r *http.Request, connection *machines.Connection) error {
	hijacked := &hijacker{ResponseWriter: w, bound: l.timing.Write}
	w.Header().Set(machines.TicketHeader, connection.Ticket)
	conn, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{
		Subprotocols: []string{machines.Subprotocol}, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		// The library has sent a response.
		connection.Drop()
		l.logger.Debug("upgrade of a machine failed", "err", err)
		return nil
	}
	connection.Run(l.ctx, machines.Carried(l.ctx, conn))
	return nil
}

// ForHome is this hub as its home uses it.
func (s *Server) ForHome() machines.Hub { return forHome{s} }

type forHome struct{ server *Server }

// Serve implements machines.Hub.
func (h forHome) Serve(w http.ResponseWriter, r *http.Request, by machines.Caller, allow machines.Allow, live func() error) {
	grant := api.GrantOfHome(by, allow)
	h.server.ServeGiven(w, r, api.Given{Grant: grant, FromHome: true, Now: func() (auth.Grant, error) { return grant, live() }})
}

// ChangesSince implements machines.Hub. A machine has no machines of its own.
func (h forHome) ChangesSince(v uint64) (changed []list.Info, gone []string, now uint64) {
	if v == 0 { // also what did not change since the hub started
		changed, now = h.manager().Lines()
		return changed, nil, now
	}
	return h.manager().ChangesSince(v)
}

// Open implements machines.Hub.
func (h forHome) Open(ctx context.Context, id string) (machines.Session, error) {
	s, err := h.manager().Readable(ctx, id)
	if err != nil {
		return nil, err
	}
	return readByHome{s}, nil
}

// readByHome is a session as home reads it.
type readByHome struct{ *session.BackgroundSession }

// State implements machines.Session.
func (r readByHome) State() ([]byte, error) {
	if !rung(r.Known()) || r.OpenError() != nil {
		return nil, nil
	}
	return wire.Encode(api.StateOf(*r.Shown()))
}

// Changed implements machines.Hub.
func (h forHome) Changed() <-chan struct{} { return h.manager().Changed() }

func (h forHome) manager() *session.Manager { return h.server.manager }

// MachineLines are the lines of the machines' sessions with the screens of a server that show
// them. Server is set before they are used.
type MachineLines struct {
	*machines.Home
	Server *Server
}

// Line returns the line of a machine's session.
func (l *MachineLines) Line(id string) (list.Info, bool) {
	_, line, known := l.Of(id)
	return line, known
}

// Presences are the screens of the server that show a machine's session.
func (l *MachineLines) Presences(id string) []state.Observer {
	if m, merged := l.Server.sessions.(*merged); merged {
		return m.presences(id)
	}
	return nil
}

package server

import (
	"math"
	"slices"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/list"
)

// listNews is how much of the session list and of new grants one client has
// received, and the bells for changes: of the sessions, of its person's read marks,
// and of credentials.
type listNews struct {
	changed       [2]<-chan struct{}
	read, granted <-chan struct{}
	version       listVersion
	readVersion   uint64
	grants        []wire.Grant
}

// listNow returns a listNews that begins now.
func (c *SessionWSClient) listNow() listNews {
	n := c.listen()
	_, _, n.version = c.server.sessions.ChangesSince(lastVersion)
	_, n.readVersion = c.server.manager.Reads().Since("", math.MaxUint64)
	return n
}

// more reports whether there are changes to send.
func (n listNews) more() bool {
	return rung(n.changed[0]) || rung(n.changed[1]) || rung(n.read) || rung(n.granted)
}

func (c *SessionWSClient) listen() listNews {
	n := listNews{changed: c.server.sessions.Changed(), read: c.server.manager.Reads().Changed(c.grant.Load().Person())}
	if g := c.grant.Load(); g.Kind == auth.KindDevice && g.May(auth.Manage, "") {
		n.granted = c.server.registry.Changed()
	}
	return n
}

// sendList sends the changed lines of the session list that the client may read,
// then new grants. It returns the new position.
func (c *SessionWSClient) sendList(told listNews) listNews {
	next := c.listen()
	changed, gone, version := c.server.sessions.ChangesSince(told.version)
	read, readVersion := c.server.manager.Reads().Since(c.grant.Load().Person(), told.readVersion)
	next.version, next.readVersion = version, readVersion
	for _, info := range append(changed, c.lines(read, changed)...) {
		if c.may(auth.Read, info.SessionID) && c.send(c.ctx, &wire.Session{Session: c.server.api.InfoFor(*c.grant.Load(), info)}) != nil {
			return next
		}
	}
	for _, id := range gone {
		if c.may(auth.Read, id) {
			c.gone(id)
		}
	}
	next.grants = c.sendGrants(told.grants)
	return next
}

// sendGrants sends the newest grants if they differ from those sent before, and
// returns them.
func (c *SessionWSClient) sendGrants(told []wire.Grant) []wire.Grant {
	own := *c.grant.Load()
	if own.Kind != auth.KindDevice || !own.May(auth.Manage, "") {
		return nil
	}
	grants := []wire.Grant{}
	for _, g := range c.server.registry.LetInSince(own) {
		grants = append(grants, wire.Grant{
			ID: g.ID, Kind: string(g.Kind), Name: g.Name, Scope: string(g.Scope), SessionID: g.SessionID, CreatedAt: g.CreatedAt.UTC(),
		})
	}
	if !slices.Equal(grants, told) {
		c.send(c.ctx, &wire.Granted{Grants: grants})
	}
	return grants
}

// lines returns the lines of these sessions, except those that are sent anyway.
func (c *SessionWSClient) lines(ids []string, sent []list.Info) []list.Info {
	already := make(map[string]bool, len(sent))
	for _, info := range sent {
		already[info.SessionID] = true
	}
	var lines []list.Info
	for _, id := range ids {
		if already[id] {
			continue
		}
		if info, err := c.server.sessions.Info(c.ctx, id); err == nil {
			lines = append(lines, info)
		}
	}
	return lines
}

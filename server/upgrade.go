package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
)

// upgrade turns an admitted request into a socket. All refusals come before it:
// after the upgrade a browser could not tell the reason.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, grant auth.Grant, own api.Watched, from backlog.Place) error {
	offered := strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ",")
	if offered != "" && !slices.ContainsFunc(strings.Split(offered, ","), func(p string) bool { return strings.TrimSpace(p) == wire.Subprotocol }) {
		return api.Invalid("this hub speaks the subprotocol %s", wire.Subprotocol)
	}
	if !s.clients.take(grant) {
		return noPlace()
	}
	hijacked := &hijacker{ResponseWriter: w, bound: s.timing.Write}
	var client *SessionWSClient // set before anything is read
	conn, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{
		Subprotocols: []string{wire.Subprotocol},
		// The library compares Origin with Host, which DNS rebinding passes.
		// Package auth has already compared both with the hub's own names, exactly.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived: func(_ context.Context, payload []byte) bool {
			client.sign()
			client.write(client.ctx, pongFrame(payload))
			return false // it is answered
		},
		OnPongReceived: func(context.Context, []byte) { client.sign() },
	})
	if err != nil {
		// The library has sent a response.
		s.clients.leave(grant)
		s.logger.Debug("upgrade failed", "err", err)
		return nil
	}
	conn.SetReadLimit(maxFrame(grant))
	id := ""
	if own != nil {
		id = own.ID()
	}
	client = newClient(s, newSocket(conn, hijacked.taken), grant, id, r.RemoteAddr)
	// Not in this goroutine, because net/http keeps a stack and buffers for it.
	s.clients.run(grant, client, func() { client.run(own, from) })
	return nil
}

package api

import (
	"net/http"

	"github.com/abidehub/abide/server/wire"
)

func restartRoute(s *API, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.Restart(c.r.Context(), c.grant.By()); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}

func authenticateRoute(s *API, c *call) error {
	var in wire.Login
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.Authenticate(c.r.Context(), in.MethodID, c.grant.By()); err != nil {
		return err
	}
	return c.reply(http.StatusOK, struct{}{})
}

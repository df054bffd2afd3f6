package server

import (
	"net/http"
)

func restartRoute(s *Server, c *call) error {
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

// login names one of the methods in the state's agent.auth_methods.
type login struct {
	MethodID string `json:"method_id"`
}

func authenticateRoute(s *Server, c *call) error {
	var in login
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

package api

import "github.com/abidehub/abide/session"

// Most routes need the session of their path, a body, or both. These make such a
// route's handler.

// with reads the body for handle.
func with[In any](handle func(*API, *call, In) error) func(*API, *call) error {
	return func(s *API, c *call) error {
		var in In
		if err := c.read(&in); err != nil {
			return err
		}
		return handle(s, c, in)
	}
}

// inSession finds the session for handle.
func inSession(handle func(*API, *call, *session.BackgroundSession) error) func(*API, *call) error {
	return func(s *API, c *call) error {
		own, err := c.session()
		if err != nil {
			return err
		}
		return handle(s, c, own)
	}
}

// inSessionWith reads the body and then finds the session.
func inSessionWith[In any](handle func(*API, *call, *session.BackgroundSession, In) error) func(*API, *call) error {
	return with(func(s *API, c *call, in In) error {
		return inSession(func(s *API, c *call, own *session.BackgroundSession) error { return handle(s, c, own, in) })(s, c)
	})
}

package api

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
)

// Given is the grant of a request that comes from within this program: its caller has checked
// the credential. Now returns the grant as it is now, or an error if it has ended; the request
// ends with it.
type Given struct {
	Grant auth.Grant
	Now   func() (auth.Grant, error)
	// FromHome says that the home of this hub asks: it may use the routes of sessions only.
	FromHome bool
}

type givenKey struct{}

// undated is the answer to a request that no connection carries: deadlines have no effect, and
// the context of the request bounds it.
type undated struct{ http.ResponseWriter }

func (u undated) Unwrap() http.ResponseWriter    { return u.ResponseWriter }
func (undated) SetReadDeadline(time.Time) error  { return nil }
func (undated) SetWriteDeadline(time.Time) error { return nil }

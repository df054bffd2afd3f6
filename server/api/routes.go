package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/running"
	"github.com/abidehub/abide/server/wire"
)

// New returns the API of a hub that is ready.
func New(p Parts) *API {
	s := &API{
		manager: p.Manager, jobs: p.Jobs, schedules: p.Schedules, registry: p.Registry, door: p.Door, audit: p.Audit, notify: p.Notify, files: p.Files, folders: p.Folders, agents: p.Agents,
		hubID: p.HubID, version: p.Version, logger: p.Logger, request: p.Request, live: p.Live, machines: p.Machines, member: p.Member, previews: make(previews, 1), counting: make(chan struct{}, 1), started: time.Now(),
	}
	s.handler = s.route()
	return s
}

// ServeHTTP implements http.Handler.
func (s *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ServeGiven serves a request whose grant is given. The door is not asked, and only the
// request's context bounds its time.
func (s *API) ServeGiven(w http.ResponseWriter, r *http.Request, g Given) {
	s.ServeHTTP(undated{w}, r.WithContext(context.WithValue(r.Context(), givenKey{}, g)))
}

// grantOf returns the grant of a request: the given one, or that of its credential.
func (s *API) grantOf(r *http.Request, gate auth.Gate) (Given, error) {
	if g, ok := r.Context().Value(givenKey{}).(Given); ok {
		return g, nil
	}
	grant, err := s.door.Admit(r.Context(), r, gate)
	return Given{Grant: grant, Now: func() (auth.Grant, error) { return s.registry.Grant(grant.Kind, grant.ID) }}, err
}

// route builds the handler: authorisation first, then the routes.
func (s *API) route() http.Handler {
	router := mux.NewRouter()
	// Escaped paths are matched: cleaning would answer a path traversal with a
	// redirect to its target.
	router.SkipClean(true)
	router.UseEncodedPath()
	router.MatcherFunc(ofStranger).Handler(s.admit(strangerRoute()))
	for _, r := range append(routes(), openAPIRoute()) {
		router.Handle(r.path, s.admit(r)).Methods(r.methods()...)
	}
	router.MatcherFunc(ofApp).Handler(s.admit(route{gate: auth.OwnHost, handle: appRoute}))
	router.MethodNotAllowedHandler = s.admit(wrongMethod())
	router.NotFoundHandler = s.admit(unknownRoute())
	return headers(router)
}

// ofApp matches the addresses of the app and its files, which are all but the API.
func ofApp(r *http.Request, _ *mux.RouteMatch) bool {
	return r.URL.Path != "/api" && !strings.HasPrefix(r.URL.Path, "/api/")
}

func appRoute(s *API, c *call) error { return s.live.App(c.w, c.r) }

// sections lists the API, in the order of the documentation. Without a credential, a
// client may get the app's files (gate OwnHost) and the hub's readiness, which
// contains no data. It may also exchange a pairing code or a signed challenge, and
// answer with a notification's token (gate OwnPage). Everything else needs a
// credential.
func sections() []section {
	return []section{
		sessionRows(),
		trashRows(),
		storageRows(),
		usageRows(),
		worktreeRows(),
		jobRows(),
		scheduleRows(),
		setupRows(),
		forkRows(),
		undoRows(),
		adoptRows(),
		recordRows(),
		eventRows(),
		socketRows(),
		promptRows(),
		queueRows(),
		interruptionRows(),
		ruleRows(),
		agentRows(),
		attachmentRows(),
		blobRows(),
		fileRows(),
		branchRows(),
		commentRows(),
		overviewRows(),
		exportRows(),
		searchRows(),
		deviceRows(),
		machineRows(),
		pushRows(),
		auditRows(),
		healthRows(),
	}
}

// routes lists the rows of all sections.
func routes() []route {
	var list []route
	for _, s := range sections() {
		list = append(list, s.rows...)
	}
	return list
}

// unknownRoute responds to a path without a route, if the client has a credential.
func unknownRoute() route {
	return route{gate: auth.Credential, filtered: true, handle: func(*API, *call) error {
		return &Problem{Code: wire.CodeNotFound, Message: "there is no such route; GET /api/openapi.json lists them"}
	}}
}

func wrongMethod() route {
	return route{gate: auth.Credential, filtered: true, handle: func(*API, *call) error {
		return &Problem{Code: wire.CodeInvalid, Message: "the route does not take that method", Status: http.StatusMethodNotAllowed}
	}}
}

// admit checks authorisation and scope before a route's handler.
func (s *API) admit(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{server: s, w: w, r: r}
		if err := s.serve(rt, c); err != nil {
			p, unexpected := Explain(err, mux.Vars(r)["id"])
			if unexpected {
				c.logger().Error("request failed", "err", err)
			}
			p.write(c.w)
		}
	})
}

func (s *API) serve(rt route, c *call) error {
	given, err := s.grantOf(c.r, rt.gate)
	if err != nil {
		s.noteRefusal(c.r, err)
		return err
	}
	if given.FromHome && !mayRunElsewhere(rt) {
		return Forbidden()
	}
	grant := given.Grant
	c.grant, c.fromHome = grant, given.FromHome
	s.meet(grant)
	id, ofSession := mux.Vars(c.r)["id"]
	if ofSession && !ValidID(id) {
		return Invalid("that is not the id of a session")
	}
	may := func(g auth.Grant) bool { return rt.filtered || g.May(rt.verb, id) }
	if rt.gate == auth.Credential && !may(grant) {
		return Forbidden()
	}
	if rt.gate == auth.Credential {
		if c.over, err = s.live.Begin(c.r, grant); err != nil {
			return err
		}
		defer c.over()
		c.with = running.Admitted{Grant: grant, Now: given.Now, May: may, Forbidden: Forbidden(), Refuse: refuse(c.r)}
		c.held, c.w, c.r = s.running.Hold(c.w, c.r, c.with)
		defer s.running.LetGo(c.held)
		if rt.doc.in == nil && !rt.doc.raw {
			c.skipBody()
		}
		if err := c.held.Check(); err != nil {
			return err
		}
		if class := costOf(rt, c.r); class != cheap {
			leave, err := s.costly[class].Take(c.r.Context(), grant)
			if err != nil {
				return err
			}
			defer leave()
		}
	}
	if machine, elsewhere := s.elsewhere(rt, c); elsewhere {
		err = s.runElsewhere(c, rt, machine)
	} else {
		err = rt.handle(s, c)
	}
	if err != nil && c.held != nil {
		if over := c.held.Check(); over != nil {
			return over
		}
	}
	return err
}

// refuse answers a request with an error in the place of its handler.
func refuse(r *http.Request) func(http.ResponseWriter, error) {
	return func(w http.ResponseWriter, err error) {
		setHeaders(w.Header(), r)
		p, _ := Explain(err, "")
		p.write(w)
	}
}

// skipBody reads the body of a request whose route takes none, so that each route acts
// after its request has come whole.
func (c *call) skipBody() {
	if c.r.ContentLength != 0 && c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		_, _ = io.CopyN(io.Discard, c.r.Body, maxBody) // the grant is asked for next
	}
}

// headers sets the headers of every response.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header(), r)
		next.ServeHTTP(w, r)
	})
}

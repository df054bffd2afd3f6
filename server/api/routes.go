package api

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// New returns the API of a hub that is ready.
func New(p Parts) *API {
	s := &API{
		manager: p.Manager, registry: p.Registry, door: p.Door, audit: p.Audit, notify: p.Notify, files: p.Files, folders: p.Folders,
		hubID: p.HubID, version: p.Version, logger: p.Logger, request: p.Request, live: p.Live, previews: make(previews, 1), started: time.Now(),
	}
	s.handler = s.route()
	return s
}

// ServeHTTP implements http.Handler.
func (s *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// route builds the handler: authorisation first, then the routes.
func (s *API) route() http.Handler {
	router := mux.NewRouter()
	// Escaped paths are matched: cleaning would answer a path traversal with a
	// redirect to its target.
	router.SkipClean(true)
	router.UseEncodedPath()
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

// routes lists the API. Without a credential, a client may get the app's files
// (gate OwnHost) and the hub's readiness, which contains no data. It may also
// exchange a pairing code or a signed challenge, and answer with a notification's
// token (gate OwnPage). Everything else needs a credential.
func routes() []route {
	const one = "/api/sessions/{id}"
	return []route{
		{"GET", "/api/ready", auth.OwnHost, auth.Read, false, readyRoute, docReady()},
		{"GET", "/api/health", auth.Credential, auth.Read, true, healthRoute, docHealth()},
		{"POST", "/api/pair", auth.OwnPage, auth.Read, false, pairRoute, docPair()},
		{"POST", "/api/pairings", auth.Credential, auth.Manage, false, pairingRoute, docPairing()},
		{"POST", "/api/page", auth.OwnPage, auth.Read, false, pageRoute, docPage()},
		{"GET", "/api/devices", auth.Credential, auth.Manage, false, devicesRoute, docDevices()},
		{"POST", "/api/devices/seen", auth.Credential, auth.Manage, false, seenRoute, docSeen()},
		{"PATCH", "/api/devices/{device}", auth.Credential, auth.Manage, false, renameRoute, docRename()},
		{"DELETE", "/api/devices/{device}", auth.Credential, auth.Manage, false, revokeRoute, docRevoke()},
		{"GET", "/api/audit", auth.Credential, auth.Manage, false, auditRoute, docAudit()},
		{"GET", "/api/agents", auth.Credential, auth.Manage, false, agentsRoute, docAgents()},

		{"GET", "/api/push", auth.Credential, auth.Read, true, pushRoute, docPush()},
		{"POST", "/api/push/subscriptions", auth.Credential, auth.Read, true, subscribeRoute, docSubscribe()},
		{"DELETE", "/api/push/subscriptions/{subscription}", auth.Credential, auth.Read, true, unsubscribeRoute, docUnsubscribe()},
		{"POST", "/api/push/subscriptions/{subscription}/test", auth.Credential, auth.Read, true, testPushRoute, docTestPush()},
		{"POST", "/api/answer", auth.OwnPage, auth.Read, false, tokenAnswerRoute, docTokenAnswer()},
		{"GET", "/api/channels", auth.Credential, auth.Manage, false, channelsRoute, docChannels()},
		{"PUT", "/api/channels/{channel}", auth.Credential, auth.Manage, false, channelChangeRoute, docChannelChange()},
		{"POST", "/api/channels/{channel}/test", auth.Credential, auth.Manage, false, testChannelRoute, docTestChannel()},

		{"GET", "/api/folders", auth.Credential, auth.Manage, false, foldersRoute, docFolders()},
		{"POST", "/api/folders", auth.Credential, auth.Manage, false, folderMakeRoute, docFolderMake()},
		{"GET", "/api/folder", auth.Credential, auth.Manage, false, folderPlaceRoute, docFolderPlace()},
		{"POST", "/api/folder/allow", auth.Credential, auth.Manage, false, folderAllowRoute, docFolderAllow()},

		{"GET", "/api/search", auth.Credential, auth.Read, true, searchRoute, docSearch()},
		{"GET", "/api/sessions", auth.Credential, auth.Read, true, listRoute, docList()},
		{"POST", "/api/sessions", auth.Credential, auth.Manage, false, createRoute, docCreate()},
		{"POST", "/api/import", auth.Credential, auth.Manage, false, importRoute, docImport()},
		{"GET", one, auth.Credential, auth.Read, false, sessionRoute, docSession()},
		{"PATCH", one, auth.Credential, auth.Manage, false, updateRoute, docUpdate()},
		{"DELETE", one, auth.Credential, auth.Manage, false, deleteRoute, docDelete()},
		{"GET", one + "/events", auth.Credential, auth.Read, false, eventsRoute, docEvents()},
		{"GET", one + "/blobs/{sha256}", auth.Credential, auth.Read, false, blobRoute, docBlob()},
		{"POST", one + "/blobs/{sha256}/address", auth.Credential, auth.Read, false, blobAddressRoute, docBlobAddress()},
		{"GET", one + "/overview", auth.Credential, auth.Read, false, overviewRoute, docOverview()},
		{"POST", one + "/fork", auth.Credential, auth.Manage, false, forkRoute, docFork()},
		{"GET", one + "/export", auth.Credential, auth.Act, false, exportRoute, docExport()},
		{"POST", one + "/export/address", auth.Credential, auth.Act, false, exportAddressRoute, docExportAddress()},
		{"GET", one + "/comments", auth.Credential, auth.Read, false, commentsRoute, docComments()},
		{"POST", one + "/comments", auth.Credential, auth.Act, false, commentAddRoute, docCommentAdd()},
		{"PATCH", one + "/comments/{comment}", auth.Credential, auth.Act, false, commentChangeRoute, docCommentChange()},
		{"DELETE", one + "/comments/{comment}", auth.Credential, auth.Act, false, commentRemoveRoute, docCommentRemove()},
		{"POST", one + "/prompt", auth.Credential, auth.Act, false, promptRoute, docPrompt()},
		{"POST", one + "/cancel", auth.Credential, auth.Act, false, cancelRoute, docCancel()},
		{"POST", one + "/force-reset", auth.Credential, auth.Act, false, forceResetRoute, docForceReset()},
		{"GET", one + "/interruption", auth.Credential, auth.Read, false, interruptionRoute, docInterruption()},
		{"POST", one + "/resume", auth.Credential, auth.Act, false, resumeRoute, docResume()},
		{"POST", one + "/dismiss", auth.Credential, auth.Act, false, dismissRoute, docDismiss()},
		{"POST", one + "/permissions/{permission}", auth.Credential, auth.Act, false, permissionRoute, docPermission()},
		{"POST", one + "/restart", auth.Credential, auth.Act, false, restartRoute, docRestart()},
		{"POST", one + "/reopen", auth.Credential, auth.Manage, false, reopenRoute, docReopen()},
		{"POST", one + "/record", auth.Credential, auth.Manage, false, recordRoute, docRecord()},
		{"POST", one + "/record/end", auth.Credential, auth.Manage, false, recordEndRoute, docRecordEnd()},
		{"POST", one + "/end", auth.Credential, auth.Manage, false, endRoute, docEnd()},
		{"POST", one + "/authenticate", auth.Credential, auth.Manage, false, authenticateRoute, docAuthenticate()},
		{"POST", one + "/attachments", auth.Credential, auth.Act, false, attachRoute, docAttach()},
		{"GET", one + "/files", auth.Credential, auth.Act, false, filesRoute, docFiles()},
		{"GET", one + "/file", auth.Credential, auth.Act, false, fileRoute, docFile()},
		{"GET", one + "/complete", auth.Credential, auth.Act, false, completeRoute, docComplete()},
		{"GET", one + "/changes", auth.Credential, auth.Act, false, changesRoute, docChanges()},
		{"GET", one + "/change", auth.Credential, auth.Act, false, changeRoute, docChange()},
		{"GET", one + "/rules", auth.Credential, auth.Act, false, rulesRoute, docRules()},
		{"POST", one + "/rules", auth.Credential, auth.Manage, false, ruleAddRoute, docRuleAdd()},
		{"DELETE", one + "/rules/{rule}", auth.Credential, auth.Manage, false, ruleRevokeRoute, docRuleRevoke()},
		{"GET", one + "/queue", auth.Credential, auth.Read, false, queueRoute, docQueue()},
		{"POST", one + "/queue", auth.Credential, auth.Act, false, queueAddRoute, docQueueAdd()},
		{"DELETE", one + "/queue", auth.Credential, auth.Act, false, queueClearRoute, docQueueClear()},
		{"GET", one + "/queue/{prompt}", auth.Credential, auth.Read, false, queueItemRoute, docQueueItem()},
		{"PATCH", one + "/queue/{prompt}", auth.Credential, auth.Act, false, queuePatchRoute, docQueuePatch()},
		{"DELETE", one + "/queue/{prompt}", auth.Credential, auth.Act, false, queueRemoveRoute, docQueueRemove()},

		{"GET", "/api/ws", auth.Credential, auth.Read, true, socketRoute, docSocket()},
		{"GET", one + "/ws", auth.Credential, auth.Read, false, sessionSocketRoute, docSessionSocket()},
	}
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
	grant, err := s.door.Admit(c.r.Context(), c.r, rt.gate)
	if err != nil {
		s.noteRefusal(c.r, err)
		return err
	}
	c.grant = grant
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
		defer s.hold(c, may)()
		if rt.doc.in == nil && !rt.doc.raw {
			c.skipBody()
		}
		if err := c.held.check(); err != nil {
			return err
		}
	}
	err = rt.handle(s, c)
	if err != nil && c.held != nil {
		if over := c.held.check(); over != nil {
			return over
		}
	}
	return err
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

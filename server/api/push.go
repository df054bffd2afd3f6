package api

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
)

// pushRows are the routes of this file.
func pushRows() section {
	return section{
		title: "Notifications",
		about: []string{
			"docs/notifications.md has the payload.",
		},
		rows: []route{
			{
				"GET", "/api/push", auth.Credential, auth.Read, true, pushRoute,
				doc{summary: "The hub's VAPID key, made at the first call, and the push subscriptions of the credential with the outcome of their latest deliveries.", out: wire.PushState{}, status: 200},
			},
			{
				"POST", "/api/push/subscriptions", auth.Credential, auth.Read, true, with(subscribeRoute),
				doc{summary: "Send a browser notifications of the sessions that the credential may read: endpoint and keys are the browser's PushSubscription. A known endpoint changes its events. No events means all of them.", in: wire.NewSubscription{}, out: wire.Made{}, status: 201},
			},
			{
				"DELETE", "/api/push/subscriptions/{subscription}", auth.Credential, auth.Read, true, unsubscribeRoute,
				doc{summary: "End a push subscription of the credential.", status: 204},
			},
			{
				"POST", "/api/push/subscriptions/{subscription}/test", auth.Credential, auth.Read, true, testPushRoute,
				doc{summary: "Send a message to a push subscription of the credential. The outcome is in GET /api/push.", status: 204},
			},
			{
				"POST", "/api/answer", auth.OwnPage, auth.Read, false, tokenAnswerRoute,
				doc{summary: "Answer the question of a notification by its token, a single-use token that expires with the question. Needs the page's own Origin and no credential. 404 for a token that is not good, or not any more.", in: wire.TokenAnswer{}, out: wire.PermissionResolved{}, status: 200},
			},
			{
				"GET", "/api/channels", auth.Credential, auth.Manage, false, channelsRoute,
				doc{summary: "The configured channels, with their events and their latest deliveries.", out: wire.Channels{}, status: 200},
			},
			{
				"PUT", "/api/channels/{channel}", auth.Credential, auth.Manage, false, channelChangeRoute,
				doc{summary: "Set a channel's events, in place of the configuration.", in: wire.NotifyChoice{}, status: 204},
			},
			{
				"POST", "/api/channels/{channel}/test", auth.Credential, auth.Manage, false, testChannelRoute,
				doc{summary: "Send a message to a channel. The outcome is in GET /api/channels.", status: 204},
			},
		},
	}
}

func pushRoute(s *API, c *call) error {
	key, err := s.notify.PublicKey()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.PushState{PublicKey: key, Subscriptions: s.notify.Subscriptions(c.grant)})
}

func subscribeRoute(s *API, c *call, in wire.NewSubscription) error {
	id, err := s.notify.Subscribe(c.grant, in)
	if err != nil {
		return explainNotify(err)
	}
	return c.reply(http.StatusCreated, wire.Made{ID: id})
}

func unsubscribeRoute(s *API, c *call) error {
	id, err := c.param("subscription")
	if err != nil {
		return err
	}
	return c.done(explainNotify(s.notify.Unsubscribe(c.grant, id)))
}

func testPushRoute(s *API, c *call) error {
	id, err := c.param("subscription")
	if err != nil {
		return err
	}
	return c.done(explainNotify(s.notify.TestPush(c.grant, id)))
}

// tokenAnswerRoute settles a permission request with the token of its notification,
// which is the only credential. Wrong tokens from an address are answered with
// growing delays.
func tokenAnswerRoute(s *API, c *call) error {
	var in wire.TokenAnswer
	if err := c.readUpTo(&in, 4<<10); err != nil {
		return err
	}
	answered, err := s.notify.Answer(c.r.Context(), in.Token, in.OptionID)
	if errors.Is(err, notify.ErrNotFound) {
		if err := s.door.Guessed(c.r.Context(), c.r); err != nil {
			return err
		}
	}
	if err != nil {
		return explainNotify(err)
	}
	s.NoteAnswer(c.r.RemoteAddr, answered.Grant, answered.SessionID, answered.Outcome, "")
	return c.reply(http.StatusOK, ResolvedFrame("", answered.SessionID, answered.Outcome))
}

func channelsRoute(s *API, c *call) error {
	return c.reply(http.StatusOK, wire.Channels{Channels: s.notify.ChannelList()})
}

func channelChangeRoute(s *API, c *call) error {
	name, err := c.param("channel")
	if err != nil {
		return err
	}
	var in wire.NotifyChoice
	if err := c.read(&in); err != nil {
		return err
	}
	return c.done(explainNotify(s.notify.ChooseChannel(name, in)))
}

func testChannelRoute(s *API, c *call) error {
	name, err := c.param("channel")
	if err != nil {
		return err
	}
	return c.done(explainNotify(s.notify.TestChannel(c.grant, name)))
}

// explainNotify converts an error of package notify into a problem. It returns
// others unchanged.
func explainNotify(err error) error {
	switch {
	case errors.Is(err, notify.ErrInvalid):
		return Invalid("%s", strings.TrimPrefix(err.Error(), notify.ErrInvalid.Error()+": "))
	case errors.Is(err, notify.ErrBusy):
		return &Problem{Code: wire.CodeBusy, Message: strings.TrimPrefix(err.Error(), notify.ErrBusy.Error()+": "), RetryAfter: time.Minute}
	case errors.Is(err, notify.ErrNotFound):
		return &Problem{Code: wire.CodeNotFound, Message: strings.TrimPrefix(err.Error(), notify.ErrNotFound.Error()+": ")}
	}
	return err
}

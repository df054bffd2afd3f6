package api

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
)

func pushRoute(s *API, c *call) error {
	key, err := s.notify.PublicKey()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.PushState{PublicKey: key, Subscriptions: s.notify.Subscriptions(c.grant)})
}

func subscribeRoute(s *API, c *call) error {
	var in wire.NewSubscription
	if err := c.read(&in); err != nil {
		return err
	}
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
	if err := s.notify.Unsubscribe(c.grant, id); err != nil {
		return explainNotify(err)
	}
	return c.done()
}

func testPushRoute(s *API, c *call) error {
	id, err := c.param("subscription")
	if err != nil {
		return err
	}
	if err := s.notify.TestPush(c.grant, id); err != nil {
		return explainNotify(err)
	}
	return c.done()
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
	if err := s.notify.ChooseChannel(name, in); err != nil {
		return explainNotify(err)
	}
	return c.done()
}

func testChannelRoute(s *API, c *call) error {
	name, err := c.param("channel")
	if err != nil {
		return err
	}
	if err := s.notify.TestChannel(c.grant, name); err != nil {
		return explainNotify(err)
	}
	return c.done()
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

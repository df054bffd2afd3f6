package api

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

func interruptionRoute(s *API, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	o, err := own.Interruption(c.r.Context())
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, offerOf(o))
}

func offerOf(o session.Offer) wire.Offer {
	out := wire.Offer{
		Interruption: *InterruptionOf(o.Interruption), AgeS: int64(o.Age / time.Second), Stale: o.Stale,
		Mismatch: append([]string{}, o.Mismatch...), Drift: []wire.Drift{}, Prompt: o.Prompt, Ways: []wire.Way{},
	}
	if len(o.Lost) > 0 {
		q := o.Lost[0]
		out.LostQuestion = &wire.LostQuestion{PermissionID: q.PermissionID, Title: q.Title, Options: q.Options}
	}
	for _, d := range o.Drift {
		out.Drift = append(out.Drift, wire.Drift(d))
	}
	for _, w := range o.Ways {
		out.Ways = append(out.Ways, wire.Way(w))
	}
	return out
}

func resumeRoute(s *API, c *call) error {
	var in wire.Resume
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	resumed, err := own.Resume(c.r.Context(), ResumeOf(in, c.grant, own.ID()))
	if err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, wire.Resumed(resumed))
}

func ResumeOf(in wire.Resume, grant auth.Grant, sessionID string) session.ResumeRequest {
	return session.ResumeRequest{
		InterruptionID: in.InterruptionID, Way: in.Way, Prompt: in.Prompt, Drift: session.DriftChoice(in.Drift), Confirm: in.Confirm,
		Actor: grant.By(), MayManage: grant.May(auth.Manage, sessionID),
	}
}

func dismissRoute(s *API, c *call) error {
	var in wire.Dismiss
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.Dismiss(c.r.Context(), in.InterruptionID, c.grant.By()); err != nil {
		return err
	}
	return c.done()
}

package api

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/resume"
)

// interruptionRows are the routes of this file.
func interruptionRows() section {
	return section{
		title: "Interruptions",
		about: []string{
			"`way` is `auto`, `server`, `local` or `segmented`; the last tells a new agent session all of this one, and `restore` in `state` says how far it is. `confirm` must name what `needs` lists. If `drift` is among them, `drift` is `apply` (the recorded settings) or `keep` (the current ones). Where one allows more, that takes access to manage the session.",
			"`…/resume` without `interruption_id` ends a pause and brings the agent back by `way`, without a prompt: 409 while a turn is open or interrupted, 400 with a field other than `way`.",
		},
		rows: []route{
			{
				"GET", one + "/interruption", auth.Credential, auth.Read, false, inSession(interruptionRoute),
				doc{summary: "The interrupted turn, how old it is since its last event, and how it can be resumed. A viewer gets no `prompt`: it lists changed files. 404 when there is none.", out: wire.Offer{}, status: 200},
			},
			{
				"POST", one + "/resume", auth.Credential, auth.Act, false, inSessionWith(resumeRoute),
				doc{
					summary: "Resume the interrupted turn. The first to settle it wins; others get 409 already_resolved with the winner. A missing confirmation is 409 conflict with `needs`. 409 too while a turn is open, or when the workspace is gone; 404 an unknown interruption_id.",
					in:      wire.Resume{}, out: wire.Resumed{}, status: 202,
				},
			},
			{
				"POST", one + "/pause", auth.Credential, auth.Act, false, inSession(pauseRoute),
				doc{summary: "Pause the session: an open turn ends as interrupted (person_paused), the agent is stopped, and the queue is held. The pause is in the log when this returns. A paused session stays paused. It ends with a resume, a prompt, or the dismissal of its interruption. 409 if the session has ended.", out: wire.Paused{}, status: 202},
			},
			{
				"POST", one + "/dismiss", auth.Credential, auth.Act, false, inSessionWith(dismissRoute),
				doc{summary: "Dismiss an interruption. Queued prompts continue. The first to settle it wins; others get 409 already_resolved with the winner, 404 an unknown interruption_id.", in: wire.Dismiss{}, status: 204},
			},
		},
	}
}

func interruptionRoute(s *API, c *call, own *session.BackgroundSession) error {
	o, err := own.Interruption(c.r.Context())
	if err != nil {
		return err
	}
	out := offerOf(o)
	if !c.grant.May(auth.Act, own.ID()) {
		out.Prompt, out.Setup = "", nil // the workspace's changed files, and the owner's command
	}
	return c.reply(http.StatusOK, out)
}

func offerOf(o resume.Offer) wire.Offer {
	out := wire.Offer{
		Interruption: o.Interruption, AgeS: int64(o.Age / time.Second), Stale: o.Stale,
		Mismatch: append([]string{}, o.Mismatch...), Drift: append([]wire.Drift{}, o.Drift...), Prompt: o.Prompt, Ways: o.Ways,
	}
	if o.Setup != nil {
		out.Setup = &wire.Setup{Command: o.Setup.Command, Failed: o.Setup.Failed}
	}
	if len(o.Lost) > 0 {
		q := o.Lost[0]
		out.LostQuestion = &wire.LostQuestion{PermissionID: q.PermissionID, Title: q.Title, Options: q.Options}
	}
	return out
}

func resumeRoute(s *API, c *call, own *session.BackgroundSession, in wire.Resume) error {
	resumed, err := own.Resume(c.r.Context(), ResumeOf(in, c.grant, own.ID()))
	if err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, wire.Resumed(resumed))
}

func ResumeOf(in wire.Resume, grant auth.Grant, sessionID string) session.ResumeRequest {
	return session.ResumeRequest{
		InterruptionID: in.InterruptionID, Way: in.Way, Prompt: in.Prompt, Drift: resume.DriftChoice(in.Drift), Confirm: in.Confirm, WithoutSetup: in.WithoutSetup,
		Actor: grant.By(), MayManage: grant.May(auth.Manage, sessionID),
	}
}

func pauseRoute(_ *API, c *call, own *session.BackgroundSession) error {
	paused, err := own.Pause(c.r.Context(), c.grant.By())
	if err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, paused)
}

func dismissRoute(s *API, c *call, own *session.BackgroundSession, in wire.Dismiss) error {
	return c.done(own.Dismiss(c.r.Context(), in.InterruptionID, c.grant.By()))
}

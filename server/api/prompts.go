package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// promptRows are the routes of this file.
func promptRows() section {
	return section{
		title: "Prompts and permissions",
		about: []string{
			"The same verbs as on the socket. `prompt_id` and `Idempotency-Key` that differ are 400; so is, for each id that a client chooses, one that begins with `abide/`.",
		},
		rows: []route{
			{
				"GET", one + "/state", auth.Credential, auth.Read, false, inSession(stateRoute),
				doc{summary: "What the session is doing now: the frame `state` of a socket.", out: wire.State{}, status: 200},
			},
			{
				"POST", one + "/prompt", auth.Credential, auth.Act, false, promptRoute,
				doc{
					summary: "Ask the agent. The same prompt_id again gets the latest outcome and changes nothing. 202 while it waits.",
					in:      wire.NewPrompt{}, out: wire.PromptAnswer{}, status: 200,
					headers: []param{{"Idempotency-Key", "the prompt's id, where the body has none", ""}},
				},
			},
			{
				"POST", one + "/cancel", auth.Credential, auth.Act, false, inSession(cancelRoute),
				doc{summary: "Ask the agent to end its turn.", status: 204},
			},
			{
				"POST", one + "/force-reset", auth.Credential, auth.Act, false, inSession(forceResetRoute),
				doc{summary: "Free a turn whose agent does not answer: the agent is stopped.", status: 204},
			},
			{
				"POST", one + "/permissions/{permission}", auth.Credential, auth.Act, false, with(permissionRoute),
				doc{
					summary: "Settle a permission request. The first answer wins; a later other one is 409 with the winner.",
					in:      wire.PermissionChoice{}, out: wire.PermissionResolved{}, status: 200,
				},
			},
		},
	}
}

func stateRoute(s *API, c *call, own *session.BackgroundSession) error {
	frame, err := wire.Encode(StateOf(own.State()))
	if err != nil {
		return err
	}
	return c.replyRaw(http.StatusOK, frame)
}

func promptRoute(s *API, c *call) error { return askAgent(c, "") }

// askAgent sends the prompt in the request's body. when applies if the body has
// none.
func askAgent(c *call, when session.When) error {
	var in wire.NewPrompt
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if in.When != "" {
		when = session.When(in.When)
	}
	id, err := c.promptID(in.PromptID)
	if err != nil {
		return err
	}
	result, err := own.Prompt(c.r.Context(), session.PromptRequest{
		PromptID: id, Text: in.Text, Attachments: in.Attachments, When: when,
		ScheduledAt: in.ScheduledAt, Actor: c.grant.By(), Guest: !c.grant.May(auth.Manage, own.ID()),
	})
	if err != nil {
		return err
	}
	answer := wire.PromptAnswer{PromptID: id, Outcome: wire.Fate(result.Outcome), Seq: result.Seq}
	if result.Outcome == queue.Queued {
		answer.Position = &result.Position
		return c.reply(http.StatusAccepted, answer)
	}
	return c.reply(http.StatusOK, answer)
}

func cancelRoute(s *API, c *call, own *session.BackgroundSession) error {
	return c.done(own.Cancel(c.r.Context(), c.grant.By()))
}

func forceResetRoute(s *API, c *call, own *session.BackgroundSession) error {
	return c.done(own.ForceReset(c.r.Context(), c.grant.By()))
}

func permissionRoute(s *API, c *call, in wire.PermissionChoice) error {
	permission, err := c.param("permission")
	if err != nil {
		return err
	}
	if err := MayRule(c.grant, c.id(), in.Remember); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	outcome, err := own.AnswerPermission(c.r.Context(), session.Answer{
		PermissionID: permission, OptionID: in.OptionID, Content: in.Content, Actor: c.grant.By(),
		Remember: in.Remember, SeenSeq: in.SeenSeq, MayRule: c.grant.May(auth.Manage, own.ID()),
	})
	if err != nil {
		return err
	}
	s.NoteAnswer(c.r.RemoteAddr, c.grant, own.ID(), outcome, in.Remember)
	return c.reply(http.StatusOK, ResolvedFrame("", own.ID(), outcome))
}

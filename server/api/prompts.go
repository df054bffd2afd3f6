package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

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
		ScheduledAt: in.ScheduledAt, Actor: c.grant.By(),
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

func cancelRoute(s *API, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.Cancel(c.r.Context(), c.grant.By()); err != nil {
		return err
	}
	return c.done()
}

func forceResetRoute(s *API, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.ForceReset(c.r.Context(), c.grant.By()); err != nil {
		return err
	}
	return c.done()
}

func permissionRoute(s *API, c *call) error {
	var in wire.PermissionChoice
	if err := c.read(&in); err != nil {
		return err
	}
	permission, err := c.param("permission")
	if err != nil {
		return err
	}
	remember := state.RuleScope(in.Remember)
	if err := MayRule(c.grant, c.id(), remember); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	outcome, err := own.AnswerPermission(c.r.Context(), session.Answer{
		PermissionID: permission, OptionID: in.OptionID, Content: in.Content, Actor: c.grant.By(),
		Remember: remember, SeenSeq: in.SeenSeq, MayRule: c.grant.May(auth.Manage, own.ID()),
	})
	if err != nil {
		return err
	}
	s.NoteAnswer(c.r.RemoteAddr, c.grant, own.ID(), outcome, remember)
	return c.reply(http.StatusOK, ResolvedFrame("", own.ID(), outcome))
}

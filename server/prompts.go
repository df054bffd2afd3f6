package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// promptRequest is a prompt for the agent. PromptID may also be the request's
// Idempotency-Key.
type promptRequest struct {
	PromptID    string             `json:"prompt_id,omitempty"`
	Text        string             `json:"text"`
	Attachments []event.Attachment `json:"attachments,omitempty"`
	// When is auto (at once if idle, else into the queue; the default) or queue.
	When string `json:"when,omitempty"`
	// ScheduledAt keeps the prompt in the queue until then.
	ScheduledAt *time.Time `json:"scheduled_at,omitempty"`
}

// promptAnswer is the latest outcome of a prompt.
type promptAnswer struct {
	PromptID string `json:"prompt_id"`
	// Outcome is received, queued, removed or interrupted.
	Outcome string `json:"outcome"`
	// Seq is the prompt's event, if it is in the log.
	Seq event.Seq `json:"seq,omitempty"`
	// Position counts from 0, while the prompt is queued.
	Position *int `json:"position,omitempty"`
}

func promptRoute(s *Server, c *call) error { return askAgent(c, "") }

// askAgent sends the prompt in the request's body. when applies if the body has
// none.
func askAgent(c *call, when session.When) error {
	var in promptRequest
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
	answer := promptAnswer{PromptID: id, Outcome: string(result.Outcome), Seq: result.Seq}
	if result.Outcome == queue.Queued {
		answer.Position = &result.Position
		return c.reply(http.StatusAccepted, answer)
	}
	return c.reply(http.StatusOK, answer)
}

func cancelRoute(s *Server, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.Cancel(c.r.Context(), c.grant.By()); err != nil {
		return err
	}
	return c.done()
}

func forceResetRoute(s *Server, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.ForceReset(c.r.Context(), c.grant.By()); err != nil {
		return err
	}
	return c.done()
}

// permissionAnswer settles a permission request.
type permissionAnswer struct {
	// OptionID is one of the options the agent offered.
	OptionID string `json:"option_id"`
	// Content is the filled-in form, if the request has one.
	Content json.RawMessage `json:"content,omitempty"`
	// SeenSeq is the last event that the person had seen. The answer is refused
	// with conflict if the tool call changed after it.
	SeenSeq event.Seq `json:"seen_seq,omitempty"`
	// Remember makes a rule from the answer.
	Remember session.RuleScope `json:"remember,omitempty"`
}

func permissionRoute(s *Server, c *call) error {
	var in permissionAnswer
	if err := c.read(&in); err != nil {
		return err
	}
	permission, err := c.param("permission")
	if err != nil {
		return err
	}
	if err := mayRule(c.grant, c.id(), in.Remember); err != nil {
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
	s.noteAnswer(c.r.RemoteAddr, c.grant, own.ID(), outcome, in.Remember)
	return c.reply(http.StatusOK, resolvedFrame("", own.ID(), outcome))
}

package server

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// offer is a cut-off turn and how it can be resumed.
type offer struct {
	InterruptionID string                `json:"interruption_id"`
	Turn           int                   `json:"turn"`
	Reason         event.InterruptReason `json:"reason"`
	Phase          event.TurnPhase       `json:"phase"`
	AtSeq          event.Seq             `json:"at_seq"`
	At             time.Time             `json:"at"`
	AgeS           int64                 `json:"age_s"`
	// Stale says that a resume has to be confirmed because of the age.
	Stale bool `json:"stale"`
	// Mismatch names what is not as it was: workspace.
	Mismatch []string `json:"mismatch"`
	// LostQuestion is the question that waited for an answer.
	LostQuestion *lostQuestion `json:"lost_question,omitempty"`
	// Prompt is what the agent is told.
	Prompt string `json:"prompt"`
	// Held says that prompts wait in the queue meanwhile.
	Held bool       `json:"held"`
	Ways []offerWay `json:"ways"`
}

// lostQuestion is a permission request that nobody can answer any more.
type lostQuestion struct {
	PermissionID string `json:"permission_id"`
	Title        string `json:"title"`
	// Options are the answers that were offered.
	Options []event.PermissionOption `json:"options"`
}

type offerWay struct {
	Way       event.ResumeWay `json:"way"`
	Available bool            `json:"available"`
	Why       string          `json:"why,omitempty"`
}

// resumeRequest names the interruption; prompt replaces the offered one.
type resumeRequest struct {
	InterruptionID string   `json:"interruption_id"`
	Way            string   `json:"way,omitempty"`
	Prompt         string   `json:"prompt,omitempty"`
	Confirm        []string `json:"confirm,omitempty"`
}

type resumeAnswer struct {
	PromptID string          `json:"prompt_id"`
	Way      event.ResumeWay `json:"way"`
}

type dismissRequest struct {
	InterruptionID string `json:"interruption_id"`
}

// settledWinner says who settled an interruption first.
type settledWinner struct {
	Outcome event.SettledAs `json:"outcome"`
	By      string          `json:"by"`
	At      time.Time       `json:"at"`
}

func interruptionRoute(s *Server, c *call) error {
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

func offerOf(o session.Offer) offer {
	out := offer{
		InterruptionID: o.ID, Turn: o.Turn, Reason: o.Reason, Phase: o.Phase, AtSeq: o.AtSeq, At: o.At.UTC(),
		AgeS: int64(o.Age / time.Second), Stale: o.Stale, Mismatch: append([]string{}, o.Mismatch...),
		Prompt: o.Prompt, Held: o.Held, Ways: []offerWay{},
	}
	if len(o.Lost) > 0 {
		q := o.Lost[0]
		out.LostQuestion = &lostQuestion{PermissionID: q.PermissionID, Title: q.Title, Options: q.Options}
	}
	for _, w := range o.Ways {
		out.Ways = append(out.Ways, offerWay(w))
	}
	return out
}

func resumeRoute(s *Server, c *call) error {
	var in resumeRequest
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	resumed, err := own.Resume(c.r.Context(), session.ResumeRequest{
		InterruptionID: in.InterruptionID, Way: in.Way, Prompt: in.Prompt, Confirm: in.Confirm, Actor: c.grant.Actor(),
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, resumeAnswer(resumed))
}

func dismissRoute(s *Server, c *call) error {
	var in dismissRequest
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.Dismiss(c.r.Context(), in.InterruptionID, c.grant.Actor()); err != nil {
		return err
	}
	return c.done()
}

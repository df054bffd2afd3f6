package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// queueRows are the routes of this file.
func queueRows() section {
	return section{
		title: "Queue",
		about: []string{
			"`PATCH` changes all that it names or nothing.",
		},
		rows: []route{
			{
				"GET", one + "/queue", auth.Credential, auth.Read, false, inSession(queueRoute),
				doc{summary: "The prompts that wait, in order.", out: wire.Queue{}, status: 200},
			},
			{
				"POST", one + "/queue", auth.Credential, auth.Act, false, queueAddRoute,
				doc{
					summary: "Put a prompt into the queue. A full queue is 409. 200 if it did not have to wait.",
					in:      wire.NewPrompt{}, out: wire.PromptAnswer{}, status: 202,
					headers: []param{{"Idempotency-Key", "the prompt's id, where the body has none", ""}},
				},
			},
			{
				"DELETE", one + "/queue", auth.Credential, auth.Act, false, inSession(queueClearRoute),
				doc{summary: "Empty the queue.", status: 204},
			},
			{
				"GET", one + "/queue/{prompt}", auth.Credential, auth.Read, false, queueItemRoute,
				doc{summary: "One waiting prompt.", out: wire.QueueItem{}, status: 200},
			},
			{
				"PATCH", one + "/queue/{prompt}", auth.Credential, auth.Act, false, with(queuePatchRoute),
				doc{summary: "Change a waiting prompt's text, place or time.", in: wire.QueuePatch{}, out: wire.Queue{}, status: 200},
			},
			{
				"DELETE", one + "/queue/{prompt}", auth.Credential, auth.Act, false, queueRemoveRoute,
				doc{summary: "Take a prompt out of the queue.", status: 204},
			},
		},
	}
}

func queueRoute(s *API, c *call, own *session.BackgroundSession) error {
	answer := wire.Queue{Queue: []wire.QueueItem{}}
	for _, item := range own.Queue() {
		answer.Queue = append(answer.Queue, ItemOf(item))
	}
	return c.reply(http.StatusOK, answer)
}

func queueAddRoute(s *API, c *call) error { return askAgent(c, session.WhenQueue) }

func queueClearRoute(s *API, c *call, own *session.BackgroundSession) error {
	return c.done(s.ClearQueue(c.r.Context(), c.r.RemoteAddr, c.grant, own))
}

func queueItemRoute(s *API, c *call) error {
	own, id, err := c.part("prompt")
	if err != nil {
		return err
	}
	for _, item := range own.Queue() {
		if item.PromptID == id {
			return c.reply(http.StatusOK, ItemOf(item))
		}
	}
	return &Problem{Code: wire.CodeNotFound, Message: "that prompt does not wait"}
}

func queuePatchRoute(s *API, c *call, in wire.QueuePatch) error {
	own, id, err := c.part("prompt")
	if err != nil {
		return err
	}
	err = own.QueueRevise(c.r.Context(), id, session.QueueRevision{
		Text: in.Text, Position: in.Position, Reschedule: in.ScheduledAt.Present, ScheduledAt: in.ScheduledAt.Time,
	}, c.grant.By())
	if err != nil {
		return err
	}
	return queueRoute(s, c, own)
}

func queueRemoveRoute(s *API, c *call) error {
	own, id, err := c.part("prompt")
	if err != nil {
		return err
	}
	return c.done(s.RemoveQueued(c.r.Context(), c.r.RemoteAddr, c.grant, own, id))
}

// ClearQueue empties a queue for a credential at an address, and records that.
func (s *API) ClearQueue(ctx context.Context, peer string, g auth.Grant, own *session.BackgroundSession) error {
	waiting := len(own.Queue())
	if err := own.QueueClear(ctx, g.By()); err != nil {
		return err
	}
	s.noteDropped(peer, g, own, waiting)
	return nil
}

func (s *API) noteDropped(peer string, g auth.Grant, own *session.BackgroundSession, waiting int) {
	if waiting > 0 {
		s.note(peer, g, audit.Record{Verb: audit.QueueCleared, SessionID: own.ID(), Detail: fmt.Sprint(waiting)})
	}
}

// RemoveQueued removes a waiting prompt for a credential at an address, and records that.
func (s *API) RemoveQueued(ctx context.Context, peer string, g auth.Grant, own *session.BackgroundSession, promptID string) error {
	if err := own.QueueRemove(ctx, promptID, g.By()); err != nil {
		return err
	}
	s.note(peer, g, audit.Record{Verb: audit.PromptRemoved, SessionID: own.ID(), Detail: promptID})
	return nil
}

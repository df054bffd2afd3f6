package server

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// queueList lists the waiting prompts in the order in which the agent gets them.
type queueList struct {
	Queue []wire.QueueItem `json:"queue"`
}

func queueRoute(s *Server, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	answer := queueList{Queue: []wire.QueueItem{}}
	for _, item := range own.Queue() {
		answer.Queue = append(answer.Queue, itemOf(item))
	}
	return c.reply(http.StatusOK, answer)
}

func queueAddRoute(s *Server, c *call) error { return askAgent(c, session.WhenQueue) }

func queueClearRoute(s *Server, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.QueueClear(c.r.Context()); err != nil {
		return err
	}
	return c.done()
}

func queueItemRoute(s *Server, c *call) error {
	own, id, err := c.queued()
	if err != nil {
		return err
	}
	for _, item := range own.Queue() {
		if item.PromptID == id {
			return c.reply(http.StatusOK, itemOf(item))
		}
	}
	return &problem{code: wire.CodeNotFound, message: "that prompt does not wait"}
}

// queuePatch changes the fields of a waiting prompt that are present. ScheduledAt
// may be null: as soon as the agent is idle.
type queuePatch struct {
	Text     *string `json:"text,omitempty"`
	Position *int    `json:"position,omitempty"`
	// ScheduledAt is cleared by null and unchanged if absent.
	ScheduledAt optionalTime `json:"scheduled_at,omitzero"`
}

// optionalTime is a time that may be absent, null or set.
type optionalTime struct {
	present bool
	value   *time.Time
}

// UnmarshalJSON reads null or a time. It is not called for an absent field.
func (t *optionalTime) UnmarshalJSON(data []byte) error {
	t.present = true
	if string(data) == "null" {
		return nil
	}
	t.value = new(time.Time)
	return t.value.UnmarshalJSON(data)
}

func queuePatchRoute(s *Server, c *call) error {
	var in queuePatch
	if err := c.read(&in); err != nil {
		return err
	}
	own, id, err := c.queued()
	if err != nil {
		return err
	}
	err = own.QueueRevise(c.r.Context(), id, session.QueueRevision{
		Text: in.Text, Position: in.Position, Reschedule: in.ScheduledAt.present, ScheduledAt: in.ScheduledAt.value,
	})
	if err != nil {
		return err
	}
	return queueRoute(s, c)
}

func queueRemoveRoute(s *Server, c *call) error {
	own, id, err := c.queued()
	if err != nil {
		return err
	}
	if err := own.QueueRemove(c.r.Context(), id); err != nil {
		return err
	}
	return c.done()
}

// queued returns the session and the id of the waiting prompt in the path.
func (c *call) queued() (*session.BackgroundSession, string, error) {
	id, err := c.param("prompt")
	if err != nil {
		return nil, "", err
	}
	own, err := c.session()
	return own, id, err
}

package session

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func (e *engine) end(p event.SessionEnd) error {
	if err := e.refusal(); err != nil {
		return err
	}
	if e.fold.Open {
		return fmt.Errorf("%w: a turn is open; stop it first", state.ErrConflict)
	}
	if due, waiting := e.queue.NextDue(time.Now()); waiting && !due.After(time.Now()) {
		return fmt.Errorf("%w: a prompt is waiting to be given to the agent; remove it first", state.ErrConflict)
	}
	if e.fold.Ended {
		return nil
	}
	if _, err := e.write(e.entries(p)...); err != nil {
		return fmt.Errorf("end session: %w", e.stuck(err))
	}
	e.agent.stop(stopSleep)
	e.list.flush = true
	e.listing.keep(time.Now()) // the caller must see the status in the list
	return nil
}

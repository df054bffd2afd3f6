package session

import (
	"cmp"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// maxEndReason bounds the reason of an end, in bytes.
const maxEndReason = 1000

// defaultEndReason is the reason if none is given.
const defaultEndReason = "done"

func checkReason(reason string) error {
	if len(reason) > maxEndReason || !utf8.ValidString(reason) {
		return fmt.Errorf("%w: a reason has at most %d bytes of text", state.ErrInvalid, maxEndReason)
	}
	return nil
}

func endOf(reason string, actor event.Actor) event.SessionEnd {
	return event.SessionEnd{Reason: cmp.Or(reason, defaultEndReason), By: actor.Name, ByID: actor.ID}
}

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

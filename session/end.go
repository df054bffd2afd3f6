package session

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func waitWords(n int) string {
	if n == 1 {
		return "1 prompt waits"
	}
	return fmt.Sprintf("%d prompts wait", n)
}

// mayEnd refuses to end a session that is at work.
func (e *engine) mayEnd() error {
	if err := e.refusal(); err != nil {
		return err
	}
	if e.fold.Open {
		return fmt.Errorf("%w: a turn is open; stop it first", state.ErrConflict)
	}
	return nil
}

// end writes session_end. It settles an open interruption: the hub must not resume
// what a person ended. The payloads in before precede it, all or none.
func (e *engine) end(p event.SessionEnd, before ...event.Payload) error {
	if err := e.mayEnd(); err != nil {
		return err
	}
	if due, waiting := e.queue.NextDue(time.Now()); waiting && !due.After(time.Now()) {
		return fmt.Errorf("%w: %s in the queue: remove the prompts first, or end it with drop_queue", state.ErrConflict, waitWords(e.queue.Len()))
	}
	if e.fold.Ended {
		return nil
	}
	var settled []state.Entry
	if open := e.fold.Interruptions.Open; open != nil {
		settled = e.entries(event.InterruptionSettled{InterruptionID: open.InterruptionID, Outcome: event.SettledDismissed, By: p.By, ByID: p.ByID})
	}
	if _, err := e.write(append(settled, e.entries(append(before, p)...)...)...); err != nil {
		return fmt.Errorf("end session: %w", e.stuck(err))
	}
	e.agent.stop(stopSleep)
	e.list.flush = true
	e.listing.keep(time.Now()) // the caller must see the status in the list
	return nil
}

package session

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/state"
)

// noteBudget is the method of a note about the budget of a session's project.
const noteBudget = "abide/budget"

// stoppedBy is the error of what a budget stops; nil for nil.
func stoppedBy(day *budget.Day) error {
	if day == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", state.ErrConflict, day.Words())
}

// lookAtClock is how often the clock on the wall is looked at while a budget holds a queue: a
// timer does not see that the machine slept or that the clock was set.
const lookAtClock = 30 * time.Second

// budgetHold holds a session's queue while its project's budget of today is used up.
type budgetHold struct {
	keeper  *budget.Keeper
	project string
	counted func()    // called when it is known what was used
	until   time.Time // until when the session said that its queue waits
}

// held reports whether the queue waits for tomorrow, or until it is known what was used.
// again is when to look again, if that is not told otherwise; words are to be said, once a
// day.
func (h *budgetHold) held() (held bool, again time.Duration, words string) {
	day, known := h.keeper.Holds(h.project, h.counted)
	if !known || day == nil {
		return !known, lookAtClock, ""
	}
	if !day.Until.Equal(h.until) {
		h.until, words = day.Until, "The queue waits. "+day.Words()
	}
	return true, min(day.Until.Sub(h.keeper.Now()), lookAtClock), words
}

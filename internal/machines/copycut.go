package machines

import (
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// cut keeps what is equal in both logs: the machine lost what came after. The rest goes into
// quarantine, and the copy is opened anew.
func (c *Copied) cut(ctx context.Context, l logReader, end event.Seq) error {
	if !l.mayCut(c.id) {
		l.refuse("another log, again, in one run")
		return errors.New("the machine says again that it has another log")
	}
	equal, other := c.copy.Marks().Min-1, end
	for other-equal > 1 {
		at := equal + (other-equal)/2
		sum, err := lineSum(ctx, c.copy, at)
		if err != nil {
			return err
		}
		a, _, err := l.read(ctx, readHead{SessionID: c.id, After: at, Sum: sum, Most: 1})
		switch {
		case err != nil:
			return err
		case a.Error != "":
			return fmt.Errorf("%w: the machine says: %s", state.ErrUnavailable, words(a.Error))
		case a.Other:
			other = at
		default:
			equal = at
		}
	}
	c.logger.Warn("a machine's log has other events than its copy: these are kept in the copy's quarantine", "machine", c.machine, "session", c.id, "after", equal)
	if err := c.cutAt(equal); errors.Is(err, errCopyEnded) {
		return err // the machine was forgotten
	} else if err != nil {
		l.uncut(c.id) // that is home's fault
		return err
	}
	return errCopyEnded
}

package machines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

const (
	// readWait is how long a read of a followed session waits at the machine for news.
	readWait = 10 * time.Second
	// earlyPause is the pause after an answer without news to a read that was to wait.
	earlyPause = 100 * time.Millisecond
)

// run reads on until ctx ends or the copy goes no further.
func (c *Copied) run(ctx context.Context) {
	said := false
	for ctx.Err() == nil {
		changed := c.from.Changed()
		l := c.from.reader(c.machine)
		if l == nil {
			c.state.settle()
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := c.follow(ctx, l)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errCopyEnded):
			return
		case isClosed(l.ended()): // asked again at once when it is back
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		case errors.Is(err, journal.ErrBlocked):
			c.noted(err)
		case err != nil && !said:
			said = true
			c.logger.Warn("a session cannot be copied", "machine", c.machine, "session", c.id, "err", err)
		}
		if !c.attention.wanted() {
			return // a change of its line has it read again
		}
		select { // e.g. a full disk: commands go on meanwhile
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// follow reads over one connection.
func (c *Copied) follow(ctx context.Context, l logReader) error {
	verified := false
	for {
		wake := c.wake.Listen()
		q := readHead{SessionID: c.id, After: c.copy.Marks().Visible, Most: partBytes}
		if data := c.state.now(); data != nil {
			q.State = sumOf(data)
		}
		if q.After > 0 && !verified {
			var err error
			if q.Sum, err = lineSum(ctx, c.copy, q.After); errors.Is(err, journal.ErrClosed) {
				return errCopyEnded
			} else if err != nil {
				return err
			}
		}
		wanted := c.attention.wanted()
		if wanted {
			q.Wait = int(readWait / time.Millisecond)
		}
		began := time.Now()
		a, lines, err := l.read(ctx, q)
		if err != nil {
			return err
		}
		switch {
		case a.Error == readGone:
			c.state.settle()
			return errCopyEnded
		case a.Error != "":
			return fmt.Errorf("%w: the machine says: %s", state.ErrUnavailable, words(a.Error))
		case a.Other:
			return c.cut(ctx, l, q.After)
		}
		verified = true
		if wanted && len(lines) == 0 && len(a.State) == 0 && time.Since(began) < readWait/2 {
			select { // it was to wait: the session was closed there, or it only says so
			case <-time.After(earlyPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if len(lines) > 0 {
			if _, err := c.copy.Append(journal.Stretch{Lines: lines, File: a.File, Last: a.Last}); err != nil {
				if errors.Is(err, store.ErrCopyGap) || errors.Is(err, store.ErrCopyForeign) || errors.Is(err, store.ErrCopyDamaged) {
					l.refuse("lines of a log: " + err.Error())
				}
				if errors.Is(err, journal.ErrClosed) {
					return errCopyEnded
				}
				return err
			}
			c.noted(nil)
			c.keeping.grew(len(lines))
			c.news.Store(time.Now().UnixNano())
		}
		if a.Epoch != "" {
			c.epoch.Store(&a.Epoch)
		}
		if len(a.State) > 0 {
			c.state.set(a.State)
		}
		c.state.settle()
		c.heard.Ring()
		if len(lines) > 0 {
			continue
		}
		c.readOnce.Do(func() { close(c.read) })
		if wanted {
			continue
		}
		select {
		case <-wake:
		case <-l.ended():
			return context.Canceled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

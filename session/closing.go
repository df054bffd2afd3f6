package session

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// forgetBound is how long an agent may take to delete its own copy of a session.
const forgetBound = 2 * time.Second

// close ends the session: it stops the agent and closes an open turn. If ctx ends
// first, the engine ends at once, and open calls and turns stay open in the log.
func (b *BackgroundSession) close(ctx context.Context) error {
	b.mail.post(func(e *engine) { e.closing = true })
	select {
	case <-b.gone:
		return nil
	case <-ctx.Done():
	}
	b.mail.post(func(e *engine) { e.ended = true })
	<-b.mail.done
	return fmt.Errorf("close session %s: %w", b.id, ctx.Err())
}

// forget asks a running agent to delete its own copy of the session before it is
// stopped. An agent that cannot, or does not answer in time, is stopped anyway.
func (b *BackgroundSession) forget(ctx context.Context) {
	proc, err := ask(ctx, b.mail, func(e *engine) (Agent, error) {
		if !e.agent.up() || e.fold.open {
			return nil, nil
		}
		return e.agent.proc, nil
	})
	forgetter, able := proc.(Forgetter)
	if err != nil || !able {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forgetBound)
	defer cancel()
	_ = forgetter.Forget(ctx) // most agents keep no copy or do not support this
}

// windDown performs the next step of closing the session.
func (e *engine) windDown() {
	if e.agent.status != AgentAbsent && e.agent.status != AgentFailed {
		e.agent.stop(stopClose)
		if e.agent.status != AgentAbsent {
			return
		}
	}
	if e.fold.open {
		e.turn.cut = event.CutHubStop
		if err := e.turns.end(nil, event.StopHubRestart, nil); err != nil {
			e.logger.Warn("open turn stays open until the next start", "err", err)
		}
	}
	e.list.changed, e.list.flush = true, true
	e.ended = true
}

// restful reports whether closing the session would interrupt nothing.
func (e *engine) restful() bool {
	_, waiting := e.queue.NextDue(time.Now())
	if e.imported {
		return !e.watchers.any()
	}
	return !e.fold.open && !e.fold.recorder.Open && !waiting && len(e.fold.permissions.open) == 0 && !e.agent.there() &&
		e.agent.status != AgentStarting && !e.watchers.any()
}

// rename sets the session's name given by a person. An empty one allows automatic
// names again.
func (b *BackgroundSession) rename(ctx context.Context, name string) error {
	return tell(ctx, b.mail, func(e *engine) error {
		e.listing.named = name != ""
		e.log.UpdateMetadata(func(m *journal.Metadata) {
			if m.Named = e.listing.named; e.listing.named {
				m.Name = name
			}
		})
		e.list.changed = true
		return nil
	})
}

// label changes the session's labels and writes them to the device.
func (b *BackgroundSession) label(ctx context.Context, p Patch) error {
	change := func(m *journal.Metadata) {
		if p.Name != nil {
			if m.Named = *p.Name != ""; m.Named {
				m.Name = *p.Name
			}
		}
		if p.Pinned != nil {
			m.Pinned = *p.Pinned
		}
		if p.Archived != nil {
			m.Archived = *p.Archived
		}
	}
	if p.Name == nil {
		return b.log.Label(change)
	}
	return tell(ctx, b.mail, func(e *engine) error {
		if err := e.log.Label(change); err != nil {
			return err
		}
		e.listing.named, e.list.changed = *p.Name != "", true
		return nil
	})
}

// givenName checks a name given by a person.
func givenName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > 200 || name != "" && !printable(name) {
		return "", fmt.Errorf("%w: a name has at most 200 printable characters", state.ErrInvalid)
	}
	if name != "" && strings.IndexFunc(name, seen) < 0 {
		return "", fmt.Errorf("%w: nothing of this name can be seen; use at least one letter, digit or sign", state.ErrInvalid)
	}
	return name, nil
}

// seen reports whether a rune is visible by itself. Combining marks are not, nor
// are some blank letters and signs.
func seen(r rune) bool {
	return !unicode.IsMark(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != '\u2800'
}

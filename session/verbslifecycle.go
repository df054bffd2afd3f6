package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

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
		if !e.agent.up() || e.fold.Open {
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

// rename sets the session's name given by a person. An empty one allows automatic
// names again.
func (b *BackgroundSession) rename(ctx context.Context, name string) error {
	return tell(ctx, b.mail, func(e *engine) error {
		e.log.UpdateMetadata(func(m *journal.Metadata) {
			if m.Named = name != ""; m.Named {
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
		if p.Tags != nil {
			m.Tags = *p.Tags
		}
	}
	if err := b.log.Label(change); err != nil || p.Name == nil {
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		e.list.changed = true // without a name it gets an automatic one
		if *p.Name != "" {
			e.agent.tellTitle(*p.Name)
		}
		return nil
	})
}

// tellTitle tells a running agent the name that a person gave the session. One that is
// asleep is not started for that.
func (a *agentSlot) tellTitle(name string) {
	titler, able := a.proc.(Titler)
	if !able || !a.up() {
		return
	}
	a.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), titleBound)
		defer cancel()
		_ = titler.SetTitle(ctx, name) // most agents take none
	})
}

// titleBound limits how long an agent's answer to a title is waited for.
const titleBound = 2 * time.Second

// forkAgent makes the running agent copy its own session, and returns its id of the copy.
// It is empty if the agent cannot, or if it knows of turns behind seq.
func (b *BackgroundSession) forkAgent(ctx context.Context, seq event.Seq, folder string) string {
	still := func() (Forker, event.Seq) {
		var last event.Seq
		proc, err := ask(ctx, b.mail, func(e *engine) (Agent, error) {
			if last = e.fold.PromptSeq; !e.agent.up() || e.fold.Open || last > seq || last == 0 {
				return nil, nil
			}
			return e.agent.proc, nil
		})
		forker, able := proc.(Forker)
		if err != nil || !able {
			return nil, 0
		}
		return forker, last
	}
	forker, last := still()
	if forker == nil {
		return ""
	}
	bounded, cancel := context.WithTimeout(ctx, forkBound)
	defer cancel()
	id, err := forker.Fork(bounded, folder)
	if again, now := still(); err != nil || again == nil || now != last {
		return "" // it may have a part of a turn that began meanwhile
	}
	return id
}

// forkBound limits how long an agent may take to copy its session.
const forkBound = 10 * time.Second

// forked reports whether the summary of a fork was written.
func (b *BackgroundSession) forked(ctx context.Context) bool {
	given, err := ask(ctx, b.mail, func(e *engine) (int, error) { return e.fold.Given, nil })
	return err != nil || given > 0
}

// beginFork writes the summary once, to the device. native is the agent's id of its own
// copy, if it made one: the first agent resumes that, and gets the summary only if it
// cannot.
func (b *BackgroundSession) beginFork(ctx context.Context, origin *event.Forked, native, account string, by event.Actor) error {
	raw, err := json.Marshal(state.ForkNote{Forked: *origin, AgentSessionID: native})
	if err != nil {
		return fmt.Errorf("fork session: %w", err)
	}
	err = tell(ctx, b.mail, func(e *engine) error {
		if e.fold.Given > 0 {
			return nil // a repeated request
		}
		if _, err := e.write(e.entries(event.Note{Method: transcript.NoteForked, Text: event.Text(account), Raw: raw, By: by.Name, ByID: by.ID})...); err != nil {
			return fmt.Errorf("fork session: %w", e.stuck(err))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.log.FlushMetadata(ctx); err != nil {
		return fmt.Errorf("fork session: %w", b.stuck(err))
	}
	return nil
}

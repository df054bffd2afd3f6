package session

import (
	"context"
	"slices"
	"time"

	"github.com/abidehub/abide/session/store"
)

// publish makes the state known, if it changed.
func (e *engine) publish() {
	if !e.dirty {
		return
	}
	e.dirty = false
	f := &e.fold
	e.b.state.Store(&State{
		SessionID:          e.b.id,
		AtSeq:              f.seq,
		Turn:               e.turnState(),
		PendingPermissions: f.permissions.ids(),
		Queue:              slices.Clip(e.queue.Items()),
		Mode:               f.mode,
		Config:             f.config,
		Commands:           f.commands,
		Usage:              f.usage,
		Agent: AgentState{
			Name:      e.agentName,
			Status:    e.agent.status,
			Version:   e.agent.version,
			Message:   e.agent.message,
			RestartAt: e.agent.restartAt,

			AuthMethods:        e.agent.login,
			PromptCapabilities: e.agent.offers.prompts,
		},
		Observers: e.b.watchers.take(),
	})
	e.present = presenceClock{publishedAt: time.Now()}
	e.b.bell.ring()
}

// presenceClock paces the publishing of what observers merely make progress in.
type presenceClock struct {
	publishedAt time.Time
	stale       bool
}

func (e *engine) watchPresence(now time.Time) {
	p := &e.present
	if again := e.b.watchers.fade(now); !again.IsZero() {
		e.wake(again)
	}
	switch {
	case e.b.watchers.isMaterial():
		e.dirty = true
	case !p.stale:
	case now.Before(p.publishedAt.Add(presenceInterval)):
		e.wake(p.publishedAt.Add(presenceInterval))
	default:
		e.dirty = true
	}
}

// listLine is the session's line in the list, which follows the log.
type listLine struct {
	changed    bool // in more than its last line
	progressed bool
	flush      bool // a turn ended: metadata must be on the device soon
	at         time.Time
}

// keepListLine brings metadata up to date: at once when something changed, at
// intervals while the agent streams.
func (e *engine) keepListLine(now time.Time) {
	l := &e.list
	switch due := l.at.Add(progressInterval); {
	case l.changed || l.flush:
	case !l.progressed:
		return
	case now.Before(due):
		e.wake(due)
		return
	}
	e.updateMetadata()
	if l.flush {
		if err := e.log.FlushMetadata(context.Background()); err != nil {
			e.logger.Warn("metadata could not be written", "err", err)
		}
	}
	*l = listLine{at: now}
	e.hub.touched(e.b.id)
}

func (e *engine) updateMetadata() {
	f := &e.fold
	open, options := f.summarize(e.log.Epoch())
	status := e.status()
	name, line := f.name(), f.line.line()
	e.log.UpdateMetadata(func(m *store.Metadata) {
		if m.Named = e.named; !e.named {
			m.Name = name
		}
		m.Status = string(status)
		m.LastLine = line
		m.AgentSessionID = f.agentSessionID
		m.Open, m.Options = open, options
		if m.Mode = ""; f.mode != nil {
			m.Mode = f.mode.ModeID
		}
	})
}

// status is the session in one word.
func (e *engine) status() Status {
	switch {
	case e.health.frozen != nil:
		return StatusDamaged
	case e.fold.ended:
		return StatusEnded
	case len(e.fold.permissions.open) > 0:
		return StatusNeedsYou
	case e.fold.open:
		return StatusRunning
	}
	return StatusIdle
}

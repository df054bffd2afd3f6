package session

import (
	"cmp"
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
		Interruption: e.interruption(),
		Restore:      e.turn.restore.state(),
		Observers:    e.b.watchers.take(),
	})
	e.present = presenceClock{publishedAt: time.Now()}
	e.b.bell.Ring()
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
	// status is what the list was told last; empty before the first time.
	status Status
}

// keepFold writes the fold down, so that a long log need not be read whole when the
// session is opened again.
func (e *engine) keepFold() {
	if e.fold.seq-e.foldKept < foldEvery && !(e.ended && e.fold.seq > e.foldKept) || e.health.frozen != nil {
		return
	}
	e.foldKept = e.fold.seq // also where it fails: the next attempt is that much later
	if err := saveFold(e.log.Derived(), e.log.Epoch(), &e.fold); err != nil {
		e.logger.Warn("the session's fold could not be written; the next opening reads more of the log", "err", err)
	}
}

// keepListLine brings metadata up to date: at once when something changed, at
// intervals while the agent streams.
func (e *engine) keepListLine(now time.Time) {
	l, status := &e.list, e.status()
	if l.status == "" {
		l.status = Status(e.log.Metadata().Status)
	}
	// The agent moves the status as well, and writes nothing when it does.
	l.changed = l.changed || status != l.status
	switch due := l.at.Add(progressInterval); {
	case l.changed || l.flush:
	case !l.progressed:
		return
	case now.Before(due):
		e.wake(due)
		return
	}
	e.updateMetadata(status)
	if l.flush {
		if err := e.log.FlushMetadata(context.Background()); err != nil {
			e.logger.Warn("metadata could not be written", "err", err)
		}
	}
	*l = listLine{at: now, status: status}
	e.hub.touched(e.b.id)
}

func (e *engine) updateMetadata(status Status) {
	f := &e.fold
	name, line := f.name(), e.lineFor(status)
	e.log.UpdateMetadata(func(m *store.Metadata) {
		m.Named = e.named
		if !m.Named {
			m.Name = name
		}
		m.Status = string(status)
		m.LastLine = line
		m.AgentSessionID = f.agentSessionID
		if m.Mode = ""; f.mode != nil {
			m.Mode = f.mode.ModeID
		}
	})
}

// status is the session in one word.
func (e *engine) status() Status {
	failed := e.agent.status == AgentFailed
	switch {
	case e.health.frozen != nil:
		return StatusDamaged
	case e.fold.ended:
		return StatusEnded
	case len(e.fold.permissions.open) > 0, failed && len(e.agent.login) > 0, e.fold.login && !e.fold.open:
		return StatusNeedsYou
	case e.fold.open:
		return StatusRunning
	case e.fold.interruptions.Open != nil:
		return StatusInterrupted
	case failed, e.fold.failed:
		return StatusFailed
	}
	return StatusIdle
}

// lineFor is the line of text the list shows beside a status: what is asked of
// a person or what went wrong, else the newest thing said.
func (e *engine) lineFor(status Status) string {
	line := e.fold.line.line()
	if open := e.fold.permissions.open; status == StatusNeedsYou && len(open) > 0 {
		line = cmp.Or(open[0].words(), line)
	} else if e.agent.status == AgentFailed && (status == StatusNeedsYou || status == StatusFailed || status == StatusInterrupted) {
		line = cmp.Or(firstLine(e.agent.message), line)
	}
	return line
}

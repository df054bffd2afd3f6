package session

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/recovery"
	"github.com/abidehub/abide/session/state"
)

// front is the part of a session that other goroutines reach.
type front struct {
	mail  *mailbox[engine]
	gone  chan struct{} // closed when all goroutines of the session have ended
	shown *shown
}

func newFront() front {
	return front{mail: newMailbox[engine](), gone: make(chan struct{}), shown: &shown{known: make(chan struct{})}}
}

// shown is what a session shows to readers outside of its goroutine.
type shown struct {
	state   atomic.Pointer[State]
	bell    bell.Bell              // rings when state or readSeq changed
	unsaved atomic.Pointer[string] // why the queue's file cannot be written; nil if it can

	notable notables

	known   chan struct{}         // closed when state or failed is set
	readSeq atomic.Int64          // the last event read for the first state
	failed  atomic.Pointer[error] // why there will be no state
}

// read shows how far the log was read for the first state.
func (s *shown) read(through event.Seq) {
	s.readSeq.Store(int64(through))
	s.bell.Ring()
}

// publish publishes the state if it changed.
func (e *engine) publish() {
	if !e.dirty {
		return
	}
	e.dirty = false
	f := &e.fold
	turn := e.turns.state()
	turn.Since = turn.Since.UTC()
	e.shown.state.Store(&State{
		SessionID:          e.id,
		AtSeq:              f.Seq,
		Turn:               turn,
		Policy:             f.Policy,
		PendingPermissions: e.pending(),
		Queue:              slices.Clip(e.queue.Items()),
		Mode:               f.Mode,
		Config:             f.Config,
		Commands:           f.Commands,
		Usage:              f.Usage,
		Agent: AgentState{
			Name:      e.agentName,
			Status:    e.agent.status,
			Version:   e.agent.version,
			Message:   e.agent.message,
			RestartAt: e.agent.restartAt.UTC(),

			AuthMethods:        e.agent.login,
			PromptCapabilities: e.agent.offers.prompts,
		},
		Interruption: e.interruption().Shown(),
		Paused:       f.Pauses.Now,
		Suggestions:  f.Plan.Open,
		Restore:      e.turn.restoring(),
		Observers:    e.watchers.Take(),
	})
	e.present = presenceClock{publishedAt: time.Now()}
	e.shown.bell.Ring()
}

// presenceInterval is how often progress of the observers is published. A new
// observer, a leaving one and a change of activity are published at once.
const presenceInterval = time.Second

// presenceClock limits how often observers' progress is published.
type presenceClock struct {
	publishedAt time.Time
	stale       bool
}

// watch marks the state for publishing when observers changed.
func (p *presenceClock) watch(l *foldedLog, now time.Time) {
	if again := l.watchers.Fade(now); !again.IsZero() {
		l.wake(again)
	}
	switch {
	case l.watchers.IsMaterial():
		l.dirty = true
	case !p.stale:
	case now.Before(p.publishedAt.Add(presenceInterval)):
		l.wake(p.publishedAt.Add(presenceInterval))
	default:
		l.dirty = true
	}
}

// listLine is the session's line in the list, derived from the log.
type listLine struct {
	changed    bool // in more than its last line
	progressed bool
	flush      bool // a turn ended: metadata must reach the device soon
	at         time.Time
	// status is the last status in the list; empty before the first.
	status state.Status
}

const (
	// foldEvery is how many events may be folded before the file is written again.
	// After a kill at most as many are read again.
	foldEvery = 1 << 16
)

// foldCache stores the fold, so that opening the session need not read a long log.
type foldCache struct {
	*foldedLog
	files   *fileWriter
	writing bool
	kept    event.Seq // last event of the stored fold
}

// keep stores the fold if that is due, which it always is for the last time.
func (k *foldCache) keep(last bool) {
	due := k.fold.Seq-k.kept >= foldEvery || last && k.fold.Seq > k.kept
	if !due || k.writing || k.health.frozen != nil {
		return
	}
	k.kept, k.writing = k.fold.Seq, true // also after a failure: retry only after as many events again
	data, err := k.fold.Encode(k.log.Epoch())
	k.files.add(func() {
		if err == nil {
			err = k.log.Derived().Write(recovery.FoldName, data)
		}
	}, func() {
		k.writing = false
		if err != nil {
			k.logger.Warn("the fold could not be written; the next opening reads more of the log", "err", err)
		}
	})
}

// listing updates the session's line in the list.
type listing struct {
	*foldedLog
	agent    *agentSlot
	files    *fileWriter
	flushing bool // the metadata is being written
}

// keep updates the metadata: at once if something changed, at intervals while the
// agent streams.
func (l *listing) keep(now time.Time) {
	line, status := &l.list, l.status()
	if line.status == "" {
		line.status = state.Status(l.log.Metadata().Status)
	}
	// The status can change with the agent, without any write to the log.
	line.changed = line.changed || status != line.status
	switch due := line.at.Add(progressInterval); {
	case line.changed || line.flush && !l.flushing:
	case !line.progressed:
		return
	case now.Before(due):
		l.wake(due)
		return
	}
	l.updateMetadata(status)
	if line.flush && !l.flushing {
		line.flush = false
		l.flush()
	}
	*line = listLine{at: now, status: status, flush: line.flush}
	l.hub.touched(l.id)
}

// flush writes the metadata to the device.
func (l *listing) flush() {
	var err error
	l.flushing = true
	l.files.add(func() { err = l.log.FlushMetadata(context.Background()) }, func() {
		l.flushing = false
		if err != nil {
			l.logger.Warn("metadata could not be written", "err", err)
		}
	})
}

func (l *listing) updateMetadata(status state.Status) {
	f := &l.fold
	name, line := f.Name(), l.lineFor(status)
	l.log.UpdateMetadata(func(m *journal.Metadata) {
		if !m.Named { // by a person
			m.Name = name
		}
		m.Status = string(status)
		m.LastLine = line
		m.AgentSessionID = f.AgentSessionID
		if m.Mode = ""; f.Mode != nil {
			m.Mode = f.Mode.ModeID
		}
		m.Interruptions = l.interruptionCounts()
		m.Resumable, m.ResumeCount, m.LastResumedAt = f.Pauses.Resumable, f.Pauses.Resumed, nil
		if at := f.Pauses.LastAt; !at.IsZero() {
			m.LastResumedAt = &at
		}
		if f.Job != nil {
			at := f.Job.Line(status, line)
			m.JobLine = &at
		}
	})
}

// interruptionCounts are those of the log; nil if there are none.
func (l *listing) interruptionCounts() *event.InterruptionCounts {
	if len(l.fold.Interruptions.Counts.Interrupted) == 0 {
		return nil
	}
	counts := l.fold.Interruptions.Counts
	return &counts
}

// status is the session in one word.
func (l *listing) status() state.Status { return l.working().Shown(l.imported) }

// working is the status of a session whose agent runs here.
func (l *listing) working() state.Status {
	failed := l.agent.status == AgentFailed
	switch {
	case l.health.frozen != nil:
		return state.StatusDamaged
	case l.fold.Ended:
		return state.StatusEnded
	case l.fold.Pauses.Now != nil && !l.fold.Open:
		return state.StatusPaused
	case len(l.fold.Permissions.Open) > 0, failed && len(l.agent.login) > 0, l.fold.Login && !l.fold.Open:
		return state.StatusNeedsYou
	case l.fold.Interruptions.Open != nil && l.fold.Interruptions.Open.Reason == event.CutPaused:
		return state.StatusNeedsYou // no turn was cut off: one waits for a person's choice
	case l.fold.Open, l.fold.Job != nil && l.fold.Job.GoesOn():
		return state.StatusRunning
	case l.fold.Interruptions.Open != nil:
		return state.StatusInterrupted
	case failed, l.fold.Failed:
		return state.StatusFailed
	}
	return state.StatusIdle
}

// lineFor returns the line for a status: the open request or the problem, else the
// newest message.
func (l *listing) lineFor(status state.Status) string {
	line := l.fold.Line.Text()
	if open := l.fold.Permissions.Open; status == state.StatusNeedsYou && len(open) > 0 {
		line = cmp.Or(open[0].Words(), line)
	} else if i := l.fold.Interruptions.Open; status == state.StatusNeedsYou && i != nil && i.Reason == event.CutPaused {
		line = i.Reason.Words()
	} else if status == state.StatusPaused {
		line = "Paused by " + l.fold.Pauses.Now.By + "."
	} else if l.agent.status == AgentFailed && (status == state.StatusNeedsYou || status == state.StatusFailed || status == state.StatusInterrupted) {
		line = cmp.Or(state.FirstLine(l.agent.message), line)
	} else if status == state.StatusInterrupted && i != nil && i.Reason != event.CutProviderError {
		line = i.Reason.Words() // of a provider's error its own words are the line
	}
	return line
}

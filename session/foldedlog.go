package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/presence"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/recovery"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// foldedLog is a session's log with its fold. The session writes only through it. The
// parts of the engine share it, and the engine's goroutine owns it.
type foldedLog struct {
	// Set at construction.
	id        string
	log       journal.Log
	giveBack  func() // gives the lease of the session back
	queue     *queue.Queue
	hub       hub
	watchers  *presence.Watchers
	logger    *slog.Logger
	notable   *notables
	workspace string
	// project is the folder whose settings apply: the workspace, or what it is a copy of.
	project   string
	agentName string
	imported  bool // the log is read-only

	fold    state.Fold
	health  logHealth
	list    listLine
	closing bool
	undoing bool      // an undo is under way: no turn begins
	dirty   bool      // the published state is outdated
	wakeAt  time.Time // when proceed must run next; zero if not needed
}

// wake asks for a call of proceed at t or earlier.
func (l *foldedLog) wake(t time.Time) {
	if l.wakeAt.IsZero() || t.Before(l.wakeAt) {
		l.wakeAt = t
	}
}

// entries makes entries in the latest turn.
func (l *foldedLog) entries(payloads ...event.Payload) []state.Entry {
	list := make([]state.Entry, 0, len(payloads))
	for _, p := range payloads {
		list = append(list, state.Entry{Turn: l.fold.Turn, Payload: p})
	}
	return list
}

// write appends entries, all or none, and applies them to the fold. It returns the
// seq of the first. If the result of a write is unknown, the log is broken and the
// fold unchanged: the next opening finds out which events were written.
func (l *foldedLog) write(list ...state.Entry) (event.Seq, error) {
	drafts, err := state.Drafts(list, time.Now())
	if err != nil {
		return 0, err
	}
	return l.writeDrafts(drafts, list)
}

// writeDrafts is write for entries that are encoded already.
func (l *foldedLog) writeDrafts(drafts []event.Draft, list []state.Entry) (event.Seq, error) {
	// The write continues if its caller goes away.
	first, _, err := l.log.Append(context.Background(), l.fold.Seq+1, drafts...)
	if errors.Is(err, journal.ErrMoved) {
		// The log wrote a line of its own, such as the epoch after a repair.
		if err = l.readOn(); err == nil {
			first, _, err = l.log.Append(context.Background(), l.fold.Seq+1, drafts...)
		}
	}
	l.noteLog(err)
	if err != nil {
		return 0, err
	}
	for i, n := range list {
		at := drafts[i].Time.UTC().Truncate(time.Microsecond) // as stored in the line
		l.fold.Apply(first+event.Seq(i), at, n.Turn, l.asLogged(first+event.Seq(i), drafts[i], n.Payload))
		if notable(n.Payload) {
			l.notable.add(first + event.Seq(i))
		}
		if alters(n.Payload) {
			l.hub.snapshots.Changed(l.id)
		}
		if _, ended := n.Payload.(event.TurnEnd); ended {
			l.hub.budgets.Ended(l.id, first+event.Seq(i))
		}
	}
	if l.fold.Changed {
		l.fold.Changed = false
		l.dirty = true
		l.list.changed = true
	}
	l.list.progressed = true
	return first, nil
}

// largeData is below the size of any payload of which the log keeps large texts elsewhere.
const largeData = 64 << 10

// asLogged is the payload of an event as the log has it, which keeps the beginnings of large
// texts only: the fold is the same as after a restart.
func (l *foldedLog) asLogged(seq event.Seq, d event.Draft, p event.Payload) event.Payload {
	if len(d.Data) < largeData {
		return p
	}
	b, err := l.log.ReadAfter(context.Background(), seq-1, 1)
	if err != nil || b.First != seq {
		return p
	}
	for g := range b.Headers() {
		if e, err := g.Event(); err == nil && e.Seq == seq {
			if logged, err := e.Payload(); err == nil {
				return logged
			}
		}
	}
	return p
}

// logHealth says whether the log can be written, as far as the engine knows.
type logHealth struct {
	blocked bool
	frozen  error
	lost    bool // frozen for good: another hub has the session
	probeAt time.Time
}

func (h *logHealth) broken() bool { return h.blocked || h.frozen != nil }

// noteLog updates the health after a write.
func (l *foldedLog) noteLog(err error) {
	h := &l.health
	switch {
	case err == nil:
		if h.blocked && l.log.Health().State != journal.HealthBlocked { // otherwise a larger value still waits
			h.blocked, l.dirty = false, true
		}
	case errors.Is(err, journal.ErrBlocked):
		l.dirty = l.dirty || !h.blocked
		h.blocked, h.probeAt = true, time.Now().Add(probeInterval)
	case errors.Is(err, journal.ErrInvalid): // not a problem of the device
	default:
		if h.frozen == nil {
			l.logger.Error("log accepts no more events", "err", err)
			h.frozen = err
			l.dirty, l.list.changed = true, true
		}
		if errors.Is(err, journal.ErrFenced) && !h.lost {
			h.lost, l.closing = true, true
			l.hub.lost(l.id)
		}
	}
}

// probeLog detects that a blocked log has recovered.
func (l *foldedLog) probeLog(now time.Time) {
	h := &l.health
	if !h.blocked {
		return
	}
	if !now.Before(h.probeAt) {
		if l.log.Health().State != journal.HealthBlocked {
			h.blocked, l.dirty = false, true
			l.followRepaired()
			return
		}
		h.probeAt = now.Add(probeInterval)
	}
	l.wake(h.probeAt)
}

// followRepaired applies lines that a repair of the log has appended.
func (l *foldedLog) followRepaired() {
	if l.log.Marks().Visible <= l.fold.Seq {
		return
	}
	f, err := recovery.From(l.log, l.queue, l.fold).Run(context.Background())
	if err != nil {
		l.noteLog(err)
		return
	}
	l.list.changed, l.list.progressed = l.list.changed || f.Changed, true
	l.fold = f
	l.fold.Changed = false
	l.notable.restart(f.Seq)
}

// readOn applies lines that the log has and the fold has not.
func (l *foldedLog) readOn() error {
	r := recovery.From(l.log, l.queue, l.fold)
	if err := r.Read(context.Background(), l.fold.Seq); err != nil {
		return err
	}
	l.fold, l.dirty, l.list.changed = r.Fold, true, true
	l.notable.restart(l.fold.Seq)
	return nil
}

// refusal is the error for a request that must be written first.
func (l *foldedLog) refusal() error {
	switch {
	case l.health.lost:
		return l.stuck(journal.ErrFenced)
	case l.closing:
		return errEnded
	case l.fold.Recorder.Open:
		return errRecording
	case l.imported:
		return errImported
	case l.health.frozen != nil:
		return l.stuck(fmt.Errorf("%w: %w", journal.ErrFrozen, l.health.frozen))
	case l.health.blocked:
		return l.stuck(journal.ErrBlocked)
	case l.recordedAbroad():
		return fmt.Errorf("%w: the session was recorded in a directory outside of the hub's workspaces", state.ErrConflict)
	}
	return nil
}

func (l *foldedLog) queueSettings() settings.Queue {
	return l.hub.settings().QueueFor(l.project)
}

func (l *foldedLog) resumeSettings() settings.Resume {
	return l.hub.settings().Agent(l.agentName).Resume
}

// recordedAbroad reports whether the session was recorded in a directory where the
// hub may not start an agent.
func (l *foldedLog) recordedAbroad() bool {
	if l.fold.Recorder.ID == "" {
		return false
	}
	_, err := l.hub.settings().Resolve(l.workspace)
	return err != nil
}

// reportQueue records a warning when waiting prompts may be lost. A session that
// the hub did not create (without created_by) had none.
func (l *foldedLog) reportQueue(kept bool) {
	if l.fold.Recorder.ID != "" {
		return // a recording takes no prompts
	}
	words := ""
	if d := l.queue.Damage(); d != nil {
		l.logger.Error("queue was damaged and is rebuilt from the log", "err", d.Cause, "aside", d.Aside)
		words = "The file of waiting prompts was damaged and is kept in the session's quarantine. " +
			"Prompts that waited are lost; those in the log are safe."
	} else if kept && l.queue.Missing() && l.fold.Turn > 0 && !strings.HasPrefix(l.fold.PromptID, state.PastPrompt) {
		l.logger.Error("queue was missing and is rebuilt from the log")
		words = "The file of waiting prompts was missing. If prompts waited they are lost; those in the log are safe."
	}
	if words == "" {
		return
	}
	if _, err := l.write(l.entries(event.Error{Code: "queue_lost", Message: words})...); err != nil {
		l.logger.Warn("loss of the queue could not be recorded", "err", err)
	}
}

// errImported is the error of a verb on an imported session.
var errImported = fmt.Errorf("%w: this session was imported and is read-only: fork it to continue", state.ErrConflict)

// stuck is BackgroundSession.stuck.
func (l *foldedLog) stuck(err error) error { return problem.OfWriting(l.id, l.log, err) }

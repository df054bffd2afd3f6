package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// journal is a session's fold with its log. The session writes only through it. The
// parts of the engine share it, and the engine's goroutine owns it.
type journal struct {
	// Set at construction.
	b         *BackgroundSession
	log       *store.Log
	queue     *queue.Queue
	hub       hub
	logger    *slog.Logger
	workspace string
	agentName string
	imported  bool // the log is read-only

	fold    fold
	health  logHealth
	list    listLine
	closing bool
	dirty   bool      // the published state is outdated
	wakeAt  time.Time // when proceed must run next; zero if not needed
}

// wake asks for a call of proceed at t or earlier.
func (j *journal) wake(t time.Time) {
	if j.wakeAt.IsZero() || t.Before(j.wakeAt) {
		j.wakeAt = t
	}
}

// entry is a payload to be written, with its turn.
type entry struct {
	turn    int
	payload event.Payload
}

// draftsOf encodes entries for the log.
func draftsOf(list []entry, now time.Time) ([]event.Draft, error) {
	drafts := make([]event.Draft, 0, len(list))
	for _, n := range list {
		draft, err := event.NewDraft(n.payload, n.turn, now)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

// entries makes entries in the latest turn.
func (j *journal) entries(payloads ...event.Payload) []entry {
	list := make([]entry, 0, len(payloads))
	for _, p := range payloads {
		list = append(list, entry{j.fold.turn, p})
	}
	return list
}

// write appends entries, all or none, and applies them to the fold. It returns the
// seq of the first. If the result of a write is unknown, the log is broken and the
// fold unchanged: the next opening finds out which events were written.
func (j *journal) write(list ...entry) (event.Seq, error) {
	drafts, err := draftsOf(list, time.Now())
	if err != nil {
		return 0, err
	}
	return j.writeDrafts(drafts, list)
}

// writeDrafts is write for entries that are encoded already.
func (j *journal) writeDrafts(drafts []event.Draft, list []entry) (event.Seq, error) {
	// The write continues if its caller goes away.
	first, _, err := j.log.Append(context.Background(), drafts...)
	j.noteLog(err)
	if err != nil {
		return 0, err
	}
	before := j.fold.interruptions.Open
	for i, n := range list {
		j.fold.at = drafts[i].Time.UTC().Truncate(time.Microsecond) // as stored in the line
		j.fold.apply(first+event.Seq(i), n.turn, n.payload)
	}
	j.countCut(list, before)
	if j.fold.changed {
		j.fold.changed = false
		j.dirty = true
		j.list.changed = true
	}
	j.list.progressed = true
	return first, nil
}

// logHealth says whether the log can be written, as far as the engine knows.
type logHealth struct {
	blocked bool
	frozen  error
	probeAt time.Time
}

func (h *logHealth) broken() bool { return h.blocked || h.frozen != nil }

// noteLog updates the health after a write.
func (j *journal) noteLog(err error) {
	h := &j.health
	switch {
	case err == nil:
		if h.blocked && j.log.Health().State != store.HealthBlocked { // otherwise a larger value still waits
			h.blocked, j.dirty = false, true
		}
	case errors.Is(err, store.ErrBlocked):
		j.dirty = j.dirty || !h.blocked
		h.blocked, h.probeAt = true, time.Now().Add(probeInterval)
	case errors.Is(err, store.ErrInvalid): // not a problem of the device
	default:
		if h.frozen == nil {
			j.logger.Error("log accepts no more events", "err", err)
			h.frozen = err
			j.dirty, j.list.changed = true, true
		}
	}
}

// probeLog detects that a blocked log has recovered.
func (j *journal) probeLog(now time.Time) {
	h := &j.health
	if !h.blocked {
		return
	}
	if !now.Before(h.probeAt) {
		if j.log.Health().State != store.HealthBlocked {
			h.blocked, j.dirty = false, true
			j.followRepaired()
			return
		}
		h.probeAt = now.Add(probeInterval)
	}
	j.wake(h.probeAt)
}

// followRepaired applies lines that a repair of the log has appended.
func (j *journal) followRepaired() {
	if j.log.Marks().Visible <= j.fold.seq {
		return
	}
	f, err := catchUp(context.Background(), j.log, j.queue, j.fold)
	if err != nil {
		j.noteLog(err)
		return
	}
	j.list.changed, j.list.progressed = j.list.changed || f.changed, true
	j.fold = f
	j.fold.changed = false
}

// refusal is the error for a request that must be written first.
func (j *journal) refusal() error {
	switch {
	case j.closing:
		return errEnded
	case j.fold.recorder.Open:
		return errRecording
	case j.imported:
		return errImported
	case j.health.frozen != nil:
		return j.b.stuck(fmt.Errorf("%w: %w", store.ErrFrozen, j.health.frozen))
	case j.health.blocked:
		return j.b.stuck(store.ErrBlocked)
	case j.recordedAbroad():
		return fmt.Errorf("%w: the session was recorded in a directory outside of the hub's workspaces", ErrConflict)
	}
	return nil
}

func (j *journal) queueSettings() QueueSettings {
	return j.hub.settings().queue(j.workspace)
}

func (j *journal) resumeSettings() ResumeSettings {
	return j.hub.settings().agent(j.agentName).Resume
}

// recordedAbroad reports whether the session was recorded in a directory where the
// hub may not start an agent.
func (j *journal) recordedAbroad() bool {
	if j.fold.recorder.ID == "" {
		return false
	}
	_, err := j.hub.settings().resolveWorkspace(j.workspace)
	return err != nil
}

// reportQueue records a warning when waiting prompts may be lost. A session that
// the hub did not create (without created_by) had none.
func (j *journal) reportQueue(kept bool) {
	words := ""
	if d := j.queue.Damage(); d != nil {
		j.logger.Error("queue was damaged and is rebuilt from the log", "err", d.Cause, "aside", d.Aside)
		words = "The file of waiting prompts was damaged and is kept in the session's quarantine. " +
			"Prompts that waited are lost; those in the log are safe."
	} else if kept && j.queue.Missing() && j.fold.turn > 0 {
		j.logger.Error("queue was missing and is rebuilt from the log")
		words = "The file of waiting prompts was missing. If prompts waited they are lost; those in the log are safe."
	}
	if words == "" {
		return
	}
	if _, err := j.write(j.entries(event.Error{Code: "queue_lost", Message: words})...); err != nil {
		j.logger.Warn("loss of the queue could not be recorded", "err", err)
	}
}

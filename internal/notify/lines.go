package notify

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// Lines are the lines of the sessions that the machines of this hub have. What they say of a
// session is notified here: their logs are not read for it.
type Lines interface {
	// LinesSince returns the lines that changed after a version, the ids of the sessions that
	// are gone, and the version now; LinesChanged is its bell.
	LinesSince(version uint64) (changed []list.Info, gone []string, now uint64)
	LinesChanged() <-chan struct{}
	// Line returns the line of a session, if a machine has it.
	Line(id string) (list.Info, bool)
	// Presences are the screens here that show it.
	Presences(id string) []state.Observer
}

// lined is what was seen of a machine's session.
type lined struct {
	status  state.Status
	line    string    // the question, if it needs a person
	running time.Time // from when it was seen at work; zero if it is not
	job     event.JobStatus
}

// next is what is seen after a line.
func (l lined) next(info list.Info) lined {
	is := lined{status: info.Status, running: l.running}
	if info.Status == state.StatusNeedsYou {
		is.line = info.LastLine
	}
	switch works := info.Status == state.StatusRunning || info.Status == state.StatusNeedsYou; {
	case !works:
		is.running = time.Time{}
	case l.running.IsZero():
		is.running = info.UpdatedAt
	}
	if info.Job != nil {
		is.job = info.Job.Status
	}
	return is
}

// found is what a change of the line means for people; any is false if it means nothing.
func (l lined) found(is lined, info list.Info, longTurn time.Duration) (what found, any bool) {
	note := &Note{Seq: info.MaxSeq, At: info.UpdatedAt}
	note.Body, _ = fit(legible(info.LastLine), maxBody)
	told := func(kind Kind) (found, bool) {
		note.Kind = kind
		return found{note: note}, true
	}
	if is.job != l.job && (is.job.Ended() && is.job != event.JobCancelled || is.job == event.JobParked) {
		note.JobStatus = is.job
		if is.job != event.JobCompleted {
			note.Body, _ = fit(legible(info.Job.Reason), maxBody)
		}
		return told(Job)
	}
	switch {
	case is.status == l.status && is.line == l.line:
		return what, false
	case is.status == state.StatusNeedsYou:
		return told(Permission)
	case is.status == state.StatusFailed && is.job == "":
		return told(Failed)
	case is.status == state.StatusInterrupted && is.job == "":
		note.Body = "Interrupted."
		return told(Interrupted)
	case is.status == state.StatusIdle && !l.running.IsZero() && is.job == "" && info.UpdatedAt.Sub(l.running) > longTurn:
		return told(TurnOver)
	}
	return found{settled: []Kind{Permission, Form, TurnOver, Failed, Interrupted}}, true
}

// ofMachine is a machine's session of which people here are notified.
type ofMachine struct {
	id    string
	lines Lines
}

func (o ofMachine) ID() string { return o.id }

func (o ofMachine) Presences() []state.Observer { return o.lines.Presences(o.id) }

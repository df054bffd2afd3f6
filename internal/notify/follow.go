package notify

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

const (
	// lookBack is how many events are read of a session that is seen for the first
	// time.
	lookBack = 256
	// readBytes limits one read of a log.
	readBytes = 256 << 10
)

// follow is the cursor in one session, and facts from its events.
type follow struct {
	epoch  string
	cursor event.Seq
	fold   fold
}

// fold holds facts of earlier events that later ones need.
type fold struct {
	since    time.Time
	longTurn time.Duration
	turn     int
	started  time.Time // when turn began; zero is not known
	cut      int       // the turn that was interrupted
	cutNote  *Note     // its message, until its end says more
	cutBy    event.InterruptReason
	open     []Note // the questions that wait, oldest first
	job      bool   // the session is a job
	status   event.JobStatus
	found    []found
}

// lookAt reads the changes of the sessions since a version of the list.
func (n *Notifier) lookAt(ctx context.Context, version uint64) uint64 {
	changed, gone, now := n.of.ChangesSince(version)
	for _, info := range changed {
		n.catchUp(ctx, info)
	}
	for _, id := range gone {
		delete(n.sessions, id)
		n.tokens.drop(func(t answerToken) bool { return t.sessionID == id })
		n.forget(id)
	}
	return now
}

// lookAtLines takes the changed lines of machines.
func (n *Notifier) lookAtLines(version uint64) uint64 {
	if n.lines == nil {
		return 0
	}
	changed, gone, now := n.lines.LinesSince(version)
	for _, info := range changed {
		was, seen := n.lined[info.SessionID]
		is := was.next(info)
		n.lined[info.SessionID] = is
		n.noteNeed(info.SessionID, is.status == state.StatusNeedsYou)
		if !seen && info.UpdatedAt.Before(n.since) {
			continue // it was so before
		}
		if what, any := was.found(is, info, n.timing.LongTurn); any {
			if what.note != nil {
				what.note.SessionID = info.SessionID
				describeLine(what.note, info)
			}
			n.apply(ofMachine{id: info.SessionID, lines: n.lines}, what)
		}
	}
	for _, id := range gone {
		delete(n.lined, id)
		n.noteNeed(id, false)
		n.forget(id)
	}
	return now
}

// noteNeed keeps whether a machine's session needs a person, for the numbers on icons.
func (n *Notifier) noteNeed(id string, needs bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if needs {
		n.needs[id] = struct{}{}
	} else {
		delete(n.needs, id)
	}
}

// catchUp reads a session's new events and applies them. A session that is not open
// has none.
func (n *Notifier) catchUp(ctx context.Context, info list.Info) {
	b := n.of.Opened(info.SessionID)
	if b == nil {
		return
	}
	f := n.sessions[info.SessionID]
	if epoch := b.Log().Epoch(); f == nil || f.epoch != epoch {
		meta := b.Log().Metadata()
		f = &follow{epoch: epoch, cursor: max(meta.MinSeq-1, meta.MaxSeq-lookBack, 0), fold: fold{since: n.since, longTurn: n.timing.LongTurn}}
		n.sessions[info.SessionID] = f
	}
	f.fold.job = info.Job != nil
	if err := f.read(ctx, b); err != nil && ctx.Err() == nil {
		n.logger.Warn("a session's events could not be read for notifications", "session", info.SessionID, "err", err)
	}
	if info.Job != nil {
		f.fold.parked(*info.Job, f.cursor)
	}
	list := f.fold.found
	f.fold.found = nil
	for _, what := range list {
		for _, note := range []*Note{what.note, what.next} {
			if note != nil {
				note.SessionID = info.SessionID
				describe(note, info)
			}
		}
		n.apply(b, what)
	}
}

// read takes the session's new events that count: those that the session names, or all
// if it cannot name every one. Most changes of a working session bring none.
func (f *follow) read(ctx context.Context, b watched) error {
	seqs, complete := b.Notable(f.cursor)
	if !complete {
		reader := observer.New(b.Log(), &f.fold, f.cursor, readBytes)
		err := reader.CatchUp(ctx)
		f.cursor = reader.Cursor()
		return err
	}
	for _, seq := range seqs {
		one, err := b.Log().ReadAfter(ctx, seq-1, 1)
		if err == nil && !one.Empty() {
			err = f.fold.Deliver(ctx, one)
		}
		if err != nil {
			return err
		}
		f.cursor = seq
	}
	return nil
}

// describe adds the session's line of the list to its note.
func describe(note *Note, info list.Info) {
	note.Title = titleOf(info)
	line, _ := fit(legible(info.LastLine), maxBody)
	switch note.Kind {
	case Job:
		if said := note.Body; note.JobStatus == event.JobCompleted {
			note.Body = "Completed. " + line
		} else {
			note.Body = strings.TrimSpace(strings.ToUpper(string(note.JobStatus[:1])) + string(note.JobStatus[1:]) + ". " + said)
		}
	case TurnOver:
		note.Body = line
		if line == "" {
			note.Body = "The turn is over."
		}
	case Form:
		note.Body = "Asks: " + note.Body
	case Permission:
		note.Body = "Allow? " + note.Body
	}
}

// describeLine adds the line to its note.
func describeLine(note *Note, info list.Info) {
	if note.Kind == Permission { // its text is the line, which says what is asked
		note.Title = titleOf(info)
		return
	}
	describe(note, info)
}

func titleOf(info list.Info) string {
	name := info.Name
	if name == "" {
		name = "A session"
	}
	title, _ := fit(legible(name), maxTitle)
	return title
}

// Deliver implements observer.Sink.
func (f *fold) Deliver(_ context.Context, b event.Batch) error {
	for g := range b.Headers() {
		switch g.Type {
		case event.TypePermissionRequest, event.TypePermissionOutcome, event.TypeTurnStart, event.TypeTurnEnd,
			event.TypeTurnInterrupted, event.TypeInterruptionSettled, event.TypeUserPrompt, event.TypeNote, "":
		default:
			continue // most events of a turn are not decoded
		}
		e, err := g.Event()
		if err != nil {
			continue // an edited line: the log's check reports it
		}
		if p, err := e.Payload(); err == nil {
			f.take(e, p)
		}
	}
	return nil
}

func (f *fold) take(e event.Event, p event.Payload) {
	fresh := !e.Time.Before(f.since)
	switch p := p.(type) {
	case event.TurnStart:
		f.turn, f.started = e.Turn, e.Time
	case event.UserPrompt:
		f.settle(fresh, found{settled: []Kind{TurnOver, Failed, Interrupted}, by: p.Actor})
	case event.InterruptionSettled:
		f.settle(fresh, found{settled: []Kind{Interrupted}, by: p.By})
	case event.PermissionOutcome:
		f.settle(fresh, found{permission: p.PermissionID, by: p.By, next: f.answered(p.PermissionID)})
	case event.PermissionRequest:
		note := question(e, p)
		f.open = append(f.open, note)
		f.tell(fresh, note)
	case event.TurnInterrupted:
		f.cut = e.Turn
		f.cutNote = &Note{Kind: Interrupted, Seq: e.Seq, At: e.Time, Body: p.Reason.Words()}
		f.cutBy = p.Reason
	case event.TurnEnd: // it is written together with what interrupted its turn
		login := p.Error != nil && p.Error.Code == state.CodeAuthRequired
		// A step of a job says how its turn ended. After an error of the provider it tries again, or fails.
		if note := f.ended(e, p); !f.job || login || note.Kind == Interrupted && f.cutBy != event.CutProviderError {
			f.tell(fresh, note)
		}
	case event.Note:
		f.stepped(fresh, e, p)
	}
}

// stepped takes a step of a job. Its end, unless a person cancelled it, and that it waits are for people.
func (f *fold) stepped(fresh bool, e event.Event, n event.Note) {
	var step event.JobStep
	if n.Statement() != state.NoteJob || json.Unmarshal(n.Raw, &step) != nil {
		return
	}
	f.status = step.Status
	if !fresh {
		return
	}
	note := Note{Kind: Job, Seq: e.Seq, At: e.Time, JobStatus: step.Status}
	note.Body, _ = fit(legible(step.Reason), maxBody)
	told := step.Status == event.JobParked || step.Status.Ended() && (step.Status != event.JobCancelled || step.Reason != "")
	f.found = append(f.found, found{note: &note, quiet: !told})
}

// parked takes whether a job waits for a person, of which there is no step. The first time it is
// no change.
func (f *fold) parked(job event.JobLine, seq event.Seq) {
	was, is := f.status, job.Status
	if was.Ended() || was == event.JobStopping || is != event.JobParked && is != event.JobRunning || was == is {
		return
	}
	f.status = is
	if was == "" {
		return
	}
	note := Note{Kind: Job, Seq: seq, At: time.Now(), JobStatus: is}
	note.Body, _ = fit(legible(job.Reason), maxBody)
	f.found = append(f.found, found{note: &note, quiet: true})
}

// ended returns the note of a turn's end. Its kind is empty if no notification is
// sent.
func (f *fold) ended(e event.Event, p event.TurnEnd) Note {
	note := Note{Seq: e.Seq, At: e.Time}
	if cut := f.cutNote; cut != nil {
		f.cutNote = nil
		if (f.cutBy == event.CutProviderError || f.cutBy == event.CutAgentExit) && p.Error != nil {
			text, _ := fit(legible(p.Error.Message), maxBody)
			cut.Body = "Interrupted: " + text
		}
		return *cut
	}
	switch {
	case f.cut == e.Turn && e.Turn > 0, p.StopReason == event.StopCancelled, p.By != "":
	case p.Error != nil, p.StopReason == event.StopInterrupted, p.StopReason == event.StopAgentExit, p.StopReason == event.StopHubRestart:
		note.Kind, note.Body = Failed, "The turn failed."
		if p.Error != nil {
			text, _ := fit(legible(p.Error.Message), maxBody)
			note.Body = "The turn failed: " + text
		}
	case f.turn == e.Turn && !f.started.IsZero() && e.Time.Sub(f.started) > f.longTurn:
		note.Kind = TurnOver
	}
	return note
}

// answered returns the newest request that is still pending after another was
// answered.
func (f *fold) answered(permission string) *Note {
	f.open = slices.DeleteFunc(f.open, func(n Note) bool { return n.PermissionID == permission })
	if len(f.open) == 0 {
		return nil
	}
	next := f.open[len(f.open)-1]
	return &next
}

func (f *fold) tell(fresh bool, note Note) {
	if fresh && note.Kind != "" {
		f.found = append(f.found, found{note: &note})
	}
}

func (f *fold) settle(fresh bool, what found) {
	if fresh {
		f.found = append(f.found, what)
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/recorded"
	"github.com/abidehub/abide/session/state"
)

// recorderSilence is how long a recorder may be silent before the session is closed
// as after a crash.
const recorderSilence = 30 * time.Second

// compareBatch is how much of the log is compared at once, in bytes.
const compareBatch = 4 << 20

// recording takes the reports of a recorder.
type recording struct {
	*foldedLog
	turn  *turnRun
	heard time.Time // time of the last report
}

// begin writes the note about the recorder, once.
func (r *recording) begin(actor event.Actor) error {
	if r.fold.Recorder.Open {
		return nil // a repeated request
	}
	if r.fold.Recorder.ID != "" || r.fold.Turn > 0 {
		return fmt.Errorf("%w: this key made a session whose recording has ended", state.ErrConflict)
	}
	if _, err := r.write(r.entries(recorded.Note(actor))...); err != nil {
		return fmt.Errorf("begin recording: %w", r.stuck(err))
	}
	r.heard = time.Now()
	return nil
}

func (r *recording) take(recorderID string, after event.Seq, payloads []event.Payload) (event.Seq, error) {
	err := r.hear(recorderID)
	again := err != nil && recorderID != "" && recorderID == r.fold.Recorder.ID // a batch may have been written before the end
	if err != nil && (!again || len(payloads) == 0) {
		return 0, err
	}
	if len(payloads) == 0 {
		return r.fold.Seq, nil
	}
	if after > r.fold.Seq || after < 1 {
		return 0, fmt.Errorf("%w: the log ends at seq %d", state.ErrConflict, r.fold.Seq)
	}
	known, last, err := r.known(after, payloads)
	if err != nil {
		return 0, err
	}
	if known == len(payloads) {
		return last, nil
	}
	if again {
		return 0, errRecordedElsewhere
	}
	payloads = payloads[known:]
	list, err := r.fold.Placed(payloads)
	if err != nil {
		return 0, err
	}
	first, err := r.write(list...)
	if errors.Is(err, journal.ErrInvalid) { // too large for a line
		return 0, fmt.Errorf("%w: record events: %w", state.ErrInvalid, err)
	}
	if err != nil {
		return 0, fmt.Errorf("record events: %w", r.stuck(err))
	}
	r.follow(first, list)
	return r.fold.Seq, nil
}

// errRecordedElsewhere refuses a recorder whose recording has ended, and a strange one.
var errRecordedElsewhere = fmt.Errorf("%w: this recorder no longer records the session", state.ErrConflict)

// hear notes the time of a report. It returns an error unless the report comes from
// this session's recorder.
func (r *recording) hear(recorderID string) error {
	if recorderID == "" || recorderID != r.fold.Recorder.ID || !r.fold.Recorder.Open {
		return errRecordedElsewhere
	}
	r.heard = time.Now()
	return nil
}

// known counts the payloads that are already in the log after a seq, and returns the
// seq of the last of them. More events may follow if all payloads are there. If other
// events are there it is ErrConflict.
func (r *recording) known(after event.Seq, payloads []event.Payload) (known int, last event.Seq, err error) {
	last = after
	for after < r.fold.Seq {
		batch, through, err := r.log.ReadWritten(context.Background(), after, compareBatch)
		if err != nil {
			return 0, 0, fmt.Errorf("compare with the log: %w", problem.OfLog(err))
		}
		if through == after {
			break
		}
		events, err := batch.Events()
		if err != nil {
			return 0, 0, fmt.Errorf("compare with the log: %w", err)
		}
		for _, there := range events {
			switch there.Type {
			case event.TypeSegmentStart, event.TypeEpoch, event.TypeLogTruncated:
				continue // written by the log itself
			}
			if !recorded.Same(there, payloads[known]) {
				return 0, 0, fmt.Errorf("%w: another event is in the log at seq %d", state.ErrConflict, there.Seq)
			}
			if known, last = known+1, there.Seq; known == len(payloads) {
				return known, last, nil
			}
		}
		after = through
	}
	return known, last, nil
}

// follow updates the turn and the ledger from the log.
func (r *recording) follow(first event.Seq, list []state.Entry) {
	for i, n := range list {
		switch p := n.Payload.(type) {
		case event.UserPrompt:
			now := time.Now()
			r.turn.begin(p, now)
			r.turn.become(turnGiven)
			r.queue.Enter(queue.Entry{
				PromptID: p.PromptID, Hash: queue.Hash(string(p.Text), toQueue(p.Attachments)),
				Outcome: queue.Received, Seq: int64(first) + int64(i), At: now,
			})
			r.dirty = true
		case event.TurnEnd:
			r.turn.over()
			r.list.flush, r.dirty = true, true
		}
	}
}

func (r *recording) close(end event.SessionEnd, reason event.StopReason) error {
	if _, err := r.write(r.fold.Closed(end, reason)...); err != nil {
		return fmt.Errorf("end recording: %w", r.stuck(err))
	}
	r.turn.over()
	r.queue.Advance(int64(r.fold.Seq))
	r.list.flush = true
	return nil
}

// watch closes the session of a lost recorder.
func (r *recording) watch(now time.Time) {
	if r.heard.IsZero() {
		r.heard = now // this run has yet to hear of it
	}
	if at := r.heard.Add(recorderSilence); now.Before(at) {
		r.wake(at)
		return
	}
	end := event.SessionEnd{Reason: "the recorder went silent", By: state.ByHub}
	if err := r.close(end, event.StopAgentExit); err != nil {
		r.logger.Warn("session of a silent recorder cannot be closed yet", "err", err)
		r.wake(now.Add(probeInterval))
	}
}

// errRecording is a verb on a session that a program records.
var errRecording = fmt.Errorf("%w: a program records this session; until that ends it can only be watched", state.ErrConflict)

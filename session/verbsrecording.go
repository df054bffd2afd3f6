package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/recorded"
	"github.com/abidehub/abide/session/state"
)

// Recording is a session that a program records.
type Recording struct {
	Session    *BackgroundSession
	RecorderID string
	// MaxSeq is the last event. The first batch follows it.
	MaxSeq event.Seq
}

// Record creates a session for a program that reports its events with
// BackgroundSession.Record. The agent need not be configured, and the workspace may
// be any directory, because the hub starts nothing in it. Until the recording ends,
// every other writing verb is ErrConflict. With a key it creates one session,
// however often the request is repeated.
func (m *Manager) Record(ctx context.Context, r CreateRequest) (Recording, error) {
	if r.Prompt != "" {
		return Recording{}, fmt.Errorf("%w: a recorder reports its prompts", state.ErrInvalid)
	}
	if r.Agent == "" || len(r.Agent) > 100 || !state.Printable(r.Agent) {
		return Recording{}, fmt.Errorf("%w: a recording names its agent, in at most 100 printable bytes", state.ErrInvalid)
	}
	if r.Worktree != nil {
		return Recording{}, fmt.Errorf("%w: a recorded program works in its own folder, so there is no worktree to make", state.ErrInvalid)
	}
	r.recorded = true
	b, err := m.createOnce(ctx, r)
	if err != nil {
		return Recording{}, err
	}
	return ask(ctx, b.mail, func(e *engine) (Recording, error) {
		if err := e.recording.begin(r.Actor); err != nil {
			return Recording{}, err
		}
		return Recording{Session: b, RecorderID: e.fold.Recorder.ID, MaxSeq: e.fold.Seq}, nil
	})
}

// Record writes a batch that a recorder reports after the seq after, all or
// nothing, and returns the last seq. Repeating a batch at the same seq writes
// nothing twice, also after a crash in between. Another batch at that seq is
// ErrConflict. An empty batch is a heartbeat.
func (b *BackgroundSession) Record(ctx context.Context, recorderID string, after event.Seq, batch []recorded.Event) (event.Seq, error) {
	payloads, err := recorded.Payloads(batch)
	if err != nil {
		return 0, err
	}
	byID := b.log.Metadata().CreatedByID
	for i, p := range payloads {
		payloads[i] = recorded.ReportedBy(p, byID)
	}
	return askLater(ctx, b.mail, func(e *engine, reply func(event.Seq, error)) {
		e.intake.inOrder(func() { reply(e.recording.take(recorderID, after, payloads)) })
	})
}

// EndRecording closes the recorder's open calls and ends the session, which is an
// ordinary session from then on. Repeating it changes nothing.
func (b *BackgroundSession) EndRecording(ctx context.Context, recorderID, reason string, actor event.Actor) error {
	if err := state.CheckReason(reason); err != nil {
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		if recorderID != "" && recorderID == e.fold.Recorder.ID && !e.fold.Recorder.Open {
			return nil
		}
		if err := e.recording.hear(recorderID); err != nil {
			return err
		}
		err := e.recording.close(state.EndOf(reason, actor), event.StopInterrupted)
		e.listing.keep(time.Now())
		return err
	})
}

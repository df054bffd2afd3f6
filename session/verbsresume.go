package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// Interruption returns the offer about the open interruption. It reads the turn
// from the log and inspects the workspace. It is ErrNotFound if no interruption is
// open.
func (b *BackgroundSession) Interruption(ctx context.Context) (resume.Offer, error) {
	facts, err := ask(ctx, b.mail, func(e *engine) (resumeFacts, error) { return e.resumes.facts(), nil })
	if err != nil {
		return resume.Offer{}, err
	}
	if !facts.open {
		return resume.Offer{}, fmt.Errorf("%w: no interruption is open", state.ErrNotFound)
	}
	c, err := resume.CheckpointOf(ctx, b.log, facts.Open)
	if err != nil {
		return resume.Offer{}, b.ReadError(err)
	}
	offer := facts.Offer(c, facts.inspect(ctx))
	if last := &offer.Ways[len(offer.Ways)-1]; last.Available {
		estimate, err := b.estimateSegments(ctx, facts.Open, facts.segmentTokens)
		if err != nil {
			return resume.Offer{}, b.ReadError(err)
		}
		last.Tokens, last.Segments = estimate.tokens, estimate.segments
	}
	return offer, nil
}

// Pause pauses the session: when it returns, the pause is in the log on the device. The
// open turn then ends as interrupted, the agent is stopped, and the queue is held. A
// paused session stays paused.
func (b *BackgroundSession) Pause(ctx context.Context, by event.Actor) (state.Paused, error) {
	return ask(ctx, b.mail, func(e *engine) (state.Paused, error) { return e.pauses.pause(by) })
}

// Resume gives the agent the prompt that continues the interrupted turn. Without an
// InterruptionID it ends a pause and brings the agent back by a way, without a prompt. The first
// resume, dismissal or prompt settles an interruption; later ones get
// *resume.AlreadySettled. When Resume returns, the prompt is in the log on the device.
// After a crash it is not sent again.
func (b *BackgroundSession) Resume(ctx context.Context, r ResumeRequest) (Resumed, error) {
	if !utf8.ValidString(r.Prompt) {
		return Resumed{}, fmt.Errorf("%w: the prompt is not valid UTF-8", state.ErrInvalid)
	}
	if r.InterruptionID == "" {
		return ask(ctx, b.mail, func(e *engine) (Resumed, error) { return e.resumes.bringBack(r) })
	}
	facts, err := ask(ctx, b.mail, func(e *engine) (resumeFacts, error) { return e.resumes.facts(), e.resumes.mayResume(r) })
	var needs *resume.NeedsConfirmation
	if err != nil && !errors.As(err, &needs) {
		return Resumed{}, err
	}
	way, err := facts.Way(r.Way)
	if err != nil {
		return Resumed{}, err
	}
	if _, err := settings.RealDir(facts.workspace); err != nil {
		return Resumed{}, fmt.Errorf("%w: the workspace is gone: %s; dismiss the interruption", state.ErrConflict, settings.Reason(err))
	}
	offer, err := b.Interruption(ctx)
	if err != nil {
		return Resumed{}, b.settledMeanwhile(ctx, r, err)
	}
	if err := needs.And(offer.Mismatch, r.Confirm); err != nil {
		return Resumed{}, err
	}
	if strings.TrimSpace(r.Prompt) == "" {
		r.Prompt = offer.Prompt
	}
	r.attachments = offer.Attachments
	return ask(ctx, b.mail, func(e *engine) (Resumed, error) { return e.resumes.resume(r, way) })
}

// settledMeanwhile returns AlreadySettled instead of another error if the
// interruption was settled meanwhile.
func (b *BackgroundSession) settledMeanwhile(ctx context.Context, r ResumeRequest, err error) error {
	if settled := tell(ctx, b.mail, func(e *engine) error { return e.resumes.mayResume(r) }); settled != nil {
		return settled
	}
	return err
}

// resumeUnchanged resumes if there is nothing to confirm. Drift that shows when the
// agent is back pauses the turn.
func (b *BackgroundSession) resumeUnchanged(ctx context.Context, id string) error {
	paused, err := ask(ctx, b.mail, func(e *engine) (bool, error) { return e.fold.Pauses.Now != nil, nil })
	if err == nil && paused {
		err = errPaused
	}
	if err != nil {
		return err
	}
	offer, err := b.Interruption(ctx)
	if err != nil {
		return err
	}
	var needs []string
	if offer.Stale {
		needs = append(needs, "stale")
	}
	needs = append(needs, offer.Mismatch...)
	if len(offer.Drift) > 0 {
		needs = append(needs, "drift")
	}
	if len(needs) > 0 {
		return &resume.NeedsConfirmation{Needs: needs}
	}
	_, err = b.Resume(ctx, ResumeRequest{InterruptionID: id, Actor: state.TheHub()})
	return err
}

// Dismiss settles an interruption without a resume. The queue continues.
func (b *BackgroundSession) Dismiss(ctx context.Context, interruptionID string, actor event.Actor) error {
	return tell(ctx, b.mail, func(e *engine) error {
		if err := e.resumes.opened(interruptionID); err != nil {
			return err
		}
		if err := e.refusal(); err != nil {
			return err
		}
		settled := event.InterruptionSettled{InterruptionID: interruptionID, Outcome: event.SettledDismissed, By: actor.Name, ByID: actor.ID}
		if _, err := e.write(state.Entry{Turn: e.fold.Turn, Payload: settled}); err != nil {
			return fmt.Errorf("dismiss: %w", e.stuck(err))
		}
		return nil
	})
}

// estimateSegments returns how many segments and tokens a segmented restore takes.
// The latest result is cached, because each screen asks and it needs the whole log.
func (b *BackgroundSession) estimateSegments(ctx context.Context, open state.OpenInterruption, limit int) (segmentEstimate, error) {
	of := fmt.Sprint(open.InterruptionID, " ", limit)
	if known := b.estimate.Load(); known != nil && known.of == of {
		return *known, nil
	}
	segments, err := resume.SegmentsOf(ctx, b.log, b.log.Marks().Min, open.AtSeq, limit)
	if err != nil {
		return segmentEstimate{}, err
	}
	estimate := segmentEstimate{of, len(segments.List), segments.Tokens()}
	b.estimate.Store(&estimate)
	return estimate, nil
}
